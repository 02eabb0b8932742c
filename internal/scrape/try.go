package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/egress"
)

// try is one Fetch that is under way.
type try struct {
	chain  *Chain
	page   *Page
	about  string
	job    job
	best   *found
	via    string
	score  float64
	misses []string          // names, in the order of the first miss
	last   map[string]string // the reason by name

	refused error // of the last way that a rule kept from the page
}

// round tries ways until one is good enough, and returns those that are worth
// another attempt.
func (t *try) round(ctx context.Context, ways []way) (again []way, done bool, err error) {
	gone := false
	for i, w := range ways {
		if ctx.Err() != nil {
			break
		}
		f, err := w.limited(ctx, t.job, len(ways)-i)
		if err == nil {
			if err = t.chain.policy.Check(f.final); err == nil && t.take(w, f) {
				return nil, true, nil
			}
		}
		if is[*BlockedError](err) || is[*MediaError](err) {
			return nil, false, err
		}
		if err == nil {
			continue
		}
		t.missed(w.name, err.Error())
		if is[*egress.Refusal](err) || is[*egress.RobotsError](err) {
			t.refused = err
		}
		m, ok := errors.AsType[*missed](err)
		gone = gone || ok && m.gone
		if ok && m.passing {
			again = append(again, w)
		}
	}
	if gone {
		return nil, false, nil
	}
	return again, false, nil
}

// limited gives a way its share of the time that is left: half of it while others
// wait.
func (w way) limited(ctx context.Context, j job, waiting int) (found, error) {
	if deadline, ok := ctx.Deadline(); ok && waiting > 1 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	return w.fetch(ctx, j)
}

// take scores what was found and keeps it where it is the best so far. It reports
// whether no other way need be tried.
func (t *try) take(w way, f found) bool {
	var hidden int
	f.text, hidden = answer.Seen(f.text)
	if f.text = strings.TrimSpace(f.text); f.text == "" {
		t.missed(w.name, "it gave no text")
		return false
	}
	score := 10.0
	if !f.document {
		score = Score(f.text, t.about)
	}
	if score < 1 && (Challenge(f.text) || utf8.RuneCountInString(f.text) < 50) {
		t.missed(w.name, fmt.Sprintf("what it gave is no content (quality %.0f of 10): %q", score, egress.Plain(f.text, 100)))
		return false
	}
	if hidden > 0 {
		f.notes = append(f.notes, fmt.Sprintf("%d characters that cannot be seen were left out of the text", hidden))
	}
	if t.best == nil || score > t.score {
		t.best, t.via, t.score = &f, w.name, score
	}
	if score < Good {
		t.missed(w.name, fmt.Sprintf("the text is poor (quality %.0f of 10)", score))
	}
	return score >= Good
}

func (t *try) missed(name, reason string) {
	if _, ok := t.last[name]; !ok {
		t.misses = append(t.misses, name)
	}
	t.last[name] = reason
}

// result returns the page, or why there is none.
func (t *try) result(ctx context.Context) (*Page, error) {
	if t.best == nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		f := &FailedError{URL: t.page.URL, err: cmp.Or(ctx.Err(), t.refused)}
		for _, name := range t.misses {
			f.Misses = append(f.Misses, Miss{name, t.last[name]})
		}
		if ctx.Err() != nil {
			f.Misses = append(f.Misses, Miss{"time", fmt.Sprintf("all %s for one call were used", t.chain.o.Timeout)})
		}
		return nil, f
	}
	p := t.page
	p.Title, _ = answer.Seen(t.best.title)
	p.Text, p.Via, p.Score = t.best.text, t.via, t.score
	p.Final = cmp.Or(t.best.final, p.URL)
	p.Notes = append(p.Notes, t.best.notes...)
	if t.job.pages != "" && !t.best.paged {
		p.Notes = append(p.Notes, "pages was passed over: this was read as a page of the web, which has no numbered pages")
	}
	for _, name := range t.misses {
		if name != t.via {
			p.Notes = append(p.Notes, fmt.Sprintf("not read by %s: %s", name, t.last[name]))
		}
	}
	if t.score < Good {
		p.Notes = append(p.Notes, fmt.Sprintf("the text is the best that was found, but may be incomplete or not the content meant (quality %.0f of 10)", t.score))
	}
	if utf8.RuneCountInString(p.Text) > MaxChars {
		p.Text = string([]rune(p.Text)[:MaxChars])
		p.Notes = append(p.Notes, fmt.Sprintf("the text was cut after %d characters", MaxChars))
	}
	return p, nil
}

// pause waits, and reports whether there is time left then.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Package extract reads a page and lets a model take out of it what somebody wants to
// know.
//
//	e, err := extract.New(extract.Options{Chain: chain, Model: &model.Client{HTTP: client, BaseURL: base, Name: name, Key: key}})
//	…
//	answer, err := e.Extract(ctx, extract.Request{URL: "https://example.com/report", Want: "revenue by year"})
//	if !answer.Success { … answer.Error says why … }
//
// A text of up to 150,000 characters is one question. A longer one is cut to pieces
// that overlap, each is asked for by itself (map), and what they gave is put together
// (reduce). The tokens of one call are bounded: pieces beyond that are left out, and the
// answer says so.
//
// What stands on a page is data. The model is told so, between marks that the page
// cannot know; what it answers is still not to be obeyed by whoever reads it.
package extract

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/scrape"
)

// Bounds, in characters where nothing else is said.
const (
	oneQuestion = 150_000
	pieceSize   = 100_000
	overlap     = 10_000
	atOnce      = 5
	mapTokens   = 4096
	lastTokens  = 8192
	maxWant     = 10_000
	least       = 10 // of a partial answer that counts

	// DefaultMaxTokens bounds what one call may cost, questions and answers together.
	DefaultMaxTokens = 600_000
)

// Options configures an Extractor.
type Options struct {
	Chain     *scrape.Chain
	Model     *model.Client
	MaxTokens int // of one call; default DefaultMaxTokens
}

// An Extractor takes facts out of pages. It is safe for concurrent use.
type Extractor struct{ o Options }

// New returns an Extractor.
func New(o Options) (*Extractor, error) {
	if o.Chain == nil || o.Model == nil {
		return nil, errors.New("extract: a chain and a model are needed")
	}
	o.MaxTokens = cmp.Or(o.MaxTokens, DefaultMaxTokens)
	return &Extractor{o}, nil
}

// A Request says what is wanted of which page.
type Request struct {
	URL    string
	Want   string
	Header map[string]string // see scrape.Request
}

// An Answer is what was found.
type Answer struct {
	Success      bool   `json:"success" jsonschema:"whether something was found"`
	URL          string `json:"url" jsonschema:"address that was read"`
	Info         string `json:"extracted_info" jsonschema:"what the page says on it; written by a model after what strangers wrote"`
	Error        string `json:"error" jsonschema:"why nothing was found, or empty"`
	Stats        Stats  `json:"scrape_stats" jsonschema:"what was read"`
	Model        string `json:"model_used" jsonschema:"model that read the page"`
	Tokens       int    `json:"tokens_used" jsonschema:"tokens that it took"`
	Verification string `json:"verification_recommendation,omitempty" jsonschema:"what to do before relying on it"`

	// Cause is what went wrong; nil where the page was read and says nothing of what is
	// wanted.
	Cause error `json:"-"`
}

func (a *Answer) fail(err error) { a.Cause, a.Error = err, err.Error() }

// Stats say what was read.
type Stats struct {
	Lines      int    `json:"line_count" jsonschema:"lines of the text"`
	Chars      int    `json:"char_count" jsonschema:"characters of the text"`
	LastLine   int    `json:"last_char_line" jsonschema:"line up to which the model saw it"`
	All        bool   `json:"all_content_displayed" jsonschema:"whether the model saw all of it"`
	Method     string `json:"method_used,omitempty" jsonschema:"way by which the page was read"`
	Pieces     int    `json:"chunks_processed,omitempty" jsonschema:"pieces in which the model saw it"`
	LowQuality bool   `json:"low_quality,omitempty" jsonschema:"the text may not be the content of the page"`
}

// Extract reads a page and asks the model. What goes wrong with the page or the model
// stands in the answer; the error is that of a call which is over.
func (e *Extractor) Extract(ctx context.Context, r Request) (Answer, error) {
	a := Answer{URL: strings.TrimSpace(r.URL), Model: e.o.Model.Name}
	if want := strings.TrimSpace(r.Want); want == "" || len(want) > maxWant {
		a.fail(fmt.Errorf("say in info_to_extract what is wanted, in at most %d bytes", maxWant))
		return a, nil
	}
	page, err := e.o.Chain.Fetch(ctx, scrape.Request{URL: r.URL, About: r.Want, Header: r.Header})
	if err != nil {
		a.fail(err)
		return a, canceled(ctx)
	}
	a.URL = page.URL
	a.Stats = Stats{
		Lines: strings.Count(page.Text, "\n") + 1, Chars: utf8.RuneCountInString(page.Text), Method: page.Via, LowQuality: page.Score < scrape.Good,
	}
	run := &run{e: e, want: strings.TrimSpace(r.Want), page: page}
	info, err := run.do(ctx)
	a.Tokens, a.Model = run.tokens, cmp.Or(run.model, a.Model)
	a.Stats.Pieces, a.Stats.LastLine, a.Stats.All = run.asked, run.lastLine(), run.all
	switch {
	case err != nil:
		a.fail(err)
		return a, canceled(ctx)
	case info == "":
		a.Error = "The requested information was not found in the provided document."
		return a, nil
	}
	a.Success, a.Info = true, info
	a.Verification = recommendation(info, a.Stats)
	if !run.all {
		a.Info += "\n\n(Not all of the page was read: more may stand in the rest.)"
	}
	if a.Stats.LowQuality {
		a.Info += "\n\n<!-- Quality Note: the text of the page may be incomplete or not the content that was meant -->"
	}
	return a, nil
}

// canceled returns the error of a call that was called off; one whose time is over has
// an answer that says so.
func canceled(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// recommendation says what the confidence of the model means.
func recommendation(info string, s Stats) string {
	upper := strings.ToUpper(info)
	switch {
	case strings.Contains(upper, "[CONFIDENCE: LOW"):
		return "The model found little to go by: look for another source before relying on this."
	case strings.Contains(upper, "[CONFIDENCE: MEDIUM"):
		return "Compare what matters of this with another source."
	case s.LowQuality || !s.All:
		return "Not all of the page was seen: compare what matters with the page itself."
	}
	return ""
}

// run is one question to the model about one page.
type run struct {
	e    *Extractor
	want string
	page *scrape.Page

	mu     sync.Mutex
	tokens int
	booked int // tokens that questions under way may take
	model  string
	asked  int
	seen   int // characters that the model was shown, from the begin
	all    bool
}

func (r *run) do(ctx context.Context) (string, error) {
	runes := []rune(r.page.Text)
	if len(runes) <= oneQuestion {
		info, whole, err := r.ask(ctx, single, string(runes), lastTokens)
		r.asked, r.seen, r.all = 1, len(runes), whole
		return info, err
	}
	pieces := split(runes)
	partial, err := r.each(ctx, pieces, len(runes))
	if err != nil || len(partial) == 0 {
		return "", err
	}
	if len(partial) == 1 {
		return partial[0], nil
	}
	info, _, err := r.ask(ctx, reduce, strings.Join(partial, "\n\n---\n\n"), lastTokens)
	return info, err
}

// each asks for every piece, and returns the answers in the order of the pieces.
func (r *run) each(ctx context.Context, pieces []piece, length int) ([]string, error) {
	answers, faults := make([]string, len(pieces)), make([]error, len(pieces))
	whole := make([]bool, len(pieces))
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, p := range pieces {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			answers[i], whole[i], faults[i] = r.ask(ctx, part, p.text, mapTokens)
		})
	}
	wg.Wait()
	var partial []string
	r.all = true
	for i, p := range pieces {
		if faults[i] == nil {
			r.asked++
			if r.all {
				r.seen = p.end
			}
		}
		r.all = r.all && faults[i] == nil && whole[i]
		if utf8.RuneCountInString(answers[i]) > least {
			partial = append(partial, answers[i])
		}
	}
	if r.all {
		r.seen = length
	}
	if r.asked == 0 {
		return nil, faults[0]
	}
	return partial, nil
}

// lastLine returns the line of the last character that was shown.
func (r *run) lastLine() int {
	if r.seen == 0 {
		return 0
	}
	runes := []rune(r.page.Text)
	return strings.Count(string(runes[:min(r.seen, len(runes))]), "\n") + 1
}

// errBudget is why a piece is not asked for.
var errBudget = errors.New("the bound of tokens for one call is reached")

// book keeps tokens for a question, or reports that there are none left.
func (r *run) book(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tokens+r.booked+n > r.e.o.MaxTokens {
		return false
	}
	r.booked += n
	return true
}

func (r *run) settle(booked int, u model.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.booked -= booked
	r.tokens += u.Input + u.Output
	r.model = cmp.Or(u.Model, r.model)
}

const (
	attempts  = 4
	shorter   = 40_960 // characters by which a text that is too long is cut
	shortest  = 2000
	cutMarker = "\n[...truncated due to length limits]"
)

// ask asks the model about a text, once more with less of it where that was too much,
// and at another temperature where it got stuck. It reports whether it saw all of it.
func (r *run) ask(ctx context.Context, prompt func(want, begin, text, end string) string, text string, tokens int) (string, bool, error) {
	mark := strings.ToLower(rand.Text()[:12])
	temperature, whole := 0.2, true
	var last error
	for attempt := 1; attempt <= attempts; attempt++ {
		question := prompt(r.want, "<page-"+mark+">", text, "</page-"+mark+">")
		booked := utf8.RuneCountInString(question)/3 + tokens
		if !r.book(booked) {
			return "", false, errBudget
		}
		a, err := r.e.o.Model.Ask(ctx, model.Request{Parts: []model.Part{model.Text(question)}, MaxTokens: tokens, Temperature: &temperature})
		r.settle(booked, a.Usage)
		last = err
		switch {
		case err != nil && !model.TooLong(err):
			return "", false, err
		case err != nil || saysTooLong(a.Text):
			last = cmp.Or(err, errors.New("the page is too long for the model"))
			runes := []rune(strings.TrimSuffix(text, cutMarker))
			if len(runes) <= shortest {
				return "", false, last
			}
			text, whole = string(runes[:max(len(runes)-shorter*attempt, shortest)])+cutMarker, false
		case stuck(a.Text) && attempt < attempts:
			temperature += 0.2
		default:
			return clean(a.Text), whole, nil
		}
	}
	return "", false, last
}

// saysTooLong reports whether an answer is an error in the clothes of one, as some
// endpoints send it.
func saysTooLong(s string) bool {
	return len(s) < 1000 && (strings.Contains(s, "exceeds the model's maximum context length") || strings.Contains(s, "longer than the model's context length"))
}

// stuck reports whether a model repeats itself without end.
func stuck(s string) bool {
	r := []rune(s)
	return len(r) > 300 && strings.Count(s, string(r[len(r)-50:])) > 5
}

// clean returns an answer as text, or nothing where it says that there is nothing.
func clean(s string) string {
	s, _ = answer.Seen(s)
	s = strings.TrimSpace(s)
	if first, _, _ := strings.Cut(s, "\n"); strings.HasPrefix(strings.Trim(first, " *.`\""), nothing) {
		return ""
	}
	return s
}

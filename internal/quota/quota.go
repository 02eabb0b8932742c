// Package quota counts what callers, sessions and tools use, and says when it is
// enough.
//
//	q := quota.New()
//	q.Configure(limits)
//	…
//	taken, over := q.Take(quota.Use{Caller: "ci", Session: "run-7", Tool: id, Spend: 2})
//	if over != nil {
//		… the call is refused; over says which limit, and when to come again …
//	}
//	… the call …
//	taken.Done(bytes, elapsed)
//
// A call counts against all limits that are for it, or, where one of them is used
// up, against none. Calls and units of spend are taken before the call, so a
// crowd that comes at once gets no more than its limit; bytes and time are known
// after it, so the call that crosses such a limit is the last one. What models take
// is counted as they answer: the answer that crosses such a limit is the last one, and
// calls that ask no model go on.
//
// Sessions are names of the caller's choice: a limit of a session keeps a run in
// bounds, and one of a caller keeps the caller in bounds. A session of no name is
// one that all calls of the caller share which name none.
package quota

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// Per says who shares a limit.
type Per string

// Who shares a limit.
const (
	PerAll     Per = "all"     // everybody
	PerCaller  Per = "caller"  // all calls of one caller
	PerSession Per = "session" // all calls of one session of a caller
	PerTool    Per = "tool"    // all calls of one tool
)

// A Limit bounds what is used. What is zero is not bounded.
type Limit struct {
	// Name makes it a limit of those alone who are given it; empty holds for all.
	Name  string
	Per   Per
	Tools []tool.ID // patterns of the tools that it counts; empty is all

	CallsPerMinute int           // within any 60 seconds
	Calls          int64         // in all
	Bytes          int64         // of answers
	Time           time.Duration // that calls took
	Spend          float64       // units
	Tokens         int64         // of models
	Cost           float64       // of models, in the currency of the prices

	// Every gives all that is used back when so long has passed since the first call
	// that counted; 0 never does.
	Every time.Duration
}

// Bounds of what is kept.
const (
	// MaxPerMinute is the most that CallsPerMinute can say: so many times are kept.
	MaxPerMinute = 10_000
	// maxSubjects is how many callers, sessions and tools are counted at once. One
	// more is refused: whoever makes up names must not be able to push others out.
	maxSubjects = 20_000
	// forgetAfter is how long a subject that does nothing is remembered.
	forgetAfter = 24 * time.Hour
	window      = time.Minute
)

// A Use is one call.
type Use struct {
	Caller, Session string
	Names           []string // the limits that the caller is given by name
	Tool            tool.ID
	Spend           float64
	Models          bool // models may be asked for it, so limits of these hold for it
}

// A Quota counts. The zero value bounds nothing. It is safe for concurrent use.
type Quota struct {
	mu       sync.Mutex
	limits   []Limit
	ids      []string // of the limits: what they count, not how much of it
	subjects map[subject]*count
	swept    time.Time
}

// A subject is whose use one limit counts.
type subject struct {
	limit                 string
	caller, session, tool string
}

// A count is what a subject has used.
type count struct {
	recent ring // when the calls of the last minute began
	calls  int64
	bytes  int64
	time   time.Duration
	spend  float64
	models models
	began  time.Time // of what is counted; for limits with Every
	every  time.Duration
	last   time.Time
}

// models is what models have taken.
type models struct {
	tokens int64
	cost   float64
}

// Exceeded says that a limit is used up.
type Exceeded struct {
	Limit Limit
	What  string        // such as "60 calls a minute"
	After time.Duration // when there is room again; 0 is never in this run

	total  bool // and no rate
	models bool
}

// Kind returns the kind of the refusal: a rate passes in a moment, and a total does not,
// whether or not it is given back some day.
func (e *Exceeded) Kind() tool.Kind {
	if e.After > 0 && !e.total {
		return tool.Unavailable
	}
	return tool.Denied
}

// Text says so to a model.
func (e *Exceeded) Text() string {
	whose := map[Per]string{
		PerAll: "everybody", PerCaller: "this caller", PerSession: "this session", PerTool: "this tool",
	}[e.Limit.Per]
	if e.total {
		text := fmt.Sprintf("The limit of %s for %s is used up.", e.What, whose)
		if e.After > 0 {
			text += fmt.Sprintf(" It is given back in %s, at %s.", brief(max(e.After.Round(time.Minute), time.Minute)), time.Now().Add(e.After).UTC().Format("2006-01-02 15:04 UTC"))
		}
		if e.models {
			text += " Tools that ask no model can be called all the same. Do without those that do, and say what is missing; the operator can raise it."
			return text
		}
		return text + " Do without further calls, and say what is missing; the operator can raise it."
	}
	if e.After > 0 {
		return fmt.Sprintf("The limit of %s for %s is used up. Wait %s before the next call, or do without it.",
			e.What, whose, e.After.Round(time.Second)+time.Second)
	}
	return fmt.Sprintf("The limit of %s for %s is used up. Do without further calls, and say what is missing; the operator can raise it.", e.What, whose)
}

// Configure sets the limits. What was counted stays for limits that count the same.
func (q *Quota) Configure(limits []Limit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = slices.Clone(limits)
	q.ids = make([]string, len(limits))
	known := map[string]bool{}
	for i, l := range limits {
		q.ids[i] = fmt.Sprintf("%s %q %q %s", l.Per, l.Name, l.Tools, l.Every)
		known[q.ids[i]] = true
	}
	for s := range q.subjects {
		if !known[s.limit] {
			delete(q.subjects, s)
		}
	}
	if q.subjects == nil {
		q.subjects = map[subject]*count{}
	}
}

// maxMatches is how many limits one call can count against.
const maxMatches = 16

// A Taken is what a call has taken, until Done. The zero value took nothing.
type Taken struct {
	q      *Quota
	counts [maxMatches]*count
	limits [maxMatches]*Limit
	n      int
}

// Take takes what a call needs, from every limit that is for it or from none.
func (q *Quota) Take(u Use) (Taken, *Exceeded) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.limits) == 0 {
		return Taken{}, nil
	}
	now := time.Now()
	q.sweep(now)
	taken := Taken{q: q}
	for i := range q.limits {
		l := &q.limits[i]
		if !l.isFor(&u) {
			continue
		}
		c := q.count(l, q.ids[i], &u, now)
		if c == nil {
			return Taken{}, &Exceeded{Limit: *l, What: fmt.Sprintf("%d names at once", maxSubjects), After: time.Hour}
		}
		l.renew(c, now)
		if over := l.over(c, &u, now); over != nil {
			return Taken{}, over
		}
		if taken.n == maxMatches {
			return Taken{}, &Exceeded{Limit: *l, What: fmt.Sprintf("%d limits on one call", maxMatches)}
		}
		taken.limits[taken.n], taken.counts[taken.n] = l, c
		taken.n++
	}
	for i, c := range taken.counts[:taken.n] {
		c.calls++
		c.spend += u.Spend
		c.last = now
		c.recent.add(now, taken.limits[i].CallsPerMinute)
	}
	return taken, nil
}

// Done adds what the call has used.
func (t Taken) Done(bytes int64, took time.Duration) {
	if t.n == 0 {
		return
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	for _, c := range t.counts[:t.n] {
		c.bytes += bytes
		c.time += took
	}
}

// Spend adds what models have taken for the call, while it runs or after it.
func (t Taken) Spend(tokens int64, cost float64) {
	if t.n == 0 {
		return
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	for _, c := range t.counts[:t.n] {
		c.models.tokens += tokens
		c.models.cost += cost
	}
}

// Over returns the limit of what models may take that is used up by now, or nil.
func (t Taken) Over() *Exceeded {
	if t.n == 0 {
		return nil
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	now := time.Now()
	for i, c := range t.counts[:t.n] {
		t.limits[i].renew(c, now)
		if over := t.limits[i].overModels(c, now); over != nil {
			return over
		}
	}
	return nil
}

// isFor reports whether the limit counts the call.
func (l *Limit) isFor(u *Use) bool {
	if l.Name != "" && !slices.Contains(u.Names, l.Name) {
		return false
	}
	if len(l.Tools) == 0 {
		return true
	}
	for _, p := range l.Tools {
		if glob.MatchID(p, u.Tool) {
			return true
		}
	}
	return false
}

// count returns the count of a subject, or nil where there are too many.
func (q *Quota) count(l *Limit, id string, u *Use, now time.Time) *count {
	s := subject{limit: id}
	switch l.Per {
	case PerCaller:
		s.caller = u.Caller
	case PerSession:
		s.caller, s.session = u.Caller, u.Session
	case PerTool:
		s.session, s.tool = u.Tool.Server, u.Tool.Name
	case PerAll:
	}
	c := q.subjects[s]
	if c == nil {
		if len(q.subjects) >= maxSubjects {
			return nil
		}
		c = &count{last: now, every: l.Every}
		q.subjects[s] = c
	}
	return c
}

// sweep forgets, once a minute, who has done nothing for long, and times that
// matter no more.
func (q *Quota) sweep(now time.Time) {
	if now.Sub(q.swept) < window {
		return
	}
	q.swept = now
	for s, c := range q.subjects {
		switch idle := now.Sub(c.last); {
		case idle > max(forgetAfter, c.every):
			delete(q.subjects, s)
		case idle > window:
			c.recent = ring{}
		}
	}
}

// renew gives back what was used before the time that the limit is for.
func (l *Limit) renew(c *count, now time.Time) {
	if l.Every <= 0 {
		return
	}
	if c.began.IsZero() || now.Sub(c.began) >= l.Every {
		c.calls, c.bytes, c.time, c.spend, c.models, c.began = 0, 0, 0, 0, models{}, now
	}
}

// exceeded returns that so much is used up.
func (l *Limit) exceeded(c *count, now time.Time, format string, args ...any) *Exceeded {
	e := &Exceeded{Limit: *l, What: fmt.Sprintf(format, args...), total: true}
	if l.Every > 0 {
		e.What += " in " + brief(l.Every)
		e.After = max(l.Every-now.Sub(c.began), time.Second)
	}
	return e
}

// brief writes 24h for 24h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// overModels returns what another question to a model would exceed, or nil.
func (l *Limit) overModels(c *count, now time.Time) *Exceeded {
	var e *Exceeded
	switch {
	case l.Tokens > 0 && c.models.tokens >= l.Tokens:
		e = l.exceeded(c, now, "%d tokens of models", l.Tokens)
	case l.Cost > 0 && c.models.cost >= l.Cost:
		e = l.exceeded(c, now, "a cost of models of %g (in the currency of their prices)", l.Cost)
	default:
		return nil
	}
	e.models = true
	return e
}

// over returns what a further call would exceed, or nil.
func (l *Limit) over(c *count, u *Use, now time.Time) *Exceeded {
	switch {
	case l.Calls > 0 && c.calls >= l.Calls:
		return l.exceeded(c, now, "%d calls", l.Calls)
	case l.Bytes > 0 && c.bytes >= l.Bytes:
		return l.exceeded(c, now, "%d bytes of answers", l.Bytes)
	case l.Time > 0 && c.time >= l.Time:
		return l.exceeded(c, now, "%s of calls", l.Time)
	case l.Spend > 0 && c.spend+u.Spend > l.Spend:
		return l.exceeded(c, now, "%g units of spend", l.Spend)
	}
	if u.Models {
		if e := l.overModels(c, now); e != nil {
			return e
		}
	}
	if l.CallsPerMinute == 0 {
		return nil
	}
	if oldest, full := c.recent.full(l.CallsPerMinute); full {
		if wait := window - now.Sub(oldest); wait > 0 {
			return &Exceeded{Limit: *l, What: fmt.Sprintf("%d calls a minute", l.CallsPerMinute), After: wait}
		}
	}
	return nil
}

// A ring holds the times of the last so many calls, the oldest at next once it is
// full. Times are monotonic, so a clock that is set changes nothing.
type ring struct {
	times []time.Time
	next  int
}

// full returns the oldest of the last n calls, where there were as many.
func (r *ring) full(n int) (oldest time.Time, ok bool) {
	if len(r.times) > n { // the limit was lowered
		ordered := append(slices.Clone(r.times[r.next:]), r.times[:r.next]...)
		r.times, r.next = ordered[len(ordered)-n:], 0
	}
	if len(r.times) < n {
		return time.Time{}, false
	}
	return r.times[r.next%n], true
}

// add adds a call to the last n.
func (r *ring) add(now time.Time, n int) {
	switch {
	case n == 0:
	case len(r.times) < n:
		// Until it is full it is in order from 0; one that was full for a lower
		// limit is put in order first.
		if r.next != 0 {
			r.times, r.next = append(slices.Clone(r.times[r.next:]), r.times[:r.next]...), 0
		}
		r.times = append(r.times, now)
	default:
		r.times[r.next] = now
		r.next = (r.next + 1) % n
	}
}

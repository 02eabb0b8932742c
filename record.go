package tenon

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/store"
	"github.com/tenon-mcp/tenon/tool"
)

// records are the finished calls: the last of them in memory, and all of them in a
// store, where there is one.
type records struct {
	*record.Record

	store *store.Store // nil keeps them in memory alone
	mask  func(text string) string
	stops bool // calls are refused where it cannot be written
}

// The defaults of the record.
const (
	keepCalls      = 30 * 24 * time.Hour
	keepCallsBytes = 1 << 30
)

// openRecords returns the record that the configuration wants: in its database, in
// the folder of the state, or in memory where there is none. Nothing is opened
// yet: that waits for the first call, or is done beside the start of a gateway.
func openRecords(ctx context.Context, cfg *config.Config, from Options, secrets *redact.Redactor) (records, error) {
	r := records{Record: record.New(record.Options{}), mask: secrets.Text}
	c := cfg.Store.Record
	url := c.URL.Reveal()
	if url == "" && from.StateDir != "" {
		url = "sqlite:" + filepath.Join(from.StateDir, "record.db")
	}
	if url == "" || url == "memory" {
		return r, nil
	}
	o := store.Options{
		URL: url, Dir: from.StateDir, Mask: secrets.Excerpt, MaskJSON: secrets.JSON,
		FailFull: c.FailFull, StopGone: c.StopGone, Eager: from.Start, Logger: from.Logger,
		Keep:     max(0, cmp.Or(c.Keep, keepCalls)),
		MaxRows:  max(0, int64(c.MaxRows)),
		MaxBytes: max(0, cmp.Or(c.MaxBytes, keepCallsBytes)),
	}
	var err error
	r.stops = o.StopGone
	r.store, err = store.New(ctx, o)
	return r, err
}

func (r records) close() error {
	if r.store == nil {
		return nil
	}
	return r.store.Close()
}

// reserve is what the pipeline finds calls their places with; nil where all have one.
func (r records) reserve() func(ctx context.Context, most time.Duration) (bool, error) {
	if r.store == nil {
		return nil
	}
	return func(ctx context.Context, most time.Duration) (bool, error) {
		p, err := r.store.Reserve(ctx, most)
		return bool(p), err
	}
}

// begin records that a call is about to be sent that may change something.
func (v view) begin(ctx context.Context, r *call.Request) error {
	if s, ok := r.View.(*scoped); v.record.store == nil || ok && s.profile.Reads(r.Target, r.Arguments) {
		return nil
	}
	return v.record.store.Begin(ctx, store.Place(r.Place), store.Finished{Entry: record.Entry{
		ID: r.ID, Server: r.Target.Server, Tool: r.Target.Name, Caller: r.Caller,
		Session: r.Session, Task: r.Task, Skill: r.Skill, Started: r.Started, Attempts: r.Attempts,
		Notes: slices.Clone(throughNote(r, r.Notes)), Decision: r.Decision,
	}, Arguments: r.Arguments})
}

// keep records a finished call.
func (v view) keep(r *call.Request, res *tool.Result) {
	e := record.Entry{
		ID: r.ID, Server: res.Server, Tool: res.Tool, Kind: res.Kind, Caller: r.Caller,
		Session: r.Session, Task: r.Task, Skill: r.Skill, Started: r.Started, Elapsed: res.Elapsed,
		Bytes: res.Raw.Len() + len(res.Message), Attempts: r.Attempts, Notes: throughNote(r, res.Notes), Decision: r.Decision,
	}
	e.Usage = r.Spent()
	if res.Handle != nil {
		e.Handle = res.Handle.ID
	}
	v.record.Add(e)
	if v.record.store == nil || errors.Is(res.Err, store.ErrNoPlace) { // a refused one is counted there
		return
	}
	v.record.store.Add(store.Place(r.Place), store.Finished{Entry: e, Arguments: r.Arguments, Result: res.Raw, Message: res.Message})
}

// A CallRecord is what is kept of a finished call.
type CallRecord struct {
	ID        string      `json:"id"`
	Server    string      `json:"server_name"`
	Tool      string      `json:"tool_name"`
	Kind      tool.Kind   `json:"error_kind,omitempty"`
	Caller    tool.Caller `json:"caller"`
	Session   string      `json:"session,omitempty"`
	Task      string      `json:"task_id,omitempty"`
	Skill     string      `json:"skill,omitempty"`
	Started   time.Time   `json:"started"`
	ElapsedMS float64     `json:"elapsed_ms"`
	Bytes     int         `json:"bytes"`
	Attempts  int         `json:"attempts"`
	Notes     []tool.Note `json:"notes,omitempty"`
	Usage     *tool.Usage `json:"usage,omitempty"` // of models
	// Running is a call that has begun, and of whose end nothing is known yet. Only
	// those that may change something are in the record before they end.
	Running bool `json:"running,omitempty"`
	// Details are what is not for everybody: nil in lists.
	*CallDetails
}

// CallDetails are what is kept of a call beside its outline. A record in memory has
// neither arguments nor results.
type CallDetails struct {
	Key      string         `json:"key,omitempty"` // of the caller's credential
	Decision *tool.Decision `json:"decision,omitempty"`
	store.Details
}

func callRecord(e record.Entry) CallRecord {
	return CallRecord{
		ID: e.ID, Server: e.Server, Tool: e.Tool, Kind: e.Kind, Caller: e.Caller,
		Session: e.Session, Task: e.Task, Skill: e.Skill, Started: e.Started,
		ElapsedMS: float64(e.Elapsed.Microseconds()) / 1e3, Bytes: e.Bytes, Attempts: e.Attempts, Notes: e.Notes, Usage: e.Usage,
	}
}

// outline returns what is shown of a call in memory. Its names may be made up by whoever
// called, so secrets are masked in them.
func (r records) outline(e record.Entry) CallRecord {
	c := callRecord(e)
	for _, name := range []*string{&c.Server, &c.Tool, &c.Caller.Name, &c.Session, &c.Task, &c.Skill} {
		*name = r.mask(*name)
	}
	c.Notes = slices.Clone(c.Notes)
	for i := range c.Notes {
		c.Notes[i].Text = r.mask(c.Notes[i].Text)
	}
	return c
}

// detailed adds the details of a row.
func detailed(row store.Row) CallRecord {
	out := callRecord(row.Entry())
	out.Running = row.Type == store.TypeBegun
	out.CallDetails = &CallDetails{Key: row.Key, Decision: row.Decision, Details: row.Details}
	return out
}

// A Record is what is kept of finished calls, for people to look at.
type Record struct{ records }

// Record returns the record of finished calls.
func (g *Gateway) Record() Record { return Record{g.record} }

// A CallFilter says which calls are wanted. What is empty does not matter.
type CallFilter struct {
	Server, Tool string
	Kind         tool.Kind
	OK           bool // only calls that succeeded
	Running      bool // only calls that run and may change something
	Usage        bool // only calls for which models were asked
	Session      string
	Task         string
	Caller       string    // a name, or of those without one how they came: cli, rest, mcp
	Since, Until time.Time // of the beginning of the call
	Limit        int       // 0 is 100
	Cursor       int64     // CallPage.Next of the page before
	Details      bool      // with arguments, decision and result
}

// A CallPage is a part of the calls, the newest first.
type CallPage struct {
	Calls []CallRecord
	Next  int64 // the cursor of the next page; 0 where there is none
	// Unrecorded are calls that went on without a record, among those of the page.
	Unrecorded int64
}

// RecordStatus says how the writing of the record goes.
type RecordStatus = store.Status

// A Verification says whether the record is as it was written.
type Verification = store.Verification

// A RecordFault is a place where it is not.
type RecordFault = store.Fault

// A RecordRow is one row of the record: most are calls.
type RecordRow = store.Row

// Bounds say which rows of the record may stay.
type Bounds = store.Bounds

// Status returns how the writing goes; ok is false where calls are kept in memory
// alone.
func (r Record) Status() (status RecordStatus, ok bool) {
	if r.store == nil {
		return RecordStatus{Where: "memory"}, false
	}
	return r.store.Status(), true
}

// Refuses reports whether every call is refused now, for it could not be recorded.
func (r Record) Refuses() bool {
	st, ok := r.Status()
	return ok && r.stops && st.Gone != ""
}

// Calls returns calls by a filter, the newest first.
func (r Record) Calls(ctx context.Context, f CallFilter) (CallPage, error) {
	if r.store == nil {
		return r.remembered(f), nil
	}
	page, err := r.store.Calls(ctx, store.Filter{
		Server: f.Server, Tool: f.Tool, Kind: f.Kind, OK: f.OK, Running: f.Running, Usage: f.Usage, Session: f.Session, Task: f.Task, Caller: f.Caller,
		Since: f.Since, Until: f.Until, Limit: f.Limit, Before: f.Cursor,
	})
	if err != nil {
		return CallPage{}, err
	}
	out := CallPage{Calls: make([]CallRecord, len(page.Calls)), Next: page.Next, Unrecorded: page.Unrecorded}
	for i, row := range page.Calls {
		out.Calls[i] = detailed(row)
		if !f.Details {
			out.Calls[i].CallDetails = nil
		}
	}
	return out, nil
}

// remembered looks at the calls in memory. A cursor is a number of calls to pass
// over.
func (r Record) remembered(f CallFilter) CallPage {
	f.Limit = cmp.Or(f.Limit, 100)
	page := CallPage{Calls: []CallRecord{}}
	for i, e := range r.Last(record.DefaultLimit) {
		switch {
		case int64(i) < f.Cursor || !f.matches(&e):
			continue
		case len(page.Calls) == f.Limit:
			page.Next = int64(i)
			return page
		}
		c := r.outline(e)
		if f.Details {
			c.CallDetails = detailsOf(e)
		}
		page.Calls = append(page.Calls, c)
	}
	return page
}

func detailsOf(e record.Entry) *CallDetails {
	d := &CallDetails{Decision: e.Decision}
	d.Handle = e.Handle
	if e.Caller.Grant != nil {
		d.Key = e.Caller.Grant.Key
	}
	return d
}

func (f *CallFilter) matches(e *record.Entry) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return !f.Running && (!f.Usage || e.Usage != nil) && is(f.Server, e.Server) && is(f.Tool, e.Tool) && is(string(f.Kind), string(e.Kind)) && (!f.OK || e.Kind == "") &&
		is(f.Session, e.Session) && is(f.Task, e.Task) && (is(f.Caller, e.Caller.Name) || e.Caller.Name == "" && f.Caller == e.Caller.Via) &&
		(f.Since.IsZero() || !e.Started.Before(f.Since)) && (f.Until.IsZero() || e.Started.Before(f.Until))
}

// Call returns the record of one call with all that is kept of it. The error is of
// kind NotFound where there is none.
func (r Record) Call(ctx context.Context, id string) (CallRecord, error) {
	if r.store != nil {
		row, ok, err := r.store.Call(ctx, id)
		if err != nil {
			return CallRecord{}, err
		}
		if ok {
			return detailed(row), nil
		}
	}
	if e, ok := r.Get(id); ok {
		c := r.outline(e)
		c.CallDetails = detailsOf(e)
		return c, nil
	}
	return CallRecord{}, &tool.Error{Kind: tool.NotFound, Text: "there is no record of a call " + id + "; old calls are not kept for ever"}
}

// errNoStore is what a record in memory answers to those who want more.
var errNoStore = &tool.Error{Kind: tool.Invalid, Text: "calls are kept in memory alone here: store.url of the configuration names a database"}

// Verify holds every row against the hashes that it was written with. A head that
// was kept elsewhere, Verification.Head of before, must be among them; empty asks
// for none.
func (r Record) Verify(ctx context.Context, head string) (Verification, error) {
	if r.store == nil {
		return Verification{}, errNoStore
	}
	return r.store.Verify(ctx, head)
}

// Rows returns all rows from a time on, the oldest first. The last value may be an
// error.
func (r Record) Rows(ctx context.Context, since time.Time) iter.Seq2[RecordRow, error] {
	return func(yield func(RecordRow, error) bool) {
		if r.store == nil {
			yield(RecordRow{}, errNoStore)
			return
		}
		errEnough := errors.New("enough")
		err := r.store.Export(ctx, since, func(row RecordRow) error {
			if !yield(row, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(RecordRow{}, err)
		}
	}
}

// Prune removes the oldest rows outside of the bounds, and returns how many left.
func (r Record) Prune(ctx context.Context, b Bounds) (int64, error) {
	if r.store == nil {
		return 0, errNoStore
	}
	return r.store.Prune(ctx, b)
}

// Bounds returns the bounds of the configuration.
func (r Record) Bounds() Bounds {
	if r.store == nil {
		return Bounds{}
	}
	return r.store.Bounds()
}

// Calls returns the last calls, newest first, and at most limit of them, as they
// are remembered in memory. [Record.Calls] finds older ones too.
func (g *Gateway) Calls(limit int) []CallRecord {
	out := []CallRecord{}
	for _, e := range g.record.Last(limit) {
		out = append(out, g.record.outline(e))
	}
	return out
}

// CallRecord returns the record of one call that is remembered in memory.
func (g *Gateway) CallRecord(id string) (CallRecord, bool) {
	e, ok := g.record.Get(id)
	return g.record.outline(e), ok
}

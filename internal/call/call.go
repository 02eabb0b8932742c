// Package call is the way of a call through the gateway: a chain of stages, each
// of which may answer, change the call, or look at the answer of those within.
// The order of the stages is data, in chain.go; each stage is one file and can be
// read alone.
//
// The package knows no catalog, no policy and no server. It declares the few
// functions that its stages need, and the root fills them in:
//
//	run := call.New(call.Options{Catalog: view, Send: send, Record: add})
//	result := run(ctx, tool.Call{Server: "system", Tool: "get_local_cpu_memory"})
//
// A chain always answers: with the tool's result, or with an error that says
// what to do next. What panics within becomes an error of kind internal.
package call

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/internal/ledger"
	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are what the stages need. All functions must be set.
type Options struct {
	Catalog Catalog
	// Authority says what callers may do; nil lets everybody see and do all.
	Authority Authority
	// Quota counts what calls use; nil counts nothing.
	Quota *quota.Quota
	// Flat returns the name of a tool in the one list that MCP clients see; "" and nil
	// know none.
	Flat func(id tool.ID) string
	// Send carries out a call of r.Target and returns the CallToolResult. The params
	// are those of an MCP tools/call, but for the name: r.Target's is the one to
	// send, whatever they say. Its errors are those of upstream.Server.Call.
	Send func(ctx context.Context, r *Request, params []byte) (tool.Bytes, error)
	// Usage returns what a result says that models have taken for it, where the server
	// is believed. Nil believes nobody.
	Usage func(r *Request, raw tool.Bytes) (tool.Usage, bool)
	// Believed reports whether the server of a tool is believed what it says in the _meta of
	// a result under one of Tenon's names. Nil believes nobody.
	Believed func(t *tool.Tool, name string) bool
	// Secrets hides secrets in failures, and with Redact in results and progress too.
	// Nil hides nothing.
	Secrets Secrets
	Redact  bool
	// Record takes each finished call.
	Record func(r *Request, res *tool.Result)
	// Reserve finds a call a place in the record before it is carried out, and may
	// wait for that as long as the call may take. Its error is one of kind Unavailable.
	// What it returns else is Request.Place. Nil has place for all.
	Reserve func(ctx context.Context, most time.Duration) (bool, error)
	// Begin writes down that a call is about to be sent of a tool that may write, and
	// may wait for that. Its error is that of a call that is not sent. Nil writes
	// nothing down.
	Begin func(ctx context.Context, r *Request) error
	// NewID returns the id of a new call.
	NewID func() string
	// Timeout bounds a call whose caller and tool say nothing; MaxTimeout bounds
	// what progress can make of it. 0 is 900 s and 1 h.
	Timeout, MaxTimeout time.Duration
	// Check holds the arguments of a call, as JSON, against the tool's schema. It must
	// not block. Nil checks nothing.
	Check func(t *tool.Tool, args []byte) Checked
	// Rules say what must not be reached; nil forbids nothing.
	Rules Rules
	// Retry says how calls are repeated that failed on their way.
	Retry Retry
	// Fallbacks are the tools that stand in for others. The first one for a tool
	// counts; the one for pages is behind them.
	Fallbacks []Fallback
	// Fetch reads a page as text; refuse is asked before each address that it
	// requests. Nil leaves that out.
	Fetch func(ctx context.Context, url string, refuse func(url string) error) (text string, err error)
	// Health returns what is known of a server without asking it. Nil knows nothing.
	Health func(server string) Health
	// Reader returns the name of a tool of the same server that only reads and can
	// tell what a call has done, or "". Nil knows none.
	Reader func(t *tool.Tool) string
	// Untrusted says how the answers of a tool are marked that strangers wrote; nil marks
	// none.
	Untrusted func(t *tool.Tool) Marking
	// Keeper keeps what is too long for a caller; nil keeps nothing.
	Keeper Keeper
	// Ledger remembers calls with an idempotency key; nil is a new one.
	Ledger *ledger.Ledger
	// Admission limits what runs at once; nil does not.
	Admission *admission.Admission
	Logger    *slog.Logger // nil discards
}

// A Request is a call on its way. The stages write down in it what they found.
type Request struct {
	tool.Call // as it was asked for
	ID        string
	Started   time.Time
	Target    *tool.Tool // what really runs; set by resolve
	Notes     []tool.Note
	Attempts  int
	Place     bool // in the record; set by record
	// View is the pool as the caller sees it; set by view.
	View Catalog
	// Decision is what was decided about the call; nil where nothing was.
	Decision *tool.Decision
	// Opened are the handles whose results are among the arguments.
	Opened []string

	// Spending is what models have taken for it.
	*Spending

	clock *clock // set by deadline
	marks
}

// marks are what stages tell each other of a call.
type marks struct {
	flat  func(tool.ID) string // Options.Flat; set by resolve
	spare bool                 // another tool is tried where this one cannot be had; set by fallback
	// answered is set where the ledger knows what came of it, so that nobody was asked;
	// then it must not run.
	answered bool
	// unfinished is set where the result is not the end: it wants input, or a task
	// stands for it.
	unfinished bool
	begun      *tool.Tool // whose call was written down before it was sent; set by send
}

// Note adds a note to the result.
func (r *Request) Note(stage, format string, args ...any) {
	r.Notes = append(r.Notes, tool.Note{Stage: stage, Text: fmt.Sprintf(format, args...)})
}

// SessionName returns the name of the session: a run that names only its task is
// one too.
func (r *Request) SessionName() string { return cmp.Or(r.Session, r.Task) }

// Key tells calls apart.
func (r *Request) Key() string { return r.ID }

// ToolID names what really runs.
func (r *Request) ToolID() tool.ID { return r.Target.ID }

// Cancel ends the call with this error, wherever it is.
func (r *Request) Cancel(why *tool.Error) { r.clock.cancel(why) }

// Handler carries out a request. It never returns nil.
type Handler func(ctx context.Context, r *Request) *tool.Result

// New returns the whole chain. The function it returns may be called concurrently.
func New(o Options) func(ctx context.Context, c tool.Call) *tool.Result {
	if o.Timeout <= 0 {
		o.Timeout = 900 * time.Second
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = max(time.Hour, o.Timeout)
	}
	o.Retry = o.Retry.withDefaults()
	if o.Ledger == nil {
		o.Ledger = new(ledger.Ledger)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	run := chain(o)
	return func(ctx context.Context, c tool.Call) (res *tool.Result) {
		r := &Request{Call: c, ID: o.NewID(), Started: time.Now(), Spending: new(Spending)}
		defer func() {
			if p := recover(); p != nil {
				o.Logger.Error("call panicked", "id", r.ID, "panic", p, "stack", string(debug.Stack()))
				res = r.fail(tool.Internal, "Tenon itself failed on this call (id %s). The log has the details.", r.ID)
			}
		}()
		return run(ctx, r)
	}
}

// result returns a result with what is known of the call.
func (r *Request) result() *tool.Result {
	res := &tool.Result{
		ID: r.ID, Server: r.Server, Tool: r.Tool, Notes: r.Notes,
		Elapsed: time.Since(r.Started), Attempts: r.Attempts,
	}
	if r.Target != nil {
		res.Server, res.Tool = r.Target.Server, r.Target.Name
	}
	return res
}

// fail returns an error result.
func (r *Request) fail(kind tool.Kind, format string, args ...any) *tool.Result {
	res := r.result()
	res.Kind, res.Message = kind, fmt.Sprintf(format, args...)
	return res
}

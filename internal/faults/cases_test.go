package faults_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// A faultCase is one fault of the matrix.
type faultCase struct {
	name string
	args upstreamtest.Fault
	tool string // empty is "bad"
	// schema is that of the tool, where it has one that is none.
	schema string
	on     []string // transports; nil is all
	want   want
	// but is what is expected on some transports, or isolations, in place of want.
	but    map[string]want
	calls  int           // that the fault needs; 0 is one
	more   string        // keys of its server's entry
	deadly bool          // its process ends
	once   bool          // it happens to the first attempt
	extra  time.Duration // more time, for what needs it
	before func(t *testing.T, g *group, f faultCase)
	run    func(t *testing.T, g *group, f faultCase, args upstreamtest.Fault, limit time.Duration) *tool.Result
	after  func(t *testing.T, g *group, f faultCase)
}

// A want is what the caller is told.
type want struct {
	kind tool.Kind
	text string
	late bool // at the call's deadline
}

func (f faultCase) server() string { return strings.NewReplacer(" ", "_", ",", "").Replace(f.name) }

func (f faultCase) isOn(transport, isolation string) bool {
	return (f.calls < 2 || isolation != "call") && (f.on == nil || slices.Contains(f.on, transport))
}

func (f faultCase) wanted(transport, isolation string) want {
	for _, key := range []string{transport + "/" + isolation, transport, isolation} {
		if w, ok := f.but[key]; ok {
			return w
		}
	}
	return f.want
}

// liar is a tool with a schema that is none.
func liar(schema string) string { return `{"name":"bad_liar","inputSchema":` + schema + `}` }

// liars are tools that are no tools.
var liars = []string{`{"name":"none"}`, `{"name":"","inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":"object"}}`, `"no object"`}

func kind(name string) upstreamtest.Fault { return upstreamtest.Fault{Kind: name} }

func result(text string) upstreamtest.Fault {
	return upstreamtest.Fault{Kind: "result", Result: []byte(text)}
}

var (
	onHTTP    = []string{upstreamtest.OverJSON, upstreamtest.OverEvents, upstreamtest.OverSSE}
	onStream  = []string{upstreamtest.OverJSON, upstreamtest.OverEvents}
	onlyStdio = []string{stdio}

	fine    = want{text: "fine"}
	timeout = want{kind: tool.Timeout, text: "did not end within 400ms", late: true}
	refused = want{kind: tool.Unavailable, text: "connection refused"} // a call's own connection: it met the fault while it was made
	unknown = want{kind: tool.OutcomeUnknown}
)

func lost(text string) want { return want{kind: tool.OutcomeUnknown, text: text} }

// faults are the rows of the matrix.
var faults = []faultCase{
	{name: "none", want: fine},
	{name: "slow", args: kind("slow"), want: fine},
	{name: "hang", args: kind("hang"), want: timeout},
	{
		name: "hang at start", want: want{kind: tool.Unavailable, text: "not ready within 4s"}, extra: 14 * time.Second, more: ", start_timeout: 4s", on: onlyStdio,
		before: startFault("hang"), after: heal,
	},
	{
		name: "crash at start", want: want{kind: tool.Unavailable, text: "exit status 7"}, extra: 3 * time.Second, on: onlyStdio,
		before: startFault("crash"), after: heal,
	},
	{name: "crash before reading", before: readFault, want: unknown, deadly: true, but: map[string]want{stdio: lost("exit status 7"), "stdio/call": fine, "json/call": refused, "events/call": refused, "sse/call": refused}},
	{name: "crash before answer", args: kind("crash"), want: unknown, deadly: true, but: map[string]want{stdio: lost("exit status 7")}},
	{name: "crash long after the end of output", args: kind("crash late"), on: onlyStdio, deadly: true, want: lost("exit status 7")},
	{name: "crash in answer", args: kind("crash in answer"), want: unknown, deadly: true, but: map[string]want{stdio: lost("crashed as told")}},
	{name: "crash after answer", args: kind("crash after answer"), want: fine, deadly: true, before: whichProcess, after: isDown},

	{name: "flood of garbage", args: kind("flood of garbage"), want: lost("no message, without end"), but: map[string]want{upstreamtest.OverJSON: lost("no message")}},
	{name: "line without end", args: kind("endless line"), on: onlyStdio, want: lost("longer than any message"), extra: 5 * time.Second},
	{name: "line of garbage", args: upstreamtest.Fault{Kind: "line", Size: 3 << 20}, on: onlyStdio, want: timeout, extra: 5 * time.Second},
	{name: "answer without id", args: upstreamtest.Fault{Kind: "large without id", Size: 3 << 20}, on: onlyStdio, want: want{kind: tool.Failed, text: "too large"}, extra: 5 * time.Second},
	{name: "large answer", args: upstreamtest.Fault{Kind: "large", Size: 3 << 20}, want: want{kind: tool.Failed, text: "too large"}},
	{name: "flood of notices", args: kind("flood of notices"), want: timeout, but: map[string]want{upstreamtest.OverJSON: timeout}},
	{name: "flood of changes", args: kind("flood of changes"), want: timeout},
	{name: "flood of progress", args: kind("flood of progress"), want: timeout},
	{name: "flood of errors", args: upstreamtest.Fault{Kind: "flood of errors", Size: 8 << 20}, on: onlyStdio, want: fine},

	{name: "schema of no type", tool: "bad_liar", schema: liar(`{"type":"no such type","properties":{"ran":{"type":7}}}`), on: onlyStdio, want: want{}},
	{name: "schema that is a list", tool: "bad_liar", schema: liar(`[1,2,3]`), on: onlyStdio, want: want{}},
	{name: "schema to nowhere", tool: "bad_liar", schema: liar(`{"type":"object","properties":{"ran":{"$ref":"#/nowhere"}}}`), on: onlyStdio, want: want{}},
	{name: "result is a text", args: result(`"text"`), want: want{kind: tool.Failed, text: "no result"}},
	{name: "result is null", args: result(`null`), want: want{kind: tool.Failed, text: "no result"}},
	{name: "result is empty", args: result(`{}`), want: want{}},
	{name: "content is a text", args: result(`{"content":"text"}`), want: want{}},
	{name: "block is a number", args: result(`{"content":[7,{"type":"text","text":8}]}`), want: want{}},

	{name: "twice", args: kind("twice"), want: fine},
	{name: "out of order", args: kind("out of order"), calls: 2, run: outOfOrder, want: want{text: "second"}},
	{name: "foreign id", args: kind("foreign id"), want: timeout, but: map[string]want{upstreamtest.OverJSON: lost("another request")}},
	{name: "null id", args: kind("null id"), want: want{kind: tool.Failed, text: "what was that?"}, but: map[string]want{stdio: timeout, upstreamtest.OverSSE: timeout}},
	{name: "no envelope", args: kind("no envelope"), want: timeout, but: map[string]want{upstreamtest.OverJSON: lost("no message")}},
	{name: "result and error", args: kind("both"), want: lost("no message")},

	{name: "closes output", args: kind("closes output"), on: onlyStdio, want: lost("closed its output")},
	{name: "closes input", args: kind("closes input"), on: onlyStdio, want: fine},
	{name: "closes input, says nothing", args: kind("closes input, says nothing"), on: onlyStdio, want: lost("closed its input")},
	{name: "headers only", args: kind("headers only"), on: onHTTP, want: timeout},
	{name: "open post", args: kind("open post"), on: []string{upstreamtest.OverEvents, upstreamtest.OverSSE}, want: fine},
	{name: "reset in body", args: kind("reset in body"), on: onStream, want: lost("answer is lost")},
	{name: "long length", args: kind("long length"), on: onStream, want: lost("answer is lost")},
	{name: "no answer", args: kind("no answer"), on: onStream, want: unknown},
	{name: "lost session", args: kind("lost session"), on: onHTTP, want: fine, once: true},
	{name: "429", args: kind("429"), on: onHTTP, want: want{kind: tool.Unavailable, text: "did not carry out"}},
	{name: "401", args: kind("401"), on: onHTTP, want: want{kind: tool.Unavailable, text: "wants a login (the token has expired); the operator logs in with: tenon login 401"}},
	{name: "500", args: kind("500"), on: onHTTP, want: lost("500 Internal Server Error")},
	{name: "503", args: kind("503"), on: onHTTP, want: lost("503 Service Unavailable")},
	{name: "redirect loop", args: kind("redirect loop"), on: onHTTP, want: want{kind: tool.Unavailable, text: "redirects in a circle"}},
	{name: "a page", args: kind("page"), on: onStream, want: unknown},

	{name: "ignores cancelation", args: kind("ignores cancelation"), want: timeout},
}

// startFault breaks the start of the server, and ends what runs.
func startFault(kind string) func(t *testing.T, g *group, f faultCase) {
	return func(t *testing.T, g *group, f faultCase) {
		t.Helper()
		writeFile(t, g.file("start of "+f.server()), kind)
		if g.isolation != "call" {
			g.call(t.Context(), f, "bad", upstreamtest.Fault{Kind: "crash"}, patience) // what it comes to is not what this is about
		}
	}
}

func heal(t *testing.T, g *group, f faultCase) {
	t.Helper()
	if err := os.Remove(g.file("start of " + f.server())); err != nil {
		t.Error(err)
	}
}

// whichProcess notes the process that the next call will meet.
func whichProcess(t *testing.T, g *group, f faultCase) {
	t.Helper()
	if g.transport == stdio {
		writeFile(t, g.file("process of "+f.server()), g.call(t.Context(), f, "pid", upstreamtest.Fault{}, patience).Text())
	}
}

// isDown waits for the death of that process: what is sent to one that is about to die
// may be lost.
func isDown(t *testing.T, g *group, f faultCase) {
	t.Helper()
	if g.transport == stdio { // a server elsewhere is waited for where it is started anew
		noProcessLeft(t, g.file("process of "+f.server()))
	}
}

func readFault(t *testing.T, g *group, f faultCase) {
	t.Helper()
	writeFile(t, g.file("before "+f.server()), "")
}

// outOfOrder makes two calls at once, and returns the result of the one that came
// later.
func outOfOrder(t *testing.T, g *group, f faultCase, args upstreamtest.Fault, limit time.Duration) *tool.Result {
	t.Helper()
	var wg sync.WaitGroup
	var results [2]*tool.Result
	for i := range results {
		wg.Go(func() { results[i] = g.call(t.Context(), f, "bad", args, limit) })
	}
	wg.Wait()
	if results[0].Text() == "second" {
		results[0], results[1] = results[1], results[0]
	}
	if results[0].Text() != "first" {
		t.Error(errors.New(results[0].Text()))
	}
	return results[1]
}

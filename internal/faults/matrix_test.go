package faults_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestMain has cases run side by side that mostly wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	upstreamtest.Main(m)
}

// The transports of the matrix. All but stdio are those of upstreamtest.
const stdio = "stdio"

var (
	transports = []string{stdio, upstreamtest.OverJSON, upstreamtest.OverEvents, upstreamtest.OverSSE}
	isolations = []string{"shared", "session", "call"}
)

const (
	// patience is the time of a call that ends by itself. It is long beside prompt,
	// so that one which waits for it is found out.
	patience = time.Minute
	// prompt is how soon such a call ends, on a machine with much else to do: long before
	// its time is over. The figures for one that has not are in the table.
	prompt = 20 * time.Second
	// deadline is the time of a call that only its deadline ends.
	deadline = 400 * time.Millisecond
)

// TestMatrix lets each fault happen on each transport and each isolation. The
// caller gets the kind of error that is expected, in time; a call of another
// server beside it is answered, and so is the next one of the same. At the end
// nothing is left.
func TestMatrix(t *testing.T) {
	table := &table{own: ownStart(t)}
	t.Cleanup(func() {
		t.Log("\n" + table.String())
		if err := goleak.Find(); err != nil { // of any group: they run side by side
			t.Error(err)
		}
	})
	for _, transport := range transports {
		for _, isolation := range isolations {
			// Sessions of one HTTP server differ from each other in their header alone, and
			// a connection for each call is the same for both kinds of answers.
			repeats := slow && (isolation == "session" && transport != stdio || isolation == "call" && transport == upstreamtest.OverEvents)
			if repeats || testing.Short() && isolation != "shared" {
				continue
			}
			t.Run(transport+"/"+isolation, func(t *testing.T) {
				t.Parallel() // the last cases of a group wait for long, and the next one need not
				g := newGroup(t, transport, isolation)
				t.Run("cases", func(t *testing.T) {
					for _, f := range faults {
						if f.isOn(transport, isolation) {
							t.Run(f.name, func(t *testing.T) {
								t.Parallel()
								table.add(g.meet(t, f))
							})
						}
					}
				})
				g.close(t)
			})
		}
	}
}

// A group is the part of the matrix that one gateway serves.
type group struct {
	transport, isolation string
	*tenon.Gateway
	dir    string
	starts string                          // a file with the ids of all child processes
	remote *upstreamtest.Remote            // for faults that a server survives
	own    map[string]*upstreamtest.Remote // by fault, for those that it does not
}

func newGroup(t *testing.T, transport, isolation string) *group {
	t.Helper()
	g := &group{transport: transport, isolation: isolation, dir: t.TempDir(), own: map[string]*upstreamtest.Remote{}}
	g.starts = filepath.Join(g.dir, "starts")
	var b strings.Builder
	b.WriteString("version: 1\ngateway: {max_message: 1MiB, spawn_rate: 10000}\ntools: {\"*/bad_read\": {read_only: true}}\nservers:\n")
	b.WriteString(child("neighbour", upstreamtest.Script{CountFile: g.starts}, ""))
	if transport != stdio {
		g.remote = upstreamtest.Listen(t, g.script(faultCase{}))
	}
	for _, f := range faults {
		if !f.isOn(transport, isolation) {
			continue
		}
		more := ", start: lazy, retries: 0, isolation: " + isolation + f.more
		if transport == stdio {
			b.WriteString(child(f.server(), g.script(f), more))
			continue
		}
		r := g.remote
		if f.deadly {
			r = upstreamtest.Listen(t, g.script(f))
			g.own[f.name] = r
		}
		kind := "streamable-http"
		if transport == upstreamtest.OverSSE {
			kind = "sse"
		}
		fmt.Fprintf(&b, "  %s: {url: %q, transport: %s%s}\n", f.server(), r.URL, kind, more)
	}
	g.Gateway = openGateway(t, b.String(), g.dir)
	return g
}

// script is what the server of a fault follows.
func (g *group) script(f faultCase) upstreamtest.Script {
	s := upstreamtest.Script{
		Extra:      append(slices.Clone(upstreamtest.BadTools), liars...),
		StartFault: g.file("start of " + f.server()), ReadFault: g.file("before " + f.server()),
	}
	if f.schema != "" {
		s.Extra = append(s.Extra, f.schema)
	}
	if g.transport == stdio {
		s.CountFile = g.starts
	} else {
		s.Over = g.transport
	}
	return s
}

func (g *group) file(name string) string { return filepath.Join(g.dir, name) }

// call calls a tool of the server of f.
func (g *group) call(ctx context.Context, f faultCase, name string, args upstreamtest.Fault, timeout time.Duration) *tool.Result {
	return g.Call(ctx, tool.Call{Server: f.server(), Tool: name, Arguments: args.Arguments(), Timeout: timeout, Session: f.server()})
}

// meet lets f happen and returns its row.
func (g *group) meet(t *testing.T, f faultCase) row {
	first := g.call(t.Context(), f, "bad", upstreamtest.Fault{}, patience)
	if first.Kind != "" {
		t.Fatalf("before anything happens: %q: %s", first.Kind, first.Text())
	}
	want := f.wanted(g.transport, g.isolation)
	args := f.args
	args.Ran, args.ID = g.file("ran "+f.server()), "the call"
	if f.once {
		args.Once = g.file("once " + f.server())
		writeFile(t, args.Once, "")
	}
	if f.before != nil {
		f.before(t, g, f)
	}
	beside := make(chan *tool.Result, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { beside <- g.neighbour(t.Context()) })
	limit := patience
	if want.late {
		limit = deadline
	}
	began := time.Now()
	var res *tool.Result
	if f.run != nil {
		res = f.run(t, g, f, args, limit)
	} else {
		res = g.call(t.Context(), f, cmp.Or(f.tool, "bad"), args, limit)
	}
	took := time.Since(began)
	switch {
	case res.Kind != want.kind:
		t.Errorf("kind %q after %s, want %q: %s", res.Kind, took, want.kind, res.Text())
	case !strings.Contains(res.Text(), want.text):
		t.Errorf("text %q, want %q in it", res.Text(), want.text)
	case want.late && took < deadline:
		t.Errorf("it ended after %s, before its deadline", took)
	case took > prompt+f.extra:
		t.Errorf("it took %s: %s", took, res.Text())
	}
	if ran := upstreamtest.Starts(t, args.Ran); ran > max(f.calls, 1) {
		t.Errorf("it ran %d times", ran)
	}
	if near := <-beside; near.Kind != "" || near.Elapsed > prompt {
		t.Errorf("its neighbour: %q after %s: %s", near.Kind, near.Elapsed, near.Text())
	}
	if f.after != nil {
		f.after(t, g, f)
	}
	if r := g.own[f.name]; r != nil {
		r.Restart(t)
	}
	var next *tool.Result
	var again time.Duration
	for until := time.Now().Add(patience); ; {
		began = time.Now()
		next = g.call(t.Context(), f, "bad", upstreamtest.Fault{}, patience)
		again = time.Since(began)
		if want != refused || next.Kind == "" || time.Now().After(until) { // who was refused is told when to come back
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	if next.Kind != "" || again > prompt+f.extra {
		t.Errorf("the next call: %q after %s: %s", next.Kind, again, next.Text())
	}
	read := ""
	if want.kind == tool.OutcomeUnknown && f.before == nil && g.own[f.name] == nil {
		read = g.read(t, f)
	}
	return row{f.name, g.transport, g.isolation, res, took, again, read, f.deadly && g.transport == stdio || g.isolation == "call" && g.transport == stdio}
}

// read lets a tool that only reads meet the fault once, and returns the kind of what
// came of it: it is called again, and answered.
func (g *group) read(t *testing.T, f faultCase) string {
	t.Helper()
	args := f.args
	args.Once = g.file("once " + f.server())
	writeFile(t, args.Once, "")
	res := g.call(t.Context(), f, "bad_read", args, patience)
	if res.Kind != "" || res.Attempts < 2 {
		t.Errorf("a read: %q after %d attempts: %s", res.Kind, res.Attempts, res.Text())
	}
	return string(cmp.Or(res.Kind, "ok"))
}

func (g *group) neighbour(ctx context.Context) *tool.Result {
	return g.Call(ctx, tool.Call{Server: "neighbour", Tool: "echo", Arguments: []byte("{}"), Timeout: patience})
}

// close closes the gateway and looks for what is left of it.
func (g *group) close(t *testing.T) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for _, r := range g.own {
		r.Kill()
	}
	if g.remote != nil {
		g.remote.Kill()
	}
	noProcessLeft(t, g.starts)
}

// A row is what came of one fault.
type row struct {
	fault, transport, isolation string
	res                         *tool.Result
	took, next                  time.Duration
	read                        string // what a read gets that meets the fault once
	started                     bool   // the next call had to start a child
}

// A table collects rows.
type table struct {
	own time.Duration // that a child takes by itself to start

	mu   sync.Mutex
	rows []row
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

// String returns the table with the faults in their order.
func (t *table) String() string {
	slices.SortStableFunc(t.rows, func(a, b row) int {
		return cmp.Or(
			cmp.Compare(place(a.fault), place(b.fault)),
			cmp.Compare(slices.Index(transports, a.transport), slices.Index(transports, b.transport)),
			cmp.Compare(slices.Index(isolations, a.isolation), slices.Index(isolations, b.isolation)),
		)
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\ttransport\tisolation\tkind\ttook\tnext call\tbeyond a start\ta read\t")
	for _, r := range t.rows {
		beyond := ""
		if r.started {
			beyond = fmt.Sprintf("%.1f ms", ms(r.next-t.own))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f ms\t%.1f ms\t%s\t%s\t\n", r.fault, r.transport, r.isolation, cmp.Or(r.res.Kind, "ok"), ms(r.took), ms(r.next), beyond, r.read)
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "A child takes %.1f ms by itself from its start to its answer to initialize. Cases run side by side.\n", ms(t.own))
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func place(fault string) int {
	return slices.IndexFunc(faults, func(f faultCase) bool { return f.name == fault })
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

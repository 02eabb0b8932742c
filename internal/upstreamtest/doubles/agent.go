package doubles

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// An Agent is a server of the official Go SDK of A2A. The first word of what it is told
// says what it does: hello, make, flood, ask, fail, login, wait, slow, depth.
type Agent struct {
	URL     string
	Release chan struct{} // lets slow go on

	mu       sync.Mutex
	requests []string // method and Authorization of each
	canceled int
	breaks   int // streams to break after their first event
}

// StartAgent starts an agent. Elsewhere is where its card says that it is; empty is where
// it is.
func StartAgent(tb testing.TB, streams bool, elsewhere string) *Agent {
	tb.Helper()
	d := &Agent{}
	return d.start(tb, streams, elsewhere, a2a.TransportProtocolJSONRPC, a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(d)))
}

// StartRESTAgent starts an agent that is spoken to by HTTP+JSON alone.
func StartRESTAgent(tb testing.TB) *Agent {
	tb.Helper()
	d := &Agent{}
	return d.start(tb, true, "", a2a.TransportProtocolHTTPJSON, http.StripPrefix("/invoke", a2asrv.NewRESTHandler(a2asrv.NewHandler(d))))
}

func (d *Agent) start(tb testing.TB, streams bool, elsewhere string, binding a2a.TransportProtocol, handler http.Handler) *Agent {
	tb.Helper()
	d.Release = make(chan struct{})
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	at := srv.URL + "/invoke"
	if elsewhere != "" {
		at = elsewhere
	}
	mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
		Name: "double", Description: "a double", Version: "1", DefaultInputModes: []string{"text"}, DefaultOutputModes: []string{"text"},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(at, binding)},
		Capabilities:        a2a.AgentCapabilities{Streaming: streams}, Skills: []a2a.AgentSkill{},
	}))
	take := func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.requests = append(d.requests, r.Header.Get("Authorization"))
		broken := d.breaks > 0 && strings.Contains(r.Header.Get("Accept"), "event-stream")
		if broken {
			d.breaks--
		}
		d.mu.Unlock()
		if broken {
			w = &breaking{ResponseWriter: w, after: 2}
		}
		handler.ServeHTTP(w, r)
	}
	mux.HandleFunc("/invoke", take)
	mux.HandleFunc("/invoke/", take)
	tb.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	d.URL = srv.URL
	return d
}

// Break has the next n streams break off after their first events.
func (d *Agent) Break(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breaks = n
}

// Requests returns the header Authorization of each request.
func (d *Agent) Requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

// Canceled returns how many tasks were canceled.
func (d *Agent) Canceled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.canceled
}

// breaking is an answer whose connection breaks.
type breaking struct {
	http.ResponseWriter
	after int
}

// Flush implements [http.Flusher].
func (b *breaking) Flush() {
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	if b.after--; b.after == 0 {
		panic(http.ErrAbortHandler)
	}
}

// Execute implements [a2asrv.AgentExecutor].
func (d *Agent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		said := x.Message.Parts[0].Text()
		word, _, _ := strings.Cut(said, " ")
		status := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(x, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(text))), nil)
		}
		if word == "hello" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Hello, world!")), nil)
			return
		}
		if x.StoredTask != nil { // it has asked
			if yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("You said "+said)), nil) {
				yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
			}
			return
		}
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) || !status(a2a.TaskStateWorking, "I am at it.") {
			return
		}
		switch word {
		case "make":
			d.produce(x, yield)
		case "flood":
			parts := slices.Repeat([]*a2a.Part{a2a.NewTextPart("x")}, 2000)
			for range 6 {
				yield(a2a.NewArtifactEvent(x, parts...), nil)
			}
			<-ctx.Done()
			return
		case "ask":
			status(a2a.TaskStateInputRequired, "Which host?")
			return
		case "login":
			status(a2a.TaskStateAuthRequired, "Log in at example.com.")
			return
		case "fail":
			status(a2a.TaskStateFailed, "It is too hard.")
			return
		case "wait":
			<-ctx.Done()
			return
		case "slow":
			select {
			case <-d.Release:
			case <-ctx.Done():
				return
			}
			yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("late")), nil)
		case "depth":
			yield(a2a.NewArtifactEvent(x, a2a.NewTextPart(fmt.Sprint("depth ", x.Message.Metadata["tenon/depth"]))), nil)
		}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

// produce makes artifacts of all kinds.
func (*Agent) produce(x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	first := a2a.NewArtifactEvent(x, a2a.NewTextPart("part one, "))
	image := a2a.NewRawPart([]byte("\x89PNG"))
	image.MediaType = "image/png"
	paper := a2a.NewRawPart([]byte("%PDF"))
	paper.MediaType, paper.Filename = "application/pdf", "../report #1.pdf"
	for _, e := range []a2a.Event{
		first, a2a.NewArtifactUpdateEvent(x, first.Artifact.ID, a2a.NewTextPart("part two")),
		a2a.NewArtifactEvent(x, a2a.NewDataPart(map[string]any{"hosts": 3}), image, paper, a2a.NewFileURLPart("https://example.com/x.csv", "text/csv")),
	} {
		if !yield(e, nil) {
			return
		}
	}
}

// Cancel implements [a2asrv.AgentExecutor].
func (d *Agent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	d.mu.Lock()
	d.canceled++
	d.mu.Unlock()
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// sdkServer is a server built on the official SDK.
func sdkServer(canceled chan<- struct{}, primed bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "oracle", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		canceled <- struct{}{}
		<-ctx.Done()
		canceled <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "roots", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprint(len(roots.Roots))), nil
	})
	s.AddTool(&mcp.Tool{Name: "steps", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
			if primed && i == 1 {
				r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Millisecond})
			}
		}
		return text("done"), nil
	})
	return s
}

const initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`

// TestSDKServers calls the official SDK's servers of each kind.
func TestSDKServers(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       mcp.StreamableHTTPOptions
		sse     bool
		version string
	}{
		{name: "stateful", version: "2025-11-25"},
		{name: "json", o: mcp.StreamableHTTPOptions{JSONResponse: true}, version: "2025-11-25"},
		{name: "resumable", o: mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, version: "2025-11-25"},
		{name: "stateless", o: mcp.StreamableHTTPOptions{Stateless: true}, version: "2025-11-25"},
		{name: "modern", o: mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}, version: "2026-07-28"},
		{name: "sse", sse: true, version: "2024-11-05"},
	} {
		t.Run(c.name, func(t *testing.T) {
			canceled := make(chan struct{}, 2)
			server := sdkServer(canceled, c.o.EventStore != nil)
			get := func(*http.Request) *mcp.Server { return server }
			var handler http.Handler = mcp.NewStreamableHTTPHandler(get, &c.o)
			if c.sse {
				handler = mcp.NewSSEHandler(get, nil)
			}
			s := httptest.NewServer(handler)
			defer s.Close()
			o := wire.HTTPOptions{URL: s.URL, Handler: &notes{}, Garbage: func(head []byte, err error) { t.Errorf("%s: %v", head, err) }}
			client := connect(t, o, c.sse, c.version)
			defer client.Close()
			if h, ok := client.(*wire.HTTP); ok && era.Of(c.version) == era.Legacy {
				<-h.Listening() // where a server answers in JSON, what it tells beside needs that stream
			}
			meta := ""
			if era.Of(c.version) == era.Modern {
				meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}},`
			}
			call := func(ctx context.Context, name string, progress func(tool.Bytes)) (string, error) {
				params := []byte(`{` + meta + `"name":"` + name + `","arguments":{"n":9007199254740993}}`)
				got, err := client.Call(ctx, &wire.Request{Method: "tools/call", Params: params, Progress: progress})
				return string(got.Join()), err
			}
			for range 3 {
				if got, err := call(t.Context(), "echo", nil); err != nil || !strings.Contains(got, "9007199254740993") {
					t.Fatalf("echo: %s, %v", got, err)
				}
			}
			if _, err := call(t.Context(), "no-such-tool", nil); !isCode(jsonrpc.CodeInvalidParams)(err) {
				t.Errorf("unknown tool: %v", err)
			}
			steps := 0
			if got, err := call(t.Context(), "steps", func(tool.Bytes) { steps++ }); err != nil || !strings.Contains(got, "done") {
				t.Errorf("steps: %s, %v", got, err)
			} else if steps != 3 && !c.o.JSONResponse {
				t.Errorf("%d notifications of progress, want 3", steps)
			}
			if !c.o.Stateless && !c.o.JSONResponse {
				if got, err := call(t.Context(), "roots", nil); err != nil || !strings.Contains(got, `"0"`) {
					t.Errorf("roots: %s, %v", got, err)
				}
			}
			if c.o.Stateless && !c.o.PropagateRequestCancellation {
				return // this server cannot be told
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				<-canceled
				cancel()
			})
			if _, err := call(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("wait: %v", err)
			}
			<-canceled
		})
	}
}

// connect does the handshake, where the version has one.
func connect(t *testing.T, o wire.HTTPOptions, sse bool, version string) wire.Client {
	t.Helper()
	var client wire.Client
	if sse {
		c, err := wire.NewSSE(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		client = c
	} else {
		c := wire.NewHTTP(o)
		if c.SetVersion(version); era.Of(version) == era.Modern {
			return c
		}
		c.SetVersion("")
		defer c.SetVersion(version)
		client = c
	}
	if _, err := client.Call(t.Context(), &wire.Request{Method: "initialize", Params: []byte(initializeParams)}); err != nil {
		t.Fatal(err)
	}
	if err := client.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
	return client
}

// TestSDKSessionLost restarts a server below its client.
func TestSDKSessionLost(t *testing.T) {
	var handler http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer s.Close()
	var server *mcp.Server
	start := func() {
		server = sdkServer(nil, false)
		handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	}
	start()
	o := wire.HTTPOptions{URL: s.URL}
	c := wire.NewHTTP(o)
	defer c.Close()
	if _, err := c.Call(t.Context(), &wire.Request{Method: "initialize", Params: []byte(initializeParams)}); err != nil {
		t.Fatal(err)
	}
	c.SetVersion("2025-11-25")
	for session := range server.Sessions() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	start()
	_, err := c.Call(t.Context(), &wire.Request{Method: "tools/list"})
	if !errors.Is(err, wire.ErrSessionLost) {
		t.Fatalf("got %v", err)
	}
	<-c.Done()
}

// TestEverything calls the reference server over both transports.
func TestEverything(t *testing.T) {
	for mode, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(mode, func(t *testing.T) {
			o := wire.HTTPOptions{URL: startEverything(t, mode) + path, Handler: &notes{}}
			c := connect(t, o, mode == "sse", "2025-11-25")
			defer c.Close()
			got, err := c.Call(t.Context(), &wire.Request{Method: "tools/list"})
			if err != nil || !strings.Contains(string(got.Join()), `"echo"`) {
				t.Fatalf("tools/list: %.200s, %v", got.Join(), err)
			}
			steps := 0
			got, err = c.Call(t.Context(), &wire.Request{
				Method:   "tools/call",
				Params:   []byte(`{"name":"trigger-long-running-operation","arguments":{"duration":0.3,"steps":3}}`),
				Progress: func(tool.Bytes) { steps++ },
			})
			if err != nil || steps != 3 {
				t.Errorf("long operation: %s, %v, %d steps", got.Join(), err, steps)
			}
		})
	}
}

// startEverything runs the reference server until the test ends, and returns its
// origin.
func startEverything(t *testing.T, mode string) string {
	t.Helper()
	bin := testenv.NPM(t, "mcp-server-everything")
	port := strconv.Itoa(testenv.Port(t))
	cmd := exec.CommandContext(t.Context(), bin, mode)
	cmd.Env = append(os.Environ(), "PORT="+port)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	drained := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for first := true; lines.Scan(); {
			if first && strings.Contains(lines.Text(), port) {
				first = false
				close(ready)
			}
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	})
	select {
	case <-ready:
	case <-drained:
		t.Fatalf("the server ended: %v", cmd.Wait())
	}
	return "http://127.0.0.1:" + port
}

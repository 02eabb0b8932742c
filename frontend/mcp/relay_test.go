package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
)

// An upstream is a server of the official SDK that asks and tells its client all that
// the protocol has.
type upstream struct {
	*sdk.Server
	url  string
	legs []string // what it got, for a test to look at
	mu   sync.Mutex
}

// The eras that an upstream can speak.
const (
	legacyOnly = "legacy"
	modernOnly = "modern"
	bothEras   = "both"
)

func newUpstream(t *testing.T, name, spoken string) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = sdk.NewServer(&sdk.Implementation{Name: name, Version: "7"}, &sdk.ServerOptions{
		Instructions:       "Ask " + name + " first.",
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{name + ":" + r.Params.Ref.Name + r.Params.Ref.URI + ":" + r.Params.Argument.Value}}}, nil
		},
		RootsListChangedHandler: func(context.Context, *sdk.RootsListChangedRequest) { u.note("roots changed") },
	})
	u.tools()
	u.AddPrompt(&sdk.Prompt{Name: "greet", Title: "A greeting"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Description: name + " " + r.Params.Name + " " + r.Params.Arguments["who"]}, nil
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: name + " read " + r.Params.URI}}}, nil
	}
	u.AddResource(&sdk.Resource{URI: "mem://same", Name: "same"}, read)
	u.AddResource(&sdk.Resource{URI: "mem://" + name, Name: "own"}, read)
	u.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "made-" + name + "://{x}", Name: "made"}, read)
	u.serve(t, spoken)
	return u
}

func (u *upstream) note(what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.legs = append(u.legs, what)
}

func (u *upstream) got(what string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Contains(u.legs, what)
}

// tools adds the tools, each of which asks or tells something.
func (u *upstream) tools() {
	add := func(name string, do func(ctx context.Context, r *sdk.CallToolRequest) (string, error)) {
		sdk.AddTool(u.Server, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
			text, err := do(ctx, r)
			if err != nil {
				return nil, nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
	}
	add("elicit", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.Action, " ", res.Content["who"]), nil
	})
	add("sample", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		res, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 5, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "Say."}}}})
		if err != nil {
			return "", err
		}
		return res.Model, nil
	})
	add("roots", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		res, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(res.Roots), " ", res.Roots[0].URI), nil
	})
	add("talk", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		err := errors.Join(
			r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Data: "hot"}),
			r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 3}))
		return "talked", err
	})
	add("plain", func(context.Context, *sdk.CallToolRequest) (string, error) { return "plain", nil })
	sdk.AddTool(u.Server, &sdk.Tool{Name: "ask"}, func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
		if r.Params.RequestState == "" {
			return &sdk.CallToolResult{RequestState: "secret state", InputRequests: sdk.InputRequestMap{
				"q": &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`)},
			}}, nil, nil
		}
		answer, err := json.Marshal(r.Params.InputResponses["q"])
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.RequestState + " " + string(answer)}}}, nil, err
	})
}

// serve serves the upstream over HTTP in the eras that it is to speak.
func (u *upstream) serve(t *testing.T, spoken string) {
	t.Helper()
	get := func(*http.Request) *sdk.Server { return u.Server }
	modern := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	legacy := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{SessionTimeout: time.Minute})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isModern := r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"
		switch {
		case isModern && spoken != legacyOnly:
			modern.ServeHTTP(w, r)
		case !isModern && spoken == modernOnly:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":""}}}`)
		default:
			legacy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		for session := range u.Sessions() {
			_ = session.Close() // those whose end was lost with a connection
		}
		ts.CloseClientConnections()
		ts.Close()
	})
	u.url = ts.URL
}

// gateway serves a pool of these servers and returns its URL.
func gateway(t *testing.T, more string, servers ...*upstream) string {
	t.Helper()
	return gatewayOf(t, "policy: {mode: bypass}\n"+more, servers...)
}

// gatewayOf serves a pool of these servers and of the entries that more begins with.
func gatewayOf(t *testing.T, more string, servers ...*upstream) string {
	t.Helper()
	cfg := "version: 1\nservers:\n"
	for i, u := range servers {
		cfg += fmt.Sprintf("  s%d: {url: %q, transport: streamable-http, retries: 0}\n", i+1, u.url)
	}
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte(cfg+more), 0o600); err != nil {
		t.Fatal(err)
	}
	gw, err := tenon.Open(t.Context(), tenon.Options{Config: path, Env: append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.New(gw, mcp.Options{Version: "1.2.3"})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close()
		ts.CloseClientConnections()
		ts.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := gw.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return ts.URL
}

// A person is a client of the official SDK that answers all that servers ask.
type person struct {
	*sdk.ClientSession
	heard chan string
}

func dialIn(t *testing.T, url, version string, able bool, name string) *person {
	t.Helper()
	p := &person{heard: make(chan string, 64)}
	o := &sdk.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { p.heard <- fmt.Sprint("log ", r.Params.Data) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			p.heard <- fmt.Sprint("progress ", r.Params.ProgressToken, " ", r.Params.Progress)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			p.heard <- "updated " + r.Params.URI
		},
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { p.heard <- "prompts changed" },
		Capabilities:             &sdk.ClientCapabilities{},
	}
	if able {
		o.Capabilities = nil
		o.ElicitationHandler = func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"who": name}}, nil
		}
		o.CreateMessageHandler = func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "model of " + name, Content: &sdk.TextContent{Text: "x"}}, nil
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, o)
	if able {
		client.AddRoots(&sdk.Root{URI: "file:///" + name})
	}
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	p.ClientSession = session
	return p
}

// call calls a tool and returns the text of its result, or of its error.
func (p *person) call(t *testing.T, tool string) string {
	t.Helper()
	params := &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}}
	params.SetProgressToken("mine")
	res, err := p.CallTool(t.Context(), params)
	if err != nil {
		return "error " + err.Error()
	}
	if len(res.Content) == 0 {
		return "nothing"
	}
	return res.Content[0].(*sdk.TextContent).Text
}

func (p *person) hears(t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case got := <-p.heard:
			if got == want {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("never heard %q", want)
		}
	}
}

const (
	legacy = "2025-11-25"
	latest = "2026-07-28"
)

func TestServersAskTheirClient(t *testing.T) {
	for _, c := range []struct{ client, server string }{
		{legacy, legacyOnly}, {legacy, bothEras}, {latest, legacyOnly},
	} {
		t.Run(c.client+" to "+c.server, func(t *testing.T) {
			url := gateway(t, "", newUpstream(t, "u", c.server))
			p := dialIn(t, url+"/mcp/s/s1", c.client, true, "ann")
			for tool, want := range map[string]string{
				"elicit": "accept ann", "sample": "model of ann", "roots": "1 file:///ann", "plain": "plain",
			} {
				if got := p.call(t, tool); got != want {
					t.Errorf("%s: got %q, want %q", tool, got, want)
				}
			}
		})
	}
}

func TestInputThatAModernServerWants(t *testing.T) {
	for _, c := range []struct{ client, server string }{
		{legacy, modernOnly}, {latest, modernOnly}, {latest, bothEras},
	} {
		t.Run(c.client+" to "+c.server, func(t *testing.T) {
			url := gateway(t, "", newUpstream(t, "u", c.server))
			p := dialIn(t, url+"/mcp/s/s1", c.client, true, "ann")
			if got := p.call(t, "ask"); !strings.HasPrefix(got, "secret state ") || !strings.Contains(got, "ann") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestEachClientIsAskedForItself(t *testing.T) {
	for _, version := range []string{legacy, latest} {
		url := gateway(t, "", newUpstream(t, "u", legacyOnly))
		var wg sync.WaitGroup
		for i := range 6 {
			p := dialIn(t, url+"/mcp/s/s1", version, true, fmt.Sprint("p", i))
			for range 3 {
				wg.Go(func() {
					if got, want := p.call(t, "elicit"), fmt.Sprint("accept p", i); got != want {
						t.Errorf("%s: got %q, want %q", version, got, want)
					}
				})
			}
		}
		wg.Wait()
	}
}

func TestWhoDeclaresNothingIsNotAsked(t *testing.T) {
	url := gateway(t, "", newUpstream(t, "u", legacyOnly))
	able := dialIn(t, url+"/mcp/s/s1", legacy, true, "ann")
	if got := able.call(t, "elicit"); got != "accept ann" {
		t.Fatal(got)
	}
	for _, version := range []string{legacy, latest} {
		p := dialIn(t, url+"/mcp/s/s1", version, false, "bob")
		if got := p.call(t, "elicit"); !strings.Contains(got, "does not support elicitation") {
			t.Errorf("%s: got %q", version, got)
		}
	}
}

func TestLogsProgressAndUpdatesReachTheirClient(t *testing.T) {
	for _, spoken := range []string{legacyOnly, bothEras} {
		u := newUpstream(t, "u", spoken)
		url := gateway(t, "", u)
		for _, path := range []string{"/mcp/s/s1", "/mcp"} {
			p := dialIn(t, url+path, legacy, true, "ann")
			other := dialIn(t, url+path, legacy, true, "bob")
			if err := p.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
				t.Fatal(err)
			}
			talk := "talk"
			if path == "/mcp" {
				talk = "s1__talk"
			}
			if got := p.call(t, talk); got != "talked" {
				t.Fatal(got)
			}
			p.hears(t, "log hot")
			if err := p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "mem://u"}); err != nil {
				t.Fatal(err)
			}
			_ = u.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "mem://u"})
			p.hears(t, "updated mem://u")
			if len(other.heard) > 0 {
				t.Errorf("another client heard %q", <-other.heard)
			}
			if err := p.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "mem://u"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSubscriptionsReachModernServersAndClients(t *testing.T) {
	for _, c := range []struct{ client, server string }{{legacy, modernOnly}, {latest, modernOnly}, {latest, legacyOnly}} {
		t.Run(c.client+" to "+c.server, func(t *testing.T) {
			u := newUpstream(t, "u", c.server)
			url := gateway(t, "", u)
			p := dialIn(t, url+"/mcp/s/s1", c.client, false, "ann")
			if err := p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "mem://u"}); err != nil {
				t.Fatal(err)
			}
			if c.client == legacy {
				_ = u.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "mem://u"})
				p.hears(t, "updated mem://u")
				return
			}
			tick := time.NewTicker(100 * time.Millisecond) // its stream is opened beside
			defer tick.Stop()
			for range 600 {
				_ = u.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "mem://u"})
				select {
				case got := <-p.heard:
					if got != "updated mem://u" {
						t.Fatal(got)
					}
					return
				case <-tick.C:
				}
			}
			t.Fatal("never heard of the update")
		})
	}
}

func TestListsThatChange(t *testing.T) {
	for _, spoken := range []string{legacyOnly, modernOnly} {
		u := newUpstream(t, "u", spoken)
		url := gateway(t, "", u)
		p := dialIn(t, url+"/mcp", legacy, false, "ann")
		if _, err := p.ListPrompts(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		heard := false
		for i := 0; i < 600 && !heard; i++ {
			u.AddPrompt(&sdk.Prompt{Name: fmt.Sprint("new", i)}, nil)
			select {
			case got := <-p.heard:
				heard = got == "prompts changed"
			case <-tick.C:
			}
		}
		list, err := p.ListPrompts(t.Context(), nil)
		if err != nil || !heard || !slices.ContainsFunc(list.Prompts, func(p *sdk.Prompt) bool { return p.Name == "s1__new0" }) {
			t.Errorf("%s: heard %v, %v, %v", spoken, heard, list, err)
		}
	}
}

func TestPoolOfPromptsAndResources(t *testing.T) {
	url := gateway(t, "", newUpstream(t, "one", legacyOnly), newUpstream(t, "two", modernOnly))
	for _, version := range []string{legacy, latest} {
		p := dialIn(t, url+"/mcp", version, true, "ann")
		prompts, err := p.ListPrompts(t.Context(), nil)
		if err != nil || len(prompts.Prompts) != 2 || prompts.Prompts[1].Name != "s2__greet" {
			t.Fatalf("%+v, %v", prompts, err)
		}
		got, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "s2__greet", Arguments: map[string]string{"who": "you"}})
		if err != nil || got.Description != "two greet you" {
			t.Errorf("%+v, %v", got, err)
		}
		list, err := p.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, r := range list.Resources {
			uris = append(uris, r.URI)
		}
		slices.Sort(uris)
		if want := "[mem://one mem://same mem://two tenon://s2/mem://same]"; fmt.Sprint(uris) != want {
			t.Errorf("got %v, want %s", uris, want)
		}
		for uri, want := range map[string]string{
			"mem://same": "one read mem://same", "tenon://s2/mem://same": "two read mem://same", "made-two://x": "two read made-two://x",
		} {
			res, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || res.Contents[0].Text != want || res.Contents[0].URI != uri {
				t.Errorf("%s: %+v, %v", uri, res, err)
			}
		}
		if _, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "no://such"}); err == nil {
			t.Error("no error for an address that nobody has")
		}
		c, err := p.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "s1__greet"}, Argument: sdk.CompleteParamsArgument{Name: "who", Value: "a"}})
		if err != nil || c.Completion.Values[0] != "one:greet:a" {
			t.Errorf("%+v, %v", c, err)
		}
		if got := p.call(t, "s1__elicit"); got != "accept ann" {
			t.Errorf("got %q", got)
		}
	}
}

func TestOneServerIsWhatItIs(t *testing.T) {
	for _, spoken := range []string{legacyOnly, modernOnly, bothEras} {
		url := gateway(t, "", newUpstream(t, "one", spoken))
		for _, version := range []string{legacy, latest} {
			p := dialIn(t, url+"/mcp/s/s1", version, true, "ann")
			hello := p.InitializeResult()
			if version == latest {
				hello = discovered(t, url+"/mcp/s/s1", spoken)
			}
			if hello.ServerInfo.Name != "one" || hello.Instructions != "Ask one first." || hello.Capabilities.Completions == nil {
				t.Errorf("%s to %s: %+v", version, spoken, hello)
			}
			if _, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet"}); err != nil {
				t.Errorf("%s to %s: %v", version, spoken, err)
			}
		}
	}
	url := gateway(t, "", newUpstream(t, "one", legacyOnly))
	for _, path := range []string{"/mcp/s/nobody", "/mcp/s/", "/mcp/k/nothing"} {
		res, err := http.Post(url+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// discovered returns the answer to server/discover.
func discovered(t *testing.T, url, spoken string) *sdk.InitializeResult {
	t.Helper()
	var said struct {
		Result struct {
			sdk.InitializeResult
			Versions []string                   `json:"supportedVersions"`
			Meta     map[string]json.RawMessage `json:"_meta"`
		}
	}
	body := sendModern(t, url, "server/discover", "", "")
	if bridged := strings.Contains(body, `"tenon/bridge":"The server speaks MCP up to 2025-11-25 only: what it asks its client`); bridged != (spoken == legacyOnly) {
		t.Errorf("%s: %s", spoken, body)
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil || !slices.Equal(said.Result.Versions, []string{latest}) {
		t.Fatalf("%s: %v", body, err)
	}
	out := said.Result.InitializeResult
	if out.ServerInfo == nil {
		out.ServerInfo = &sdk.Implementation{}
		_ = json.Unmarshal(said.Result.Meta["io.modelcontextprotocol/serverInfo"], out.ServerInfo)
	}
	return &out
}

// sendModern sends a modern request with more members in its params, and returns the answer.
func sendModern(t *testing.T, url, method, name, members string) string {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	body := `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}` + members + `}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": latest, "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantsInput returns the state and the name of the question in an answer.
func wantsInput(t *testing.T, answer string) (state, name string) {
	t.Helper()
	var said struct {
		Result struct {
			Type   string                     `json:"resultType"`
			State  string                     `json:"requestState"`
			Inputs map[string]json.RawMessage `json:"inputRequests"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Result.Type != "input_required" || len(said.Result.Inputs) != 1 {
		t.Fatalf("wants no input: %s", answer)
	}
	for name = range said.Result.Inputs {
	}
	return said.Result.State, name
}

func TestStatesAreBound(t *testing.T) {
	for spoken, tool := range map[string]string{legacyOnly: "elicit", modernOnly: "ask"} {
		url := gateway(t, "", newUpstream(t, "one", spoken), newUpstream(t, "two", spoken))
		call := func(server, tool, members string) string {
			return sendModern(t, url+"/mcp/s/"+server, "tools/call", tool, `"name":"`+tool+`"`+members)
		}
		state, name := wantsInput(t, call("s1", tool, `,"arguments":{}`))
		if strings.Contains(state, "secret") {
			t.Errorf("the state of the server shows: %s", state)
		}
		answer := func(state string) string {
			return `,"requestState":"` + state + `","inputResponses":{"` + name + `":{"action":"accept","content":{"who":"eve"}}}`
		}
		for what, got := range map[string]string{
			"changed":         call("s1", tool, `,"arguments":{}`+answer(state[:len(state)-4]+"AAAA")),
			"of the server":   call("s1", tool, `,"arguments":{}`+answer("secret state")),
			"other arguments": call("s1", tool, `,"arguments":{"x":1}`+answer(state)),
			"other tool":      call("s1", "plain", `,"arguments":{}`+answer(state)),
			"other server":    call("s2", tool, `,"arguments":{}`+answer(state)),
		} {
			if !strings.Contains(got, "-32602") || !strings.Contains(got, "requestState is refused") {
				t.Errorf("%s, %s: got %s", spoken, what, got)
			}
		}
		if got := call("s1", tool, `,"arguments":{}`+answer(state)); !strings.Contains(got, "eve") {
			t.Errorf("%s: got %s", spoken, got)
		}
		if got := call("s1", tool, `,"arguments":{}`+answer(state)); spoken == legacyOnly && !strings.Contains(got, "was used") {
			t.Errorf("used twice: got %s", got)
		}
	}
}

// TestToolsThatNeedACapableClient: some servers offer tools only to clients that they
// may ask something.
func TestToolsThatNeedACapableClient(t *testing.T) {
	u := newUpstream(t, "u", legacyOnly)
	u.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			list, ok := res.(*sdk.ListToolsResult)
			if !ok {
				return res, err
			}
			session, _ := r.GetSession().(*sdk.ServerSession)
			if p := session.InitializeParams(); p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
				own := *list
				own.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return t.Name == "elicit" })
				return &own, err
			}
			return res, err
		}
	})
	url := gateway(t, "", u)
	offers := func(p *person, name string) bool {
		t.Helper()
		list, err := p.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == name })
	}
	for _, version := range []string{legacy, latest} {
		able := dialIn(t, url+"/mcp/s/s1", version, true, "ann")
		if !offers(able, "elicit") || able.call(t, "elicit") != "accept ann" {
			t.Errorf("%s: a client that can be asked gets no tool that asks", version)
		}
		if offers(dialIn(t, url+"/mcp/s/s1", version, false, "bob"), "elicit") {
			t.Errorf("%s: a client that cannot be asked gets a tool that asks", version)
		}
	}
	able := dialIn(t, url+"/mcp", legacy, true, "ann")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 { // for a minute
		if offers(able, "s1__elicit") {
			return
		}
		<-tick.C
	}
	t.Error("never in the list of the pool")
}

func TestRootsThatChangeReachServers(t *testing.T) {
	u := newUpstream(t, "u", legacyOnly)
	url := gateway(t, "", u)
	client := sdk.NewClient(&sdk.Implementation{Name: "ann", Version: "1"}, nil)
	client.AddRoots(&sdk.Root{URI: "file:///a"})
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp", MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "s1__roots"}); err != nil || res.IsError {
		t.Fatal(res, err)
	}
	client.AddRoots(&sdk.Root{URI: "file:///b"})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 { // for a minute
		if u.got("roots changed") {
			return
		}
		<-tick.C
	}
	t.Error("the server never heard of it")
}

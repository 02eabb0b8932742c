package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// keyed is the section of a configuration with keys for two callers, and for one
// who decides only, and the values of Authorization for them.
func keyed(t *testing.T, more string) (section string, as map[string]string) {
	t.Helper()
	dir := t.TempDir()
	file, err := tenon.OpenKeys(tenon.Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	as = map[string]string{}
	for name, scope := range map[string]tenon.Scope{"ann": {Caller: true}, "bob": {Caller: true}, "judge": {Approver: true}} {
		_, secret, err := file.Create(name, scope, 0)
		if err != nil {
			t.Fatal(err)
		}
		as[name] = "Bearer " + secret.Reveal()
	}
	return fmt.Sprintf("auth: {keys: %q%s}\n", filepath.Join(dir, "keys.json"), more), as
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestSessionBelongsToItsCaller: the id of a session is of no use to another caller,
// whether it asks, listens or ends it.
func TestSessionBelongsToItsCaller(t *testing.T) {
	section, as := keyed(t, "")
	_, url := front(t, good, section)
	_, _, h := post(t, url, hello, "Authorization", as["ann"])
	id := h.Get("Mcp-Session-Id")
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	send := func(method, who string) int {
		t.Helper()
		ctx := t.Context()
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Session-Id", id)
		if as[who] != "" {
			req.Header.Set("Authorization", as[who])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, who := range []string{"bob", ""} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if got := send(method, who); got != http.StatusNotFound {
				t.Errorf("%s of %q in the session of ann: %d, want 404", method, who, got)
			}
		}
	}
	if got := send(http.MethodPost, "ann"); got != http.StatusOK {
		t.Errorf("ann in her own session: %d", got)
	}
	// One that the local user opened is not there for somebody with a key either.
	id = session(t, url)
	if got, own := send(http.MethodPost, "ann"), send(http.MethodPost, ""); got != http.StatusNotFound || own != http.StatusOK {
		t.Errorf("ann in the session of the local user: %d, the local user: %d", got, own)
	}
}

// TestStreamEndsWithItsKey: the stream of a session, and what a client of the modern era
// listens on, end when the key that opened them does, and others go on.
func TestStreamEndsWithItsKey(t *testing.T) {
	section, as := keyed(t, "")
	_, url := front(t, good, section)
	var tasks sync.WaitGroup // they end with the bodies
	t.Cleanup(tasks.Wait)
	listen := func(who, body string, header ...string) io.ReadCloser {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			_, _, h := post(t, url, hello, "Authorization", as[who])
			method, header = http.MethodGet, []string{"Mcp-Session-Id", h.Get("Mcp-Session-Id")}
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for h := range slices.Chunk(append(header, "Accept", "application/json, text/event-stream", "Content-Type", "application/json", "Authorization", as[who]), 2) {
			req.Header.Set(h[0], h[1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d", res.StatusCode)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res.Body
	}
	ends := func(body io.Reader) <-chan struct{} {
		done := make(chan struct{})
		tasks.Go(func() {
			defer close(done)
			_, _ = io.Copy(io.Discard, body)
		})
		return done
	}
	modernBody := modern("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	modernHeader := []string{"Mcp-Protocol-Version", latest, "Mcp-Method", "subscriptions/listen"}
	ann, bob := ends(listen("ann", "")), ends(listen("bob", ""))
	modernAnn, modernBob := ends(listen("ann", modernBody, modernHeader...)), ends(listen("bob", modernBody, modernHeader...))
	_, path, _ := strings.Cut(section, `keys: "`)
	path, _, _ = strings.Cut(path, `"`)
	file, err := tenon.OpenKeys(tenon.Options{StateDir: filepath.Dir(path)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Revoke("ann"); err != nil {
		t.Fatal(err)
	}
	for _, ended := range []<-chan struct{}{ann, modernAnn} {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("a stream goes on without its key")
		}
	}
	select {
	case <-bob:
		t.Error("the stream of another caller ended too")
	case <-modernBob:
		t.Error("what another caller listens on ended too")
	default:
	}
}

// TestStateBelongsToItsCaller: sessions of servers that two callers give the same
// name are two.
func TestStateBelongsToItsCaller(t *testing.T) {
	section, as := keyed(t, "")
	_, url := front(t, nil, perSession(t)+section)
	body := modern("tools/call", `"name":"own__count"`)
	for _, step := range []struct{ who, want string }{{"ann", "1"}, {"ann", "2"}, {"bob", "1"}, {"", "1"}, {"ann", "3"}} {
		header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "own__count", "X-Tenon-Session", "nightly"}
		if as[step.who] != "" {
			header = append(header, "Authorization", as[step.who])
		}
		if _, answer, _ := post(t, url, body, header...); !strings.Contains(answer, `"text":"`+step.want+`"`) {
			t.Errorf("%q counts %s, want %s", step.who, answer, step.want)
		}
	}
}

// TestWhoMayUseMCP: both eras want the same of a credential, for each method.
func TestWhoMayUseMCP(t *testing.T) {
	section, as := keyed(t, "")
	_, open := front(t, good, section)
	section, strictAs := keyed(t, ", required: true")
	_, strict := front(t, good, section)
	modernHeader := func(method string) []string {
		return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	}
	for _, c := range []struct {
		name, url, authorization string
		want                     int
	}{
		{"local user", open, "", 200},
		{"caller", open, as["ann"], 200},
		{"who decides", open, as["judge"], 403},
		{"nobody known", open, "Bearer not-a-real-key-000", 401},
		{"another scheme", open, "Basic eA==", 401},
		{"local user where a key is required", strict, "", 401},
		{"caller where a key is required", strict, strictAs["bob"], 200},
		{"caller of another gateway", strict, as["bob"], 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, r := range map[string]struct {
				body   string
				header []string
			}{
				"initialize": {hello, nil},
				"list":       {modern("tools/list", ""), modernHeader("tools/list")},
				"discover":   {modern("server/discover", ""), modernHeader("server/discover")},
				"call":       {modern("tools/call", `"name":"one__echo"`), append(modernHeader("tools/call"), "Mcp-Name", "one__echo")},
			} {
				header := r.header
				if c.authorization != "" {
					header = append(slices.Clip(header), "Authorization", c.authorization)
				}
				status, answer, h := post(t, c.url, r.body, header...)
				if status != c.want {
					t.Errorf("%s: %d, want %d: %s", what, status, c.want, answer)
				}
				if challenge := h.Get("WWW-Authenticate"); (c.want != 200) != strings.HasPrefix(challenge, "Bearer ") {
					t.Errorf("%s: %d with the challenge %q", what, status, challenge)
				}
				if c.want != 200 && !json.Valid([]byte(answer)) {
					t.Errorf("%s: no JSON: %s", what, answer)
				}
			}
		})
	}
}

// TestURLsOfOthers: who needs a credential and has none learns of no URL whether it
// is there.
func TestURLsOfOthers(t *testing.T) {
	section, as := keyed(t, ", required: true")
	_, url := front(t, good, section)
	for path, own := range map[string]int{"": 200, mcp.ServerPath + "one": 200, mcp.ServerPath + "none": 404, mcp.SkillPath + "none": 404} {
		if status, _, _ := post(t, url+path, hello); status != http.StatusUnauthorized {
			t.Errorf("%q without a credential: %d", path, status)
		}
		if status, _, _ := post(t, url+path, hello, "Authorization", as["ann"]); status != own {
			t.Errorf("%q with one: %d, want %d", path, status, own)
		}
	}
}

// bearer sends a credential with each request.
type bearer struct {
	authorization string
	next          http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", b.authorization)
	return b.next.RoundTrip(r)
}

// TestSDKWithKey: the official client with a key lists and calls in both eras.
func TestSDKWithKey(t *testing.T) {
	section, as := keyed(t, ", required: true")
	_, url := front(t, good, section)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		tr := &http.Transport{}
		hc := &http.Client{Transport: bearer{as["ann"], tr}}
		cs, err := sdk.NewClient(&sdk.Implementation{Name: "oracle", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: hc}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		if l, err := cs.ListTools(t.Context(), nil); err != nil || len(l.Tools) < 5 {
			t.Errorf("%s: %v", version, err)
		}
		if res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "one__echo", Arguments: map[string]any{"a": 1}}); err != nil || res.IsError {
			t.Errorf("%s: %v %v", version, res, err)
		}
		_ = cs.Close()
		tr.CloseIdleConnections()
	}
}

// TestMetadataOfResource: a client that is refused is told where it learns of the
// identity provider, and learns of it there without a credential.
func TestMetadataOfResource(t *testing.T) {
	s, url := front(t, nil, "  x: {bundled: nothing}\nauth: {required: true, oidc: {issuer: \"https://id.example.com\", audience: tenon}}\n")
	_, _, h := post(t, url, hello)
	challenge := h.Get("WWW-Authenticate")
	if want := `resource_metadata="` + url + `/.well-known/oauth-protected-resource/mcp"`; !strings.Contains(challenge, want) {
		t.Errorf("challenge %s, want %s", challenge, want)
	}
	for _, path := range []string{"/mcp/s/x", "/mcp/k/disk", "/mcp/s/nobody"} { // whether it is there is not told
		_, _, h := post(t, url+path, hello)
		if want := `resource_metadata="` + url + `/.well-known/oauth-protected-resource` + path + `"`; !strings.Contains(h.Get("WWW-Authenticate"), want) {
			t.Errorf("%s: challenge %s, want %s", path, h.Get("WWW-Authenticate"), want)
		}
		rec := httptest.NewRecorder()
		s.ServeMetadata(rec, httptest.NewRequest(http.MethodGet, url+"/.well-known/oauth-protected-resource"+path, nil))
		if !strings.Contains(rec.Body.String(), `"resource":"`+url+path+`"`) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodPost: 405} {
		rec := httptest.NewRecorder()
		s.ServeMetadata(rec, httptest.NewRequest(method, url+"/.well-known/oauth-protected-resource/mcp", nil))
		if rec.Code != want || want == 200 && !strings.Contains(rec.Body.String(), `"authorization_servers":["https://id.example.com"]`) {
			t.Errorf("%s: %d %s", method, rec.Code, rec.Body)
		}
	}
	s, url = front(t, good, "")
	rec := httptest.NewRecorder()
	s.ServeMetadata(rec, httptest.NewRequest(http.MethodGet, url+"/.well-known/oauth-protected-resource", nil))
	if rec.Code != http.StatusNotFound {
		t.Errorf("without a provider: %d", rec.Code)
	}
}

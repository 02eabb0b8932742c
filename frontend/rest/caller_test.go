package rest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// keyed opens a gateway with keys for a caller, another one, and who decides only.
// Its tool send counts its calls; say gives back a long text.
func keyed(t *testing.T, config string) (gw *tenon.Gateway, keys map[string]string, calls *atomic.Int64) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.yaml")
	if err := os.WriteFile(path, []byte("version: 1\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	o := tenon.Options{Config: path, StateDir: dir, Env: []string{"HOME=" + dir, "LocalAppData=" + dir, "TENON_APPROVER_TOKEN=" + approverToken}}
	type in struct {
		Text string `json:"text,omitempty"`
	}
	calls = new(atomic.Int64)
	tenon.AddTool(&o, tenon.Function{Name: "send"}, func(context.Context, in) (int64, error) { return calls.Add(1), nil })
	tenon.AddTool(&o, tenon.Function{Name: "say", Meta: &tool.Meta{ReadOnly: true, SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow, MaxResultChars: 200}}, func(context.Context, in) (string, error) {
		return strings.Repeat("word ", 2000), nil
	})
	file, err := tenon.OpenKeys(o)
	if err != nil {
		t.Fatal(err)
	}
	keys = map[string]string{}
	for name, scope := range map[string]tenon.Scope{
		"ann": {Caller: true}, "bob": {Caller: true}, "judge": {Approver: true}, "both": {Caller: true, Approver: true},
	} {
		_, secret, err := file.Create(name, scope, 0)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = secret.Reveal()
	}
	gw, err = tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	return gw, keys, calls
}

// bare serves the API without a look at whether its answers are as described, for
// a gateway that describes itself to nobody unknown.
func bare(t *testing.T, gw *tenon.Gateway) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(rest.New(gw, rest.Options{}))
	t.Cleanup(srv.Close)
	return srv
}

// TestWhoMayWhat: each operation of the API lets through whom it is for, and
// answers everybody else with 401 or 403.
func TestWhoMayWhat(t *testing.T) {
	gw, keys, _ := keyed(t, "")
	srv := bare(t, gw)
	required, requiredKeys, _ := keyed(t, "auth: {required: true}\n")
	strict := bare(t, required)

	_, document := as(t, srv, "", "GET", "/openapi.json", "")
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(document), &described); err != nil || len(described.Paths) < 10 {
		t.Fatalf("%d paths, %v", len(described.Paths), err)
	}
	refused := func(status int) bool {
		return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests
	}
	for path, methods := range described.Paths {
		path = strings.TrimPrefix(path, "/api/v1")
		decides := strings.HasPrefix(path, "/approvals") || strings.HasPrefix(path, "/stops") || path == "/events"
		all := path == "/openapi.json"
		both := path == "/calls" || path == "/calls/{id}" || path == "/record" || path == "/usage"
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "x")
		for method := range methods {
			method := strings.ToUpper(method)
			if path == "/events" {
				method = http.MethodHead // a stream would not end
			}
			ask := func(token string) int {
				status, _ := as(t, srv, token, method, path, "{")
				return status
			}
			both := both && method == http.MethodGet
			for _, c := range []struct {
				who, token string
				refused    bool
			}{
				{"nobody known", "not-a-real-key-000", true},
				{"the local user", "", decides},
				{"a caller", keys["ann"], decides},
				{"who decides", keys["judge"], !decides && !all && !both},
				{"the approver's token", approverToken, !decides && !all && !both},
				{"who does both", keys["both"], false},
			} {
				if path == "/events" && !c.refused {
					continue
				}
				if got := ask(c.token); refused(got) != c.refused {
					t.Errorf("%s %s of %s: status %d", method, path, c.who, got)
				}
			}
			if got := ask(""); decides && got != http.StatusUnauthorized {
				t.Errorf("%s %s of the local user: status %d, want 401", method, path, got)
			}
			if got, _ := as(t, strict, "", method, path, "{"); got != http.StatusUnauthorized {
				t.Errorf("%s %s of the local user, where a key is required: status %d, want 401", method, path, got)
			}
		}
	}
	if got, _ := as(t, strict, "", "GET", "/nowhere", ""); got != http.StatusUnauthorized {
		t.Errorf("a path that is not there, where a key is required: status %d", got)
	}
	if got, body := as(t, strict, requiredKeys["ann"], "POST", "/calls", `{"server":"go","tool":"say"}`); got != 200 || !strings.Contains(body, `"result"`) {
		t.Errorf("with a key: %d %s", got, body)
	}
}

// TestRefusalSaysHow: a client is told how to send a credential, and what is wrong.
func TestRefusalSaysHow(t *testing.T) {
	gw, keys, _ := keyed(t, "auth: {required: true}\n")
	srv := bare(t, gw)
	ask := func(header ...string) (*http.Response, map[string]string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+"/api/v1/servers", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range header {
			req.Header.Add("Authorization", h)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body map[string]string
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return res, body
	}
	res, body := ask()
	if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != `Bearer realm="tenon"` || body["error_kind"] != "denied" || !strings.Contains(body["error"], "Authorization: Bearer") {
		t.Errorf("without: %d %v %v", res.StatusCode, res.Header, body)
	}
	res, _ = ask("Bearer not-a-real-key-000")
	if res.StatusCode != 401 || !strings.Contains(res.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("wrong: %d %v", res.StatusCode, res.Header)
	}
	res, _ = ask("Bearer "+keys["ann"], "Bearer "+keys["bob"])
	if res.StatusCode != 401 || !strings.Contains(res.Header.Get("WWW-Authenticate"), `error="invalid_request"`) {
		t.Errorf("two: %d %v", res.StatusCode, res.Header)
	}
	res, _ = ask("Bearer " + keys["judge"])
	if res.StatusCode != 403 || !strings.Contains(res.Header.Get("WWW-Authenticate"), `error="insufficient_scope"`) {
		t.Errorf("who decides only: %d %v", res.StatusCode, res.Header)
	}
}

// TestCallersAreKeptApart: what one has kept or done, another one neither sees nor
// is answered with, though it knows the name.
func TestCallersAreKeptApart(t *testing.T) {
	gw, keys, calls := keyed(t, "")
	srv := bare(t, gw)
	_, body := as(t, srv, keys["ann"], "POST", "/calls", `{"server":"go","tool":"say","arguments":{"text":"x"}}`)
	r := decode[said](t, []byte(body))
	if r.Handle == nil {
		t.Fatal(body)
	}
	for who, want := range map[string]int{"ann": 200, "bob": 404, "both": 404, "": 404} {
		if got, body := as(t, srv, keys[who], "GET", "/handles/"+r.Handle.ID, ""); got != want {
			t.Errorf("the handle read by %q: %d %.200s", who, got, body)
		}
	}
	if _, body := as(t, srv, keys["bob"], "POST", "/calls", `{"server":"go","tool":"send","arguments":{"text":{"$handle":"`+r.Handle.ID+`"}}}`); !strings.Contains(body, `"not_found"`) {
		t.Errorf("the handle passed on by bob: %s", body)
	}
	var counts []string
	for _, who := range []string{"ann", "ann", "bob", "", "bob"} {
		_, body := as(t, srv, keys[who], "POST", "/calls", `{"server":"go","tool":"send","session":"s","idempotency_key":"k"}`)
		counts = append(counts, decode[said](t, []byte(body)).Result)
	}
	if want := []string{"1", "1", "2", "3", "2"}; !slices.Equal(counts, want) || calls.Load() != 3 {
		t.Errorf("with the same idempotency key: %v in %d calls, want %v", counts, calls.Load(), want)
	}
}

// TestReloadChangesWhoMay: the section auth of a configuration that is read again
// counts from the next request on; the approver's token stays.
func TestReloadChangesWhoMay(t *testing.T) {
	gw, keys, _ := keyed(t, "")
	srv := bare(t, gw)
	file := filepath.Dir(gw.Files()[0])
	if err := os.WriteFile(gw.Files()[0], []byte("version: 1\nauth: {required: true, keys: "+filepath.Join(file, "others.json")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"": 401, keys["ann"]: 401, approverToken: 200} {
		if got, body := as(t, srv, token, "GET", "/approvals", ""); got != want {
			t.Errorf("%d, want %d: %s", got, want, body)
		}
	}
}

// TestEventsEndWithTheirKey: who decided until its key was revoked hears of no call
// after that.
func TestEventsEndWithTheirKey(t *testing.T) {
	gw, keys, _ := keyed(t, "policy: {mode: ask_destructive, block_high_risk: false}\n")
	srv := bare(t, gw)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+keys["judge"])
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
	file, err := tenon.OpenKeys(tenon.Options{StateDir: filepath.Dir(gw.Files()[0])})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Revoke("judge"); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		if status, _ := as(t, srv, keys["judge"], "GET", "/approvals", ""); status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the revoked key counts")
		}
	}
	_, body := as(t, srv, keys["ann"], "POST", "/calls", `{"server":"go","tool":"send","arguments":{"text":"secret plan"},"timeout":"100ms"}`)
	if !strings.Contains(body, `"error_kind"`) {
		t.Fatalf("nobody was asked: %s", body)
	}
	heard, err := io.ReadAll(res.Body)
	if err != nil || strings.Contains(string(heard), "secret plan") {
		t.Errorf("heard %s, %v", heard, err)
	}
}

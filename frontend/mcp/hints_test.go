package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hinting is a modern server whose results may all be kept for so long.
func hinting(t *testing.T, name string, ttl int, scope string) *upstream {
	t.Helper()
	hints := fmt.Sprintf(`"resultType":"complete","ttlMs":%d,"cacheScope":%q`, ttl, scope)
	if scope == "" {
		hints = `"resultType":"complete"`
	}
	results := map[string]string{
		"server/discover": `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"x","version":"1"}`,
		"tools/list":      `"tools":[{"name":"` + name + `","inputSchema":{"type":"object"}}]`,
		"prompts/list":    `"prompts":[{"name":"` + name + `"}]`,
		"resources/list":  `"resources":[{"uri":"mem://` + name + `","name":"r"}]`,
		"resources/read":  `"contents":[{"uri":"mem://` + name + `","text":"read"}]`,

		"resources/templates/list": `"resourceTemplates":[]`,
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		members, ok := results[m.Method]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s,%s}}`, m.ID, hints, members)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{url: ts.URL}
}

// TestHintsOfMergedLists: a list is fresh for as long as the part that is for the shortest,
// and for anybody only where each part is and nobody is shown something else.
func TestHintsOfMergedLists(t *testing.T) {
	long, short := hinting(t, "long", 60_000, "public"), hinting(t, "short", 3000, "public")
	mine, silent := hinting(t, "mine", 4000, "private"), hinting(t, "silent", 0, "")
	for name, c := range map[string]struct {
		servers       []*upstream
		meta, config  string
		most          int // milliseconds; what is kept here for a while has fewer left
		tools, others string
	}{
		"long":                  {[]*upstream{long}, "", "", 5000, "public", "public"},
		"the shortest":          {[]*upstream{long, short}, "", "", 3000, "public", "public"},
		"one is private":        {[]*upstream{long, mine, short}, "", "", 3000, "private", "private"},
		"one says nothing":      {[]*upstream{long, silent}, "", "", 0, "private", "private"},
		"one is legacy":         {[]*upstream{long, newUpstream(t, "one", legacyOnly)}, "", "", 0, "public", "public"}, // its SDK says so
		"callers differ":        {[]*upstream{long}, "", "policy: {callers: {ann: {mode: read_only}}}\n", 5000, "private", "private"},
		"credentials count":     {[]*upstream{long}, "", "auth: {oidc: {issuer: \"https://id.example.com\", audience: x}}\n", 5000, "private", "private"},
		"a skill is asked for":  {[]*upstream{long}, `,"tenon/skill":"network_diagnosis"`, "", 5000, "private", "private"},
		"a stricter mode is":    {[]*upstream{long}, `,"tenon/mode":"read_only"`, "", 5000, "private", "private"},
		"a shorter list is":     {[]*upstream{long}, `,"tenon/lazy":"on"`, "", 5000, "private", "public"},
		"a list is short in it": {[]*upstream{long, short}, "", "lazy: on\n", 3000, "private", "public"},
	} {
		t.Run(name, func(t *testing.T) {
			url := gatewayOf(t, c.config, c.servers...)
			for method, want := range map[string]string{"tools/list": c.tools, "prompts/list": c.others, "resources/list": c.others} {
				ttl, scope := hintsOf(t, url+"/mcp", method, "", c.meta)
				if scope != want {
					t.Errorf("%s: %s, want %s", method, scope, want)
				}
				if ttl > c.most || ttl < c.most-2500 || method == "tools/list" && ttl != c.most {
					t.Errorf("%s: fresh for %d ms, want %d", method, ttl, c.most)
				}
			}
		})
	}
}

// TestHintsOfOneServer: what passes byte for byte keeps its hints, but that it is not for
// anybody where callers are shown different things.
func TestHintsOfOneServer(t *testing.T) {
	long := hinting(t, "long", 60_000, "public")
	for more, want := range map[string]string{"": "public", "policy: {callers: {ann: {mode: read_only}}}\n": "private"} {
		url := gatewayOf(t, more, long)
		for method, most := range map[string]int{"prompts/list": 60_000, "resources/read": 60_000, "server/discover": 5000, "tools/list": 5000} {
			name := ""
			if method == "resources/read" {
				name = "mem://long"
			}
			if ttl, scope := hintsOf(t, url+"/mcp/s/s1", method, name, ""); ttl != most || scope != want {
				t.Errorf("%q, %s: %d %s, want %d %s", more, method, ttl, scope, most, want)
			}
		}
	}
}

// hintsOf returns the hints of what a modern request is answered with.
func hintsOf(t *testing.T, url, method, name, meta string) (ttl int, scope string) {
	t.Helper()
	member := ""
	if name != "" {
		member = `,"uri":"` + name + `"`
	}
	body := `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + meta + `}` + member + `}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method,
	} {
		req.Header.Set(k, v)
	}
	if name != "" {
		req.Header.Set("Mcp-Name", name)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	text := string(raw)
	if i := strings.Index(text, "data: {"); i >= 0 {
		text, _, _ = strings.Cut(text[i+len("data: "):], "\n")
	}
	var said struct {
		Result struct {
			TTL   *int   `json:"ttlMs"`
			Scope string `json:"cacheScope"`
		}
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Result.TTL == nil {
		t.Fatalf("%s: %v: %s", method, err, raw)
	}
	return *said.Result.TTL, said.Result.Scope
}

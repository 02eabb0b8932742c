package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
)

// What a typed layer would change: members that no specification knows, integers
// that a float64 rounds, numbers in odd forms, the order of keys, spaces, escapes
// that could be written otherwise, kinds of content to come.
const (
	odd = `"zeta":9007199254740993,"x-later":{"b":[1,{"c":null}],"a":-0.0,"é":"\u00e9\/<&>"},"alpha":18446744073709551616`

	richTool = `{"zeta":1,"name":"rich","icons":[{"src":"data:image\/png;base64,AA==","mimeType":"image/png","sizes":["48x48"],"theme":"dark","glow":1.50}],` +
		`"description":"a <b> & \u201cc\u201d \ud83d\ude00","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","required":[],"type":"object",` +
		`"properties":{"n":{"maximum":9007199254740993,"type":["integer","null"],"x-order":2},"b":{"anyOf":[{"const":1},{}]}},"$defs":{"z":{},"a":{"$ref":"#/$defs/z"}}},` +
		`"outputSchema":{"type":"array","items":{"type":"string"}},"annotations":{"openWorldHint":false,"readOnlyHint":true,"category":"own"},` +
		`"execution":{"taskSupport":"optional","later":1e2},"_meta":{"b/x":9007199254740993,"a/y":[1.0,1E+2]},` + odd + `}`

	poorTool = `{"name":"poor","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}`

	richCall = `{"structuredContent":[ 9007199254740993 , {"z":1,"a":1.10} ],"content":[{"type":"hologram","voxels":[1,2,9007199254740993],"depth":1.0},` +
		`{"text":"a \u003c b \/ c","type":"text","annotations":{"audience":["user"],"priority":0.50,"mood":"calm"},"_meta":{"k":1e3}},` +
		`{"type":"resource_link","name":"l","uri":"demo://a?b=%20","icons":[{"src":"https://a.test/i.svg","new":true}]}],"isError":false,"_meta":{"z/z":18446744073709551616,"a/a":{}},` + odd + `}`

	richPrompt = `{"title":"P","name":"ask","arguments":[{"required":true,"name":"q","kind":"later"}],"icons":[],` + odd + `}`

	richGot = `{"messages":[{"content":{"type":"hologram","z":9007199254740993,"a":1},"role":"narrator"}],"description":"\/",` + odd + `}`

	richResource = `{"mimeType":"text/html;profile=mcp-app","uri":"ui://rich/view?x=%2F","name":"v","size":9007199254740993,"_meta":{"ui":{"csp":{"z":1,"a":2}}},` + odd + `}`

	richTemplate = `{"uriTemplate":"demo://{+path}{?q*}","name":"t","annotations":{"lastModified":"now","x":1.0},` + odd + `}`

	richRead = `{"contents":[{"_meta":{"ui":{"prefersBorder":true,"z":1.0}},"text":"<p>\u00a0<\/p>","uri":"ui://rich/view?x=%2F","later":9007199254740993}],` + odd + `}`

	richArguments = `{"n":9007199254740993,"b":{"z":1.0,"a":"\u00e9\/"},"extra":[1E+2, 18446744073709551616]}`
)

// answers are the members of each result, without braces.
var answers = map[string]string{
	"tools/list":               `"tools":[` + richTool + `,` + poorTool + `]`,
	"tools/call":               inner(richCall),
	"prompts/list":             `"prompts":[` + richPrompt + `]`,
	"prompts/get":              inner(richGot),
	"resources/list":           `"resources":[` + richResource + `]`,
	"resources/templates/list": `"resourceTemplates":[` + richTemplate + `]`,
	"resources/read":           inner(richRead),
	"initialize":               `"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"rich","version":"1"}`,
	"server/discover":          `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}`,
}

func inner(object string) string { return object[1 : len(object)-1] }

// A richServer answers with the texts above, in one era of the protocol.
type richServer struct {
	modern bool
	mu     sync.Mutex
	params map[string]string // the last of each method
}

func (s *richServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case err != nil || json.Unmarshal(body, &m) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	s.params[m.Method] = string(m.Params)
	s.mu.Unlock()
	result, known := answers[m.Method]
	known = known && (m.Method != "initialize" || !s.modern) && (m.Method != "server/discover" || s.modern)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !known:
		if s.modern {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`, m.ID)
		return
	case s.modern:
		result = `"resultType":"complete",` + result
		if m.Method != "tools/call" && m.Method != "prompts/get" {
			result = `"ttlMs":1000,"cacheScope":"public",` + result
		}
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "rich")
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, m.ID, result)
}

// got returns the last params of a method.
func (s *richServer) got(method string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.params[method]
}

// rich puts a gateway before a server of the era and returns its URL.
func rich(t *testing.T, modern bool) (s *richServer, url string) {
	t.Helper()
	s = &richServer{modern: modern, params: map[string]string{}}
	upstream := httptest.NewServer(s)
	t.Cleanup(upstream.Close)
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	config := "version: 1\nservers:\n  srv: {url: \"" + upstream.URL + "/\", retries: 0}\ntools:\n  \"srv/*\": {max_result_chars: 0}\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	gw, err := tenon.Open(t.Context(), tenon.Options{Config: path, Env: []string{"XDG_CACHE_HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "HOME=" + t.TempDir()}, Start: true})
	if err != nil {
		t.Fatal(err)
	}
	front := mcp.New(gw, mcp.Options{Version: "1"})
	ts := httptest.NewServer(front)
	t.Cleanup(func() {
		_ = front.Close()
		ts.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, ts.URL + "/mcp"
}

// A rawClient sends messages and reads answers as bytes.
type rawClient struct {
	t       *testing.T
	url     string
	modern  bool
	session string
}

func dial(t *testing.T, url string, modern bool) *rawClient {
	c := &rawClient{t: t, url: url, modern: modern}
	if !modern {
		c.request("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}`, "")
	}
	return c
}

// request returns the result of a method; params are members without braces.
func (c *rawClient) request(method, params, name string) string {
	c.t.Helper()
	if c.modern {
		params = strings.TrimPrefix(params+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`, ",")
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, params)
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.modern {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	} else if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	answer := string(text)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		answer = data(answer)
	}
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result == nil {
		c.t.Errorf("%s: %s: %v", method, answer, err)
	}
	return string(m.Result)
}

// data returns the last message of a stream.
func data(stream string) string {
	last := ""
	for line := range strings.Lines(stream) {
		if text, ok := strings.CutPrefix(line, "data:"); ok && strings.Contains(text, `"id":7`) {
			last = strings.TrimSpace(text)
		}
	}
	return last
}

// What the revision of 2026-07-28 adds to a result, and the gateway may.
var added = regexp.MustCompile(`"(?:resultType":"complete"|ttlMs":\d+|cacheScope":"(?:public|private)"),?`)

// plain returns result without what belongs to its revision alone.
func plain(result string) string {
	return strings.TrimSuffix(strings.TrimPrefix(added.ReplaceAllString(result, ""), "{"), "}")
}

// TestRichPayloadsPassByteForByte: whatever the eras of client and server, on
// every URL, what a server says and what a client says arrives as it was written,
// except for names that carry the server's.
func TestRichPayloadsPassByteForByte(t *testing.T) {
	eras := map[bool]string{false: "legacy", true: "modern"}
	for _, serverModern := range []bool{false, true} {
		s, url := rich(t, serverModern)
		for _, clientModern := range []bool{false, true} {
			for path, prefix := range map[string]string{"": "srv__", "/s/srv": ""} {
				t.Run(eras[clientModern]+" client of a "+eras[serverModern]+" server at /mcp"+path, func(t *testing.T) {
					passes(t, s, dial(t, url+path, clientModern), prefix)
				})
			}
		}
	}
}

func passes(t *testing.T, s *richServer, c *rawClient, prefix string) {
	named := func(text, name string) string {
		return strings.Replace(text, `"name":"`+name+`"`, `"name":"`+prefix+name+`"`, 1)
	}
	for _, r := range []struct{ method, params, name, want string }{
		{"tools/list", "", "", named(named(answers["tools/list"], "rich"), "poor")},
		{"prompts/list", "", "", named(answers["prompts/list"], "ask")},
		{"resources/list", "", "", answers["resources/list"]},
		{"resources/templates/list", "", "", answers["resources/templates/list"]},
		{"tools/call", `"name":"` + prefix + `rich","arguments":` + richArguments, prefix + "rich", answers["tools/call"]},
		{"prompts/get", `"name":"` + prefix + `ask","arguments":{"q":"\u00e9\/"}`, prefix + "ask", answers["prompts/get"]},
		{"resources/read", `"uri":"ui://rich/view?x=%2F"`, "ui://rich/view?x=%2F", answers["resources/read"]},
	} {
		t.Run(strings.ReplaceAll(r.method, "/", " "), func(t *testing.T) {
			if got := plain(c.request(r.method, r.params, r.name)); got != r.want {
				t.Errorf("came out otherwise\n got %s\nwant %s", got, r.want)
			}
			switch r.method {
			case "tools/call":
				if got := s.got(r.method); !strings.Contains(got, `"arguments":`+richArguments) {
					t.Errorf("the server got other arguments: %s", got)
				}
			case "prompts/get":
				if got := s.got(r.method); !strings.Contains(got, `{"q":"\u00e9\/"}`) {
					t.Errorf("the server got other arguments: %s", got)
				}
			}
		})
	}
}

package kubernetes_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
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

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/kubernetes"
)

// The tests run against answers that a real API server gave (testdata/recorded.json):
// kube-apiserver 1.34.4 on etcd, with objects whose status was set by hand, for
// there were no controllers and no nodes; only the log of a container came from a
// stand-in of the kubelet. With -record they ask the server of that address again.
var (
	record = flag.String("record", "", "address of a real API server to ask, in place of what it answered once")
	shared = struct {
		sync.Mutex
		Answers map[string]exchange
	}{}
)

const recordedFile = "testdata/recorded.json"

// An exchange is an answer to a request.
type exchange struct {
	Status int             `json:"status"`
	JSON   json.RawMessage `json:"json,omitempty"`
	Text   string          `json:"text,omitempty"`
}

func TestMain(m *testing.M) {
	flag.Parse()
	shared.Answers = map[string]exchange{}
	if *record == "" {
		b, err := os.ReadFile(recordedFile)
		if err == nil {
			err = json.Unmarshal(b, &shared.Answers)
		}
		if err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if *record != "" {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := errors.Join(e.Encode(shared.Answers), os.WriteFile(recordedFile, b.Bytes(), 0o600)); err != nil {
			panic(err)
		}
	}
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// replay serves the recorded answers.
func replay(t testing.TB) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
		user := strings.TrimPrefix(strings.SplitN(r.Header.Get("Authorization"), "-", 2)[0], "Bearer ")
		key := strings.Join([]string{user, r.Method, r.URL.Path, r.URL.Query().Encode(), form}, " ")
		shared.Lock()
		defer shared.Unlock()
		a, ok := shared.Answers[key]
		if !ok && *record != "" {
			a, ok = ask(t, r), true
			shared.Answers[key] = a
		}
		if !ok {
			t.Errorf("nobody recorded: %s", key)
			a.Status = http.StatusTeapot
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(append(slices.Clone(a.JSON), a.Text...))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// ask passes a request on to the real server.
func ask(t testing.TB, r *http.Request) exchange {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, *record+r.URL.RequestURI(), r.Body)
	if err != nil {
		t.Error(err)
		return exchange{}
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding")
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return exchange{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	if json.Valid(b) {
		return exchange{Status: resp.StatusCode, JSON: b}
	}
	return exchange{Status: resp.StatusCode, Text: string(b)}
}

// config writes a kubeconfig file for a server, with the users admin and viewer.
func config(t testing.TB, url string) string {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: admin
contexts:
- {name: admin, context: {cluster: c, user: admin, namespace: shop}}
- {name: viewer, context: {cluster: c, user: viewer, namespace: shop}}
clusters:
- {name: c, cluster: {server: %q}}
users:
- {name: admin, user: {token: admin-not-a-real-token-000}}
- {name: viewer, user: {token: viewer-not-a-real-token-001}}
`, url)
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// recorded returns a client of a server that speaks to the recorded cluster.
func recorded(t testing.TB, o kubernetes.Options) *mcp.ClientSession {
	t.Helper()
	o.Kubeconfig = config(t, replay(t))
	return connect(t, o)
}

func connect(t testing.TB, o kubernetes.Options) *mcp.ClientSession {
	t.Helper()
	srv, err := kubernetes.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

// An answer is what came of a call.
type answer struct {
	text   string
	data   map[string]any
	raw    string // of data
	failed bool
}

// call calls a tool, and holds its answer to what every answer must be.
func call(t testing.TB, cs *mcp.ClientSession, name string, args any) answer {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	a := answer{failed: res.IsError}
	for _, c := range res.Content {
		a.text += c.(*mcp.TextContent).Text
	}
	if res.StructuredContent != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		a.raw = string(b)
		if err := json.Unmarshal(b, &a.data); err != nil {
			t.Fatal(err)
		}
	}
	if !a.failed {
		checkOutput(t, cs, name, a)
	}
	if limit := kubernetes.Meta()[name].MaxResultChars; len([]rune(a.text)) > limit {
		t.Errorf("%s: %d characters, more than %d", name, len([]rune(a.text)), limit)
	}
	for _, s := range []string{"not-a-real", "AKIAIOSFODNN7EXAMPLE", "bm90LWEtcmVhb"} {
		if strings.Contains(a.text+a.raw, s) {
			t.Errorf("%s %v: a secret is shown: %s\n%s", name, args, a.text, a.raw)
		}
	}
	return a
}

// outputs are the schemas of the answers of the tools, which are the same in all tests.
var outputs sync.Map

func checkOutput(t testing.TB, cs *mcp.ClientSession, name string, a answer) {
	t.Helper()
	if _, ok := outputs.Load(name); !ok {
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range list.Tools {
			var schema jsonschema.Schema
			b, _ := json.Marshal(tl.OutputSchema)
			if err := json.Unmarshal(b, &schema); err != nil {
				t.Fatal(err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			outputs.Store(tl.Name, resolved)
		}
	}
	resolved, _ := outputs.Load(name)
	if err := resolved.(*jsonschema.Resolved).Validate(a.data); err != nil {
		t.Errorf("%s: %v in %s", name, err, a.raw)
	}
}

func wants(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: no %q in\n%s", what, p, text)
		}
	}
}

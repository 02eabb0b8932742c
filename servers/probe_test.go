package servers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

const wrongKey = "not-a-real-key-999"

// A probed is a service of a bundled server. AT stands in its options and environment
// for the address of the service, and KEY for its key.
type probed struct {
	server, service string
	options         map[string]any
	env             map[string]string
	double          *doubles.Double
	handler         http.Handler // where there is no double
}

// keyed answers with a body where a header has the key.
func keyed(header, prefix, path, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get(header) != prefix+doubles.Key:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("no such key: " + r.Header.Get(header)))
		case path != "" && r.URL.Path != path:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}
	})
}

func probes() []probed {
	web := doubles.NewWeb()
	web.Add(doubles.Page{URL: "https://example.com/", Title: "Example Domain", Text: []string{"This domain is for use in examples."}})
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	jina := env("JINA_BASE_URL", "AT", "JINA_API_KEY", "KEY")
	firecrawl := env("FIRECRAWL_BASE_URL", "AT", "FIRECRAWL_API_KEY", "KEY")
	openai := env("OPENAI_BASE_URL", "AT/v1", "OPENAI_API_KEY", "KEY")
	list := keyed("Authorization", "Bearer ", "/v1/models", `{"data":[]}`)
	return []probed{
		{server: "searching", service: "Serper", env: env("SERPER_BASE_URL", "AT", "SERPER_SCRAPE_BASE_URL", "AT", "SERPER_API_KEY", "KEY"), double: doubles.Serper(web)},
		{server: "searching", service: "Serper scraper", env: env("SERPER_BASE_URL", "AT", "SERPER_SCRAPE_BASE_URL", "AT", "SERPER_API_KEY", "KEY"), double: doubles.Serper(web)},
		{server: "searching", service: "Tavily", env: env("TAVILY_BASE_URL", "AT", "TAVILY_API_KEY", "KEY"), double: doubles.Tavily(web)},
		{server: "searching", service: "Tencent Cloud", env: env("TENCENTCLOUD_BASE_URL", "AT", "TENCENTCLOUD_SECRET_ID", doubles.TencentID, "TENCENTCLOUD_SECRET_KEY", "KEY"), double: doubles.TencentWSA(web)},
		{server: "searching", service: "Jina reader", env: jina, double: doubles.Jina(web)},
		{server: "searching", service: "model for extracts", env: env("SUMMARY_LLM_BASE_URL", "AT/v1", "SUMMARY_LLM_MODEL_NAME", "m", "SUMMARY_LLM_API_KEY", "KEY"), double: doubles.OpenAI()},
		{server: "reading", service: "Jina reader", env: jina, double: doubles.Jina(web)},
		{server: "reading", service: "Firecrawl", env: firecrawl, double: doubles.Firecrawl(web)},
		{server: "reading", service: "Serper scraper", env: env("SERPER_SCRAPE_BASE_URL", "AT", "SERPER_API_KEY", "KEY"), double: doubles.Serper(web)},
		{server: "websearch", service: "brave", options: map[string]any{"rate_file": "-"}, env: env("BRAVE_BASE_URL", "AT", "BRAVE_API_KEY", "KEY"), double: doubles.Brave(web)},
		{server: "websearch", service: "tavily", options: map[string]any{"rate_file": "-"}, env: env("TAVILY_BASE_URL", "AT", "TAVILY_API_KEY", "KEY"), double: doubles.Tavily(web)},
		{server: "websearch", service: "serper", options: map[string]any{"rate_file": "-"}, env: env("SERPER_BASE_URL", "AT", "SERPER_SCRAPE_BASE_URL", "AT", "SERPER_API_KEY", "KEY"), double: doubles.Serper(web)},
		{server: "vision", service: "OpenAI", env: openai, double: doubles.OpenAI()},
		{server: "vision", service: "Anthropic", env: env("ANTHROPIC_BASE_URL", "AT", "ANTHROPIC_API_KEY", "KEY"), double: doubles.Anthropic()},
		{server: "vision", service: "Gemini", env: env("GOOGLE_GEMINI_BASE_URL", "AT", "GEMINI_API_KEY", "KEY"), double: doubles.Gemini()},
		{server: "vision", service: "the vision endpoint", env: env("VISION_BASE_URL", "AT/v1/chat/completions", "VISION_MODEL_NAME", "m", "VISION_API_KEY", "KEY"), handler: list},
		{server: "audio", service: "OpenAI", env: openai, double: doubles.OpenAI()},
		{server: "audio", service: "the speech endpoint", env: env("WHISPER_BASE_URL", "AT/v1/audio/transcriptions", "WHISPER_API_KEY", "KEY"), handler: list},
		{server: "reasoning", service: "OpenAI", env: openai, double: doubles.OpenAI()},
		{server: "knowledge", service: "embeddings", options: map[string]any{"embeddings_url": "AT/v1"}, env: env("KNOWLEDGE_EMBEDDINGS_KEY", "KEY"), handler: keyed("Authorization", "Bearer ", "/v1/embeddings", `{"data":[]}`)},
		{server: "knowledge", service: "rerank", options: map[string]any{"rerank_url": "AT/v1"}, env: env("KNOWLEDGE_RERANK_KEY", "KEY"), handler: keyed("Authorization", "Bearer ", "/v1/rerank", `{"results":[]}`)},
		{server: "prometheus", service: "Prometheus", options: map[string]any{"url": "AT", "token": "KEY"}, handler: keyed("Authorization", "Bearer ", "/api/v1/status/buildinfo", `{"status":"success","data":{"version":"3.1.0"}}`)},
		{server: "prometheus", service: "Prometheus", options: map[string]any{"url": "AT", "token": "KEY"}, handler: keyed("Authorization", "Bearer ", "/api/v1/query", `{"status":"success","data":{"resultType":"vector","result":[]}}`)},
		{server: "kubernetes", service: "Kubernetes", options: map[string]any{"kubeconfig": "FILE"}, handler: keyed("Authorization", "Bearer ", "", `{"gitVersion":"v1.33.0"}`)},
	}
}

// ask returns the probe of a service at an address with a key.
func (p probed) ask(t *testing.T, at, key string) (tool.Probe, []tool.Probe) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"AT"}}],"users":[{"name":"u","user":{"token":"KEY"}}]}`
	fill := strings.NewReplacer("AT", at, "KEY", key, "FILE", filepath.ToSlash(file)).Replace
	if err := os.WriteFile(file, []byte(strings.NewReplacer("AT", at, "KEY", key).Replace(kubeconfig)), 0o600); err != nil {
		t.Fatal(err)
	}
	options := map[string]any{}
	for k, v := range p.options {
		options[k] = fill(v.(string))
	}
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NO_PROXY": "*"}
	for name, v := range p.env {
		switch v {
		case "KEY":
			env[name] = key
		default:
			env[name] = strings.Replace(v, "AT", at, 1)
		}
	}
	s, ok := servers.Find(p.server)
	if !ok || s.Probe == nil {
		t.Fatalf("%s has no probe", p.server)
	}
	all := s.Probe(t.Context(), raw, tool.Place{Getenv: func(name string) string { return env[name] }})
	for _, found := range all {
		if strings.Contains(found.Text, key) {
			t.Errorf("%+v tells the key", found)
		}
		if found.Service == p.service {
			return found, all
		}
	}
	return tool.Probe{}, all
}

// TestProbes asks each service that bundled servers know with the right key, with a wrong
// one, where nobody listens, and where all is out of order.
func TestProbes(t *testing.T) {
	for _, p := range probes() {
		t.Run(p.server+"/"+p.service, func(t *testing.T) {
			t.Parallel()
			h := p.handler
			if p.double != nil {
				h = p.double
			}
			at := doubles.Start(t, h)
			check := func(what string, got tool.Probe, want tool.ProbeState) {
				t.Helper()
				if got.State != want {
					t.Errorf("%s: %+v, want %s", what, got, want)
				}
			}
			got, _ := p.ask(t, at, doubles.Key)
			check("right key", got, tool.ProbeOK)
			got, _ = p.ask(t, at, wrongKey)
			check("wrong key", got, tool.ProbeWrongKey)
			gone := httptest.NewServer(http.NotFoundHandler())
			gone.Close()
			got, _ = p.ask(t, gone.URL, doubles.Key)
			check("nobody", got, tool.ProbeUnreachable)
			if p.double == nil {
				return
			}
			p.double.Fail(doubles.Fault{Status: 401})
			got, _ = p.ask(t, at, doubles.Key)
			if p.service != "Tencent Cloud" { // it refuses with the status 200 alone
				check("401", got, tool.ProbeWrongKey)
			}
			p.double.Heal()
			p.double.Fail(doubles.Fault{Status: 503})
			got, _ = p.ask(t, at, doubles.Key)
			if p.service != "Tencent Cloud" {
				check("503", got, tool.ProbeFailing)
			}
			p.double.Heal()
			p.double.Fail(doubles.Fault{Slow: time.Millisecond})
			got, _ = p.ask(t, at, doubles.Key)
			check("slow", got, tool.ProbeOK)
		})
	}
}

// TestProbeNothing asks nobody where nothing is set up, and says what would set it up.
func TestProbeNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"searching", "prometheus", "vision", "audio", "reasoning", "knowledge", "reading", "websearch", "kubernetes"} {
		_, all := probed{server: name, service: "?"}.ask(t, "", "?")
		for _, p := range all {
			if p.State != tool.ProbeNotConfigured || p.Bad() || !strings.Contains(p.Text, "set ") {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

// TestProbeEngine asks a container engine that is there, and one that is not.
func TestProbeEngine(t *testing.T) {
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/version") {
			_, _ = w.Write([]byte(`{"Version":"27.1.0","ApiVersion":"1.47","MinAPIVersion":"1.24"}`))
			return
		}
		_, _ = w.Write([]byte("OK"))
	})
	for _, p := range []probed{
		{server: "docker", service: "container engine", options: map[string]any{"host": "AT"}},
		{server: "python", service: "container engine", options: map[string]any{"backend": "docker", "docker_host": "AT"}},
	} {
		at := strings.Replace(doubles.Start(t, engine), "http://", "tcp://", 1)
		if got, all := p.ask(t, at, doubles.Key); got.State != tool.ProbeOK || !strings.Contains(got.Text, "27.1.0") {
			t.Errorf("%s: %+v", p.server, all)
		}
		gone := httptest.NewServer(engine)
		gone.Close()
		if got, all := p.ask(t, strings.Replace(gone.URL, "http://", "tcp://", 1), doubles.Key); got.State != tool.ProbeUnreachable {
			t.Errorf("%s: %+v", p.server, all)
		}
	}
}

// TestProbeWithoutList is an endpoint of one's own that has no list of models: that the
// key works is not seen, which is no finding.
func TestProbeWithoutList(t *testing.T) {
	at := doubles.Start(t, http.NotFoundHandler())
	p := probed{server: "audio", service: "the speech endpoint", env: map[string]string{"WHISPER_BASE_URL": "AT"}}
	if got, all := p.ask(t, at, doubles.Key); got.State != tool.ProbeUnknown || got.Bad() {
		t.Errorf("%+v", all)
	}
}

// TestProbeNobody is a cluster that takes the caller for nobody, and one that knows the
// caller and forbids what is asked for.
func TestProbeNobody(t *testing.T) {
	for user, want := range map[string]tool.ProbeState{"system:anonymous": tool.ProbeWrongKey, "ada": tool.ProbeOK} {
		at := doubles.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/version" {
				_, _ = w.Write([]byte(`{"gitVersion":"v1.33.0"}`))
				return
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","reason":"Forbidden","message":"User \"` + user + `\" cannot get path \"/api\""}`))
		}))
		p := probed{server: "kubernetes", service: "Kubernetes", options: map[string]any{"kubeconfig": "FILE"}}
		if got, all := p.ask(t, at, doubles.Key); got.State != want {
			t.Errorf("%s: %+v", user, all)
		}
	}
}

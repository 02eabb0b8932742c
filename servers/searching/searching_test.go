package searching_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/searching"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var today = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// world are the services, and a client of the server that uses them.
type world struct {
	t       *testing.T
	web     *doubles.Web
	serper  *doubles.Double
	jina    *doubles.Double
	tavily  *doubles.Double
	tencent *doubles.Double
	wiki    *doubles.Double
	wayback *doubles.Double
	openai  *doubles.Double
	env     map[string]string
	cs      *mcp.ClientSession
	schemas map[string]*jsonschema.Resolved
}

// open starts the services and the server. Change sets what differs from the usual: all
// keys set.
func open(t *testing.T, change func(env map[string]string, o *searching.Options)) *world {
	t.Helper()
	web := doubles.NewWeb()
	w := &world{
		t: t, web: web, serper: doubles.Serper(web), jina: doubles.Jina(web), tavily: doubles.Tavily(web), tencent: doubles.TencentWSA(web),
		wiki: doubles.MediaWiki(), openai: doubles.OpenAI(), wayback: doubles.Wayback(web), schemas: map[string]*jsonschema.Resolved{},
	}
	archive := doubles.Start(t, w.wayback)
	w.env = map[string]string{
		"SERPER_API_KEY": doubles.Key, "SERPER_BASE_URL": doubles.Start(t, w.serper), "JINA_API_KEY": doubles.Key, "JINA_BASE_URL": doubles.Start(t, w.jina),
		"TAVILY_API_KEY": doubles.Key, "TAVILY_BASE_URL": doubles.Start(t, w.tavily),
		"TENCENTCLOUD_SECRET_ID": doubles.TencentID, "TENCENTCLOUD_SECRET_KEY": doubles.Key, "TENCENTCLOUD_BASE_URL": doubles.Start(t, w.tencent),
		"SUMMARY_LLM_BASE_URL": doubles.Start(t, w.openai) + "/v1", "SUMMARY_LLM_MODEL_NAME": "some-model", "SUMMARY_LLM_API_KEY": doubles.Key,
		"WIKIPEDIA_BASE_URL": doubles.Start(t, w.wiki) + "/{language}/w/api.php", "ARCHIVE_BASE_URL": archive, "WAYBACK_BASE_URL": archive,
	}
	w.env["SERPER_SCRAPE_BASE_URL"] = w.env["SERPER_BASE_URL"]
	o := searching.Options{Proxy: "none"}
	if change != nil {
		change(w.env, &o)
	}
	srv, err := searching.NewFast(o, func(name string) string { return w.env[name] }, today)
	if err != nil {
		t.Fatal(err)
	}
	w.connect(srv)
	return w
}

func (w *world) connect(srv *mcp.Server) {
	w.t.Helper()
	w.t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	w.cs = testenv.Client(w.t, srv)
	list, err := w.cs.ListTools(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tl := range list.Tools {
		b, err := json.Marshal(tl.OutputSchema)
		if err != nil {
			w.t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(b, &s); err != nil {
			w.t.Fatal(err)
		}
		if w.schemas[tl.Name], err = s.Resolve(nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

type args = map[string]any

// call returns text and data of an answer, which must be as the tool's schema says.
func (w *world) call(tool string, a any) (string, map[string]any) {
	w.t.Helper()
	text, data, failed := w.try(w.t.Context(), tool, a)
	if failed {
		w.t.Fatalf("%s %v: %s", tool, a, text)
	}
	return text, data
}

// refuse returns the error of a call.
func (w *world) refuse(tool string, a any) string {
	w.t.Helper()
	text, _, failed := w.try(w.t.Context(), tool, a)
	if !failed {
		w.t.Fatalf("%s %v was not refused: %s", tool, a, text)
	}
	return text
}

func (w *world) try(ctx context.Context, tool string, a any) (text string, data map[string]any, failed bool) {
	w.t.Helper()
	res, err := w.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		w.t.Fatal(err)
	}
	text = res.Content[0].(*mcp.TextContent).Text
	if strings.Contains(text, doubles.Key) {
		w.t.Errorf("%s tells a key: %s", tool, text)
	}
	if most := searching.Meta()[tool].MaxResultChars; utf8.RuneCountInString(text) > most {
		w.t.Errorf("%s: %d characters, more than %d", tool, utf8.RuneCountInString(text), most)
	}
	if strings.ContainsAny(text, "\x00\x07\x1b\u202e\u200b") {
		w.t.Errorf("%s: characters that are not seen: %q", tool, text)
	}
	if res.IsError {
		return text, nil, true
	}
	data, _ = res.StructuredContent.(map[string]any)
	if err := w.schemas[tool].Validate(data); err != nil {
		w.t.Errorf("%s: the answer is not as its schema says: %v\n%v", tool, err, data)
	}
	return text, data, false
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q is in:\n%s", p, text)
		}
	}
}

func TestListedByKey(t *testing.T) {
	names := func(env map[string]string) string {
		srv, err := searching.NewIn(searching.Options{}, func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, schemas: map[string]*jsonschema.Resolved{}}
		w.connect(srv)
		list, err := w.cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, tl := range list.Tools {
			all = append(all, tl.Name)
		}
		return strings.Join(all, " ")
	}
	const always = "google_search scrape_website search_archived_webpage search_wiki_revision wiki_get_page_content"
	if got := names(nil); got != always {
		t.Errorf("without keys: %s", got)
	}
	got := names(map[string]string{"TAVILY_API_KEY": "x", "TENCENTCLOUD_SECRET_ID": "x", "TENCENTCLOUD_SECRET_KEY": "y", "SUMMARY_LLM_BASE_URL": "http://127.0.0.1:1/v1", "SUMMARY_LLM_MODEL_NAME": "m"})
	wants(t, got, "tavily_search", "sogou_search", "scrape_and_extract_info")
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    searching.Options
		want string
	}{
		{searching.Options{Allow: []string{"10.0.0.0/99"}}, "option allow"},
		{searching.Options{Blocked: []string{"a b"}}, "option blocked"},
		{searching.Options{Search: searching.Search{SerperBaseURL: "ftp://x"}}, "option serper_base_url"},
		{searching.Options{Search: searching.Search{SerperBaseURL: "http://169.254.169.254/"}}, "option serper_base_url"},
		{searching.Options{Search: searching.Search{TencentSecretID: "x"}}, "tencentcloud_secret_key"},
		{searching.Options{Search: searching.Search{TencentSecretID: "x", TencentSecretKey: "y", TencentBaseURL: "https://x.example/path"}}, "option tencentcloud_base_url"},
		{searching.Options{Sources: searching.Sources{WikipediaBaseURL: "file:///etc"}}, "option wikipedia_base_url"},
		{searching.Options{Sources: searching.Sources{ArchiveBaseURL: "x"}}, "option archive_base_url"},
		{searching.Options{Sources: searching.Sources{WaybackBaseURL: "x"}}, "option wayback_base_url"},
		{searching.Options{Readers: searching.Readers{JinaBaseURL: "x"}}, "jina"},
		{searching.Options{Summary: searching.Summary{SummaryBaseURL: "http://127.0.0.1:1/v1"}}, "option summary_llm_model_name"},
		{searching.Options{Summary: searching.Summary{SummaryBaseURL: "ftp://x", SummaryModel: "m"}}, "option summary_llm_base_url"},
		{searching.Options{Proxy: "nonsense"}, "option proxy"},
		{searching.Options{CAFile: "/nowhere"}, "option ca_file"},
		{searching.Options{TimeoutSec: 1}, "option timeout_sec"},
	} {
		if _, err := searching.NewIn(c.o, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

func TestHostileArguments(t *testing.T) {
	w := open(t, nil)
	long := strings.Repeat("a", 100<<10)
	huge := strings.Repeat("a", 10<<20)
	for tool, list := range map[string][]args{
		"google_search":           {{}, {"q": huge}, {"q": long}, {"q": " "}, {"q": "x", "gl": "--"}, {"q": "x", "num": 1000}, {"q": "x", "tbs": "a b"}, {"q": "x", "more": 1}, {"q": 1}, {"q": "x", "site": "a b"}, {"q": "x", "before": "soon"}, {"q": "x", "filetype": "p;f"}},
		"tavily_search":           {{}, {"query": ""}, {"query": "x", "topic": "gossip"}, {"query": long}, {"query": "x", "include_domains": make([]string, 60)}},
		"sogou_search":            {{}, {"q": " "}, {"q": "x", "num": 11}, {"q": long}},
		"wiki_get_page_content":   {{}, {"entity": ""}, {"entity": "x", "language": "../../etc"}, {"entity": "x", "language": "en.evil.example/"}, {"entity": "https://evil.example/wiki/X"}, {"entity": long}, {"entity": "x", "first_sentences": -1}},
		"search_wiki_revision":    {{"entity": "x"}, {"entity": "", "year": 2020, "month": 1}, {"entity": "x", "year": 2020, "month": 1, "max_revisions": 501}},
		"search_archived_webpage": {{"url": "x"}, {"url": "", "year": 0, "month": 0, "day": 0}, {"url": "file:///etc/passwd", "year": 0, "month": 0, "day": 0}, {"url": "https://a:b@x.example/", "year": 0, "month": 0, "day": 0}, {"url": "https://huggingface.co/datasets/x", "year": 0, "month": 0, "day": 0}, {"url": "ex ample", "year": 0, "month": 0, "day": 0}},
		"scrape_and_extract_info": {{}, {"url": "x"}, {"url": "x", "info_to_extract": long}, {"url": "x", "info_to_extract": "y", "custom_headers": "z"}},
		"scrape_website":          {{}, {"url": ""}, {"url": "file:///etc/passwd"}, {"url": "http://127.0.0.1/"}, {"url": "http://169.254.169.254/latest"}, {"url": "http://[::1]/"}, {"url": long}, {"url": "https://huggingface.co/datasets/x/y"}, {"url": "gopher://x.example"}},
	} {
		for _, a := range list {
			if text := w.refuse(tool, a); len(text) > 5000 || text == "" {
				t.Errorf("%s: an error of %d bytes", tool, len(text))
			}
		}
	}
	for _, d := range []*doubles.Double{w.serper, w.tavily, w.tencent, w.wayback, w.jina, w.openai} {
		if n := len(d.Calls()); n != 0 {
			t.Errorf("%s was asked %d times", d.Name, n)
		}
	}
}

func TestDeadlineAndCancel(t *testing.T) {
	w := open(t, nil)
	for _, d := range []*doubles.Double{w.serper, w.tavily, w.tencent, w.wayback, w.wiki, w.jina} {
		d.Fail(doubles.Fault{Slow: time.Minute})
	}
	for tool, a := range map[string]args{
		"google_search": {"q": "x"}, "tavily_search": {"query": "x"}, "sogou_search": {"q": "x"}, "wiki_get_page_content": {"entity": "x"},
		"search_archived_webpage": {"url": "x.example", "year": 0, "month": 0, "day": 0}, "search_wiki_revision": {"entity": "x", "year": 2020, "month": 1},
		"scrape_website": {"url": "http://harbour.example/lighthouse"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		began := time.Now()
		_, err := w.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
		cancel()
		if err == nil || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %v after %s", tool, err, time.Since(began))
		}
	}
}

func TestMetaIsThatOfTheTable(t *testing.T) {
	for name, m := range searching.Meta() {
		if !m.ReadOnly || !m.ConcurrencySafe || m.Destructive || m.SideEffect != "network" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for name, want := range map[string]string{"google_search": "medium 16000", "wiki_get_page_content": "low 16000", "scrape_website": "medium 100000"} {
		m := searching.Meta()[name]
		if got := fmt.Sprintf("%s %d", m.RiskLevel, m.MaxResultChars); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/tool"
)

func compiled(t *testing.T, list ...rules.Rule) *rules.Rules {
	t.Helper()
	r, err := rules.New(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAddresses: what a pattern forbids, and what it does not.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		pattern        string
		sensitive      bool
		forbidden, not []string
	}{
		{"example.com", false, []string{"https://example.com", "example.com/a/b", "curl example.com:8080"}, []string{"https://www.example.com", "https://example.com.org"}},
		{"https://Example.com/", false, []string{"https://example.com", "ftp://example.com/a"}, []string{"https://example.org"}},
		{"*.example.com", false, []string{"https://example.com", "https://a.b.example.com/"}, []string{"https://badexample.com"}},
		{"example.com/answers", false, []string{"https://example.com/Answers", "https://example.com/answers/1"}, []string{"https://example.com", "https://example.com/answers-2", "https://example.com/x/answers"}},
		{"example.com/answers", true, []string{"https://EXAMPLE.com/answers"}, []string{"https://example.com/Answers"}},
		{"example.com/*/answers/**", false, []string{"https://example.com/a/answers", "https://example.com/a/answers/1"}, []string{"https://example.com/answers", "https://example.com/a/b/answers"}},
		{"example.com/exam-*-key", false, []string{"https://example.com/exam-2024-key/x"}, []string{"https://example.com/exam-2024"}},
		{"s3://bucket/private", false, []string{"s3://bucket/private/a", "aws s3 cp s3://bucket/private/a ."}, []string{"s3://bucket/public", "https://bucket/private", "bucket/private"}},
		{"bücher.example", false, []string{"https://bücher.example/", "https://xn--bcher-kva.example", "https://BÜCHER.example"}, []string{"https://bucher.example"}},
		{"xn--bcher-kva.example", false, []string{"https://bücher.example/"}, []string{"https://bucher.example"}},
		{"intranet/wiki", false, []string{"http://intranet/wiki/a"}, []string{"http://intranet/", "http://my-intranet/wiki"}},
		{"10.0.0.1", false, []string{"http://10.0.0.1:80/"}, []string{"http://10.0.0.10/", "http://110.0.0.1/"}},
		{"a_b.example.com", false, []string{"http://a_b.example.com"}, nil},
	} {
		r := compiled(t, rules.Rule{Name: "r", Addresses: []string{c.pattern}, CaseSensitive: c.sensitive})
		for i, list := range [][]string{c.forbidden, c.not} {
			for _, address := range list {
				if text := r.Refuse(scrape, arguments(address)); (text != "") != (i == 0) {
					t.Errorf("%s, %s: %q", c.pattern, address, text)
				}
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                             "names no host",
		"/datasets":                    "names no host",
		"*.":                           "names no host",
		"https://":                     "names no host",
		"a.example/x?y=1":              "a query",
		"a.example/x y":                "a space",
		"a.example/%64":                "an escape",
		"a.example:80/x":               "a port",
		"[::1]/x":                      "a port",
		"u@a.example":                  "a user",
		"a.*.example":                  "within its host",
		"a.example/**/x":               "before its end",
		"a.example/../x":               "dots",
		"?://a.example":                "scheme",
		"a.ex,ample":                   "names no host",
		"a" + strings.Repeat("/x", 20): "16 segments",
		"a.example/" + "\u3000":        "a space",
		"://a.example":                 "scheme",
		"a.example/x#y":                "a query",
		`a.example\x`:                  "a backslash",
		"a.example/\x00":               "a space",
	} {
		if err := rules.CheckAddress(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", pattern, err, want)
		}
	}
	_, err := rules.New([]rules.Rule{{Name: "a"}, {Name: "a", Addresses: []string{"x:1"}}})
	for _, want := range []string{`rule "a" is there twice`, `rule "a" forbids no address`, `"x:1" names a port`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWithoutRules(t *testing.T) {
	r := compiled(t)
	answer := tool.OneOf([]byte(`{}`))
	got, note, refusal := r.Clean(search, answer)
	if r != nil || r.Refuse(scrape, arguments(forbidden[0])) != "" || r.Refusal(scrape.ID, forbidden[0]) != "" || len(got) != 1 || note+refusal != "" {
		t.Error("no rule forbids something")
	}
}

// TestWhichTools: the built-in rule is for every tool that fetches.
func TestWhichTools(t *testing.T) {
	r := builtIn(t)
	schema := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, c := range []struct {
		tool tool.Tool
		want bool
	}{
		{tool.Tool{ID: tool.ID{Name: "scrape_website"}}, true},
		{tool.Tool{ID: tool.ID{Name: "scrape_and_extract_info"}}, true},
		{tool.Tool{ID: tool.ID{Name: "read_file"}}, true},
		{tool.Tool{ID: tool.ID{Name: "convert_to_markdown"}}, true},
		{tool.Tool{ID: tool.ID{Name: "http_check"}}, true},
		{tool.Tool{ID: tool.ID{Name: "browser_navigate"}}, true},
		{tool.Tool{ID: tool.ID{Name: "download_file_from_internet_to_sandbox"}}, true},
		{tool.Tool{ID: tool.ID{Name: "run_python_code"}}, true},
		{tool.Tool{ID: tool.ID{Name: "run_command"}}, true},
		{tool.Tool{ID: tool.ID{Name: "webFetch"}}, true},
		{tool.Tool{ID: tool.ID{Name: "google_search"}}, true},
		{tool.Tool{ID: tool.ID{Name: "look"}, Schema: schema(`{"properties":{"page_url":{"type":"string"}}}`)}, true},
		{tool.Tool{ID: tool.ID{Name: "look"}, Schema: schema(`{"properties":{"a":{"items":{"properties":{"URI":{}}}}}}`)}, true},
		{tool.Tool{ID: tool.ID{Name: "look"}, Schema: schema(`{"properties":{"at":{"type":"string","format":"uri"}}}`)}, true},
		{tool.Tool{ID: tool.ID{Name: "look"}, Schema: schema(`{"properties":{"path":{"type":"string"}}}`)}, false},
		{tool.Tool{ID: tool.ID{Name: "look"}, Schema: schema(`{"$id":"https://a.example/url"`)}, false},
		{tool.Tool{ID: tool.ID{Name: "look"}}, false},
		{tool.Tool{ID: tool.ID{Name: "send_message"}}, false},
		{tool.Tool{ID: tool.ID{Name: "create_pull_request"}}, false},
		{tool.Tool{ID: tool.ID{Name: "dns_lookup"}}, false},
	} {
		c.tool.Server = "s"
		if got := r.Refuse(&c.tool, arguments(forbidden[0])) != ""; got != c.want {
			t.Errorf("%s %s: %t, want %t", c.tool.Name, c.tool.Schema, got, c.want)
		}
	}
}

// TestDeclaredTools: a rule that names tools is for those alone, and each rule for
// its own.
func TestDeclaredTools(t *testing.T) {
	r := compiled(
		t,
		rules.Rule{Name: "one", Addresses: []string{"one.example"}, Tools: []tool.ID{{Server: "web", Name: "get_*"}}, SearchTools: []tool.ID{{Server: "web", Name: "find"}}, Refusal: "Ask Ann."},
		rules.Rule{Name: "two", Addresses: []string{"two.example"}, Tools: []tool.ID{}},
	)
	call := func(server, name, address string) string {
		return r.Refuse(&tool.Tool{ID: tool.ID{Server: server, Name: name}}, arguments(address))
	}
	if got, want := call("web", "get_page", "http://one.example/a"), `Rule "one" of the operator forbids to reach one.example/a. Ask Ann.`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, c := range [][3]string{{"web", "get_page", "two.example"}, {"web", "scrape", "one.example"}, {"other", "get_page", "one.example"}} {
		if got := call(c[0], c[1], c[2]); got != "" {
			t.Errorf("%v: %s", c, got)
		}
	}
	in := tool.OneOf([]byte(`{"structuredContent":["https://one.example","https://two.example"]}`))
	find := &tool.Tool{ID: tool.ID{Server: "web", Name: "find"}}
	if got, _, _ := r.Clean(find, in); string(got.Join()) != `{"structuredContent":["https://two.example"]}` {
		t.Errorf("%s", got.Join())
	}
	if got, note, _ := r.Clean(search, in); string(got.Join()) != `{"structuredContent":["https://one.example"]}` || !strings.Contains(note, `"two"`) {
		t.Errorf("%s: %s", note, got.Join())
	}
	if r.Refusal(find.ID, "two.example") != "" || r.Refusal(tool.ID{Server: "web", Name: "get_x"}, "one.example") == "" {
		t.Error("a redirect is judged by other rules than the call")
	}
}

// TestSearchWords: only an address as a whole is meant to be reached by a search.
func TestSearchWords(t *testing.T) {
	r := builtIn(t)
	for words, want := range map[string]bool{
		"site:huggingface.co/datasets squad":      false,
		"site:huggingface.co/datasets":            false,
		"what is on huggingface.co/datasets?":     false,
		`["https://huggingface.co/datasets"]`:     false,
		"https://huggingface.co/datasets/x":       true,
		"huggingface.co/datasets/x":               true,
		"https%3A%2F%2Fhuggingface.co%2Fdatasets": true,
		"r.jina.ai/huggingface.co/datasets":       true,
	} {
		if got := r.Refuse(search, arguments(words)) != ""; got != want {
			t.Errorf("%q: %t, want %t", words, got, want)
		}
	}
}

// TestNested: an address is found wherever it lies in the arguments.
func TestNested(t *testing.T) {
	r := builtIn(t)
	for _, raw := range []string{
		`{"a":[[{"b":{"c":"https://huggingface.co/datasets/x"}}]]}`,
		`{"https://huggingface.co/datasets/x":1}`,
		`{"a":"https:\/\/huggingface.co\/datasets\/x"}`,
		`{"a":"\u0068uggingface.co/datasets/x"}`,
		`{"a":"\ud835\udc21uggingface.co/datasets/x"}`,
		`{"a":"{\"url\":\"https://huggingface.co/datasets/x\"}"}`,
		`{"a":"{\"url\":\"\\u0068uggingface.co/datasets/x\"}"}`,
		`{"name":"scrape","arguments":{"u":"hf.co/datasets"},"_meta":{}}`,
		`{"a":"\"","b":"hf.co/datasets"}`,
		`{"a":"hf.co/datasets`,
		`"hf.co/datasets"`,
		`{"a":"hf.co/datasets\`,
	} {
		if r.Refuse(scrape, []byte(raw)) == "" {
			t.Errorf("%s is let through", raw)
		}
	}
	for _, raw := range []string{``, `{`, `null`, `{"a":1}`, `{"huggingface.co":"/datasets"}`, `{"a":"\"}`} {
		if text := r.Refuse(scrape, []byte(raw)); text != "" {
			t.Errorf("%s: %s", raw, text)
		}
	}
}

// TestLargeTextsAreBounded: a text that is made to cost time does not.
func TestLargeTextsAreBounded(t *testing.T) {
	r := builtIn(t)
	const n = 1 << 19
	for name, part := range map[string]string{
		"hosts in hosts": "huggingface.co/", "escapes of escapes": "%25", "hosts": "huggingface.co.", "one script": "请访问。",
		"users": "huggingface.co@", "dots": "huggingface.co/../", "invisible": "\u200b", "ports": "huggingface.co:1", "quotes": `hf.co/"`,
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(part, n/len(part))
			r.Refuse(scrape, arguments(text))
			r.Refusal(scrape.ID, text)
			r.Clean(search, tool.OneOf([]byte(said(text+" hf.co/datasets"))))
		})
	}
}

// TestConcurrentUse: what is remembered of tools is shared, and follows the list.
func TestConcurrentUse(t *testing.T) {
	r := builtIn(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("scrape_%d", j%10)
				if (i+j)%2 == 0 {
					name = fmt.Sprintf("other_%d", j%10)
				}
				got := r.Refuse(&tool.Tool{ID: tool.ID{Server: "s", Name: name}}, arguments(forbidden[0])) != ""
				if got != strings.HasPrefix(name, "scrape") {
					t.Errorf("%s: %t", name, got)
				}
			}
		})
	}
	wg.Wait()
	relisted := &tool.Tool{ID: tool.ID{Server: "s", Name: "other_1"}, Schema: json.RawMessage(`{"properties":{"url":{}}}`)}
	if r.Refuse(relisted, arguments(forbidden[0])) == "" {
		t.Error("a tool that changed is judged by what it was")
	}
}

func BenchmarkRefuse(b *testing.B) {
	r := builtIn(b)
	for name, args := range map[string][]byte{
		"url":  arguments("https://example.com/some/page.html?with=query"),
		"code": arguments(strings.Repeat("import json\nprint(json.dumps({'a': 1.5}))\n", 100)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(args)))
			b.ReportAllocs()
			for b.Loop() {
				r.Refuse(scrape, args)
			}
		})
	}
	other := &tool.Tool{ID: tool.ID{Server: "s", Name: "other"}}
	b.Run("no rule", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Refuse(other, nil)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	r := builtIn(b)
	page := tool.OneOf([]byte(said(strings.Repeat("A page. See https://example.com/a-b.html for more of it.\n", 20_000))))
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r.Clean(search, page)
	}
}

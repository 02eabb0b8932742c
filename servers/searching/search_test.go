package searching_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/searching"
)

// asked returns the queries that a double was asked, decoded.
func asked(t *testing.T, d *doubles.Double) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, c := range d.Calls() {
		var v map[string]any
		if !c.JSON(&v) {
			t.Fatalf("no JSON: %s", c.Body)
		}
		list = append(list, v)
	}
	return list
}

func TestGoogle(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("google_search", args{"q": "lighthouse", "location": "Lund", "tbs": "qdr:y"})
	if !json.Valid([]byte(text)) || !strings.Contains(text, "\n  \"organic\": [") {
		t.Errorf("no indented JSON: %s", text)
	}
	wants(t, text, "http://harbour.example/lighthouse", "knowledgeGraph", "answerBox", "peopleAlsoAsk", `"snippet"`, "http://news.example/café-opening?ref=front%20page")
	lacks(t, text, "huggingface.co")
	wants(t, fmt.Sprint(data["notes"]), "blocked addresses: 1")
	want := map[string]any{"q": "lighthouse", "gl": "us", "hl": "en", "num": 10.0, "page": 1.0, "autocorrect": false, "location": "Lund", "tbs": "qdr:y"}
	if diff := cmp.Diff(want, asked(t, w.serper)[0]); diff != "" {
		t.Error(diff)
	}
}

func TestGoogleFilters(t *testing.T) {
	for _, yes := range []string{"true", "1", "YES", "no"} {
		w := open(t, func(env map[string]string, _ *searching.Options) {
			env["REMOVE_SNIPPETS"], env["REMOVE_KNOWLEDGE_GRAPH"], env["REMOVE_ANSWER_BOX"] = yes, yes, yes
		})
		_, data := w.call("google_search", args{"q": "ferries"})
		_, graph := data["knowledgeGraph"]
		_, box := data["answerBox"]
		_, snippet := data["organic"].([]any)[0].(map[string]any)["snippet"]
		_, also := data["peopleAlsoAsk"].([]any)[0].(map[string]any)["snippet"]
		if left := yes == "no"; graph != left || box != left || snippet != left || also != left {
			t.Errorf("%s: %v %v %v %v", yes, graph, box, snippet, also)
		}
	}
	w := open(t, func(_ map[string]string, o *searching.Options) { o.RemoveAnswerBox = true; o.Blocked = []string{"-"} })
	text, _ := w.call("google_search", args{"q": "lighthouse"})
	lacks(t, text, "answerBox")
	wants(t, text, "huggingface.co/datasets")
}

func TestGoogleOperators(t *testing.T) {
	all := searching.Operators{
		Site: "docs.example", Filetype: ".pdf", InURL: "redis", InTitle: "two words", Related: "x.example", Cache: "y.example", Before: "2025-01-31", After: "2020",
		Exact: `full "match" here`, Exclude: "a, b c ,-d,", Or: "x,y z",
	}
	got, err := searching.Query(all, "  memory \n limit ")
	want := `memory limit site:docs.example filetype:pdf inurl:redis intitle:"two words" related:x.example cache:y.example before:2025-01-31 after:2020 "full match here" -a -"b c" -d (x OR "y z")`
	if err != nil || got != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, err)
	}
	w := open(t, nil)
	text, _ := w.call("google_search", args{"q": "redis", "site": "docs.example", "exclude": "tides"})
	wants(t, text, "docs.example/redis/memory")
	if q := asked(t, w.serper)[0]["q"]; q != "redis site:docs.example -tides" {
		t.Errorf("asked %v", q)
	}
}

func TestGoogleWithoutQuotes(t *testing.T) {
	w := open(t, nil)
	w.serper.Fail(doubles.Fault{Empty: true, Times: 1})
	text, data := w.call("google_search", args{"q": `"ferries" Skarn`})
	wants(t, text, "http://harbour.example/ferries")
	wants(t, fmt.Sprint(data["notes"]), "without")
	if q := asked(t, w.serper); len(q) != 2 || q[1]["q"] != "ferries Skarn" {
		t.Errorf("asked %v", q)
	}
	w.serper.Fail(doubles.Fault{Empty: true})
	if _, data = w.call("google_search", args{"q": `"ferries" Skarn`}); len(data["organic"].([]any)) != 0 || len(w.serper.Calls()) != 4 || !strings.Contains(fmt.Sprint(data["notes"]), "fewer or more common words") {
		t.Errorf("%v after %d calls", data, len(w.serper.Calls()))
	}
	if w.call("google_search", args{"q": "ferries"}); len(w.serper.Calls()) != 5 {
		t.Error("without quotes there is no second search")
	}
}

func TestSearchFailures(t *testing.T) {
	w := open(t, nil)
	google := func() (string, map[string]any, bool) {
		return w.try(t.Context(), "google_search", args{"q": "ferries"})
	}
	tavily := func() (string, map[string]any, bool) {
		return w.try(t.Context(), "tavily_search", args{"query": "ferries"})
	}
	for _, c := range []struct {
		fault doubles.Fault
		calls int
		want  string // "" is an answer
	}{
		{doubles.Fault{Status: 429, RetryAfter: "0", Times: 2}, 3, ""},
		{doubles.Fault{Status: 500, Times: 4}, 5, ""},
		{doubles.Fault{BadJSON: true, Times: 2}, 3, ""},
		{doubles.Fault{Truncated: true, Times: 1}, 0, ""},
		{doubles.Fault{Status: 503}, 5, "503"},
		{doubles.Fault{BadJSON: true}, 5, "no"},
		{doubles.Fault{Status: 429, RetryAfter: "3600"}, 1, "too often"},
		{doubles.Fault{Status: 401}, 1, "does not take the key"},
		{doubles.Fault{Status: 402}, 1, "nothing left"},
		{doubles.Fault{Status: 400}, 1, "change the arguments"},
	} {
		for d, call := range map[*doubles.Double]func() (string, map[string]any, bool){w.serper: google, w.tavily: tavily} {
			before := len(d.Calls())
			d.Fail(c.fault)
			text, _, failed := call()
			d.Heal()
			if failed != (c.want != "") || !strings.Contains(text, c.want) {
				t.Errorf("%s %+v: %v %s", d.Name, c.fault, failed, text)
			}
			if n := len(d.Calls()) - before; c.calls != 0 && n != c.calls {
				t.Errorf("%s %+v: %d calls, want %d", d.Name, c.fault, n, c.calls)
			}
		}
	}
}

func TestKeyIsMissing(t *testing.T) {
	w := open(t, func(env map[string]string, _ *searching.Options) { delete(env, "SERPER_API_KEY") })
	wants(t, w.refuse("google_search", args{"q": "x"}), "SERPER_API_KEY is not set", "serper_api_key", "env of the server searching")
}

// TestHostileAnswers gives what a service could be made to say.
func TestHostileAnswers(t *testing.T) {
	var body string
	fake := doubles.Start(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(rw, body)
	}))
	w := open(t, func(env map[string]string, _ *searching.Options) { env["SERPER_BASE_URL"] = fake })
	hit := func(n int) string {
		return fmt.Sprintf(`{"title":"T%d","link":"https://x.example/%d","snippet":%q}`, n, n, strings.Repeat("word ", 60))
	}
	var many []string
	for n := range 100 {
		many = append(many, hit(n))
	}
	for _, c := range []struct {
		name, body string
		want       []string
		lacks      []string
		fails      bool
	}{
		{"control characters", `{"organic":[{"title":"a\u0000\u001b[31m\u202eb\u200b","link":"https://x.example/%1B%41%E2%80%AE"}]}`, []string{"a[31mb", "https://x.example/%1BA%E2%80%AE"}, nil, false},
		{
			"blocked in depth", `{"organic":[{"title":"a","link":"https://x.example/","sitelinks":[{"title":"s","link":"https://HuggingFace.co/Datasets/z"},{"title":"t","link":"https://y.example/"}]},
			{"title":"b","link":"https://www.hf.co/spaces/q"},{"title":"c","link":"https://web.archive.org/web/2020/https://huggingface.co/datasets/z"},{"title":"d","link":"https://huggingface.co/gpt2"},{"title":"e","link":"https://unifuncs.com/x"},
			{"title":"f","link":"https://hugging\u200bface.co/%64atasets/z"},[{"link":"https://hf.co/datasets/z"}],"https://hf.co/datasets/z"],"top":"https://hf.co/datasets/z",
			"answerBox":{"answer":"x","link":"https://huggingface.co/datasets/z"},"knowledgeGraph":{"website":"https://huggingface.co/spaces/z"}}`,
			[]string{"y.example", "huggingface.co/gpt2"},
			[]string{"/z", "/q", "unifuncs", "answerBox", "knowledgeGraph"},
			false,
		},
		{"too long", `{"searchParameters":{"q":"x"},"organic":[` + strings.Join(many, ",") + `],"relatedSearches":[{"query":"r"}]}`, []string{"T0", "only the first", "left out for the length of the answer: relatedSearches"}, []string{"T99"}, false},
		{"one long thing", `{"organic":[],"answerBox":{"answer":"` + strings.Repeat("x", 40_000) + `"}}`, []string{"left out for the length of the answer: answerBox"}, nil, false},
		{"no results", `{}`, []string{`"organic": []`}, nil, false},
		{"another form", `{"organic":{"title":"x"}}`, nil, nil, false},
		{"a list", `[]`, nil, nil, true},
		{"nothing", ``, nil, nil, true},
		{"deep", strings.Repeat(`{"organic":[`, 5000), nil, nil, true},
		{"two", `{"organic":[]} {"organic":[]}`, nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			body = c.body
			text, data, failed := w.try(t.Context(), "google_search", args{"q": "x"})
			if failed != c.fails {
				t.Fatalf("failed %v: %s", failed, text)
			}
			wants(t, text, c.want...)
			lacks(t, text, c.lacks...)
			if !failed && data["organic"] == nil {
				t.Errorf("%v", data)
			}
		})
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"https://x.example/%E4%BD%A0%e5%a5%bd/%41%7E":      "https://x.example/你好/A~",
		"https://x.example/%2F%3F%23%26%3D%20%2B%25%2f%3f": "https://x.example/%2F%3F%23%26%3D%20%2B%25%2f%3f",
		"100% and 5%% and %zz and %E4%BD and %4":           "100% and 5%% and %zz and %E4%BD and %4",
		"%00%0A%1b%7F%C2%85%E2%80%AE%EF%BB%BF%F3%A0%81%81": "%00%0A%1b%7F%C2%85%E2%80%AE%EF%BB%BF%F3%A0%81%81",
		"%22%3C%3E%5C%60": "%22%3C%3E%5C%60",
		"%C3%A9":          "é",
		"":                "",
	} {
		if got := searching.Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzUnescape: an address never grows, and what ends a part of it stays escaped.
func FuzzUnescape(f *testing.F) {
	f.Add("a%41%E4%BD%A0%2F%")
	f.Add("%%2525%E2%80")
	f.Fuzz(func(t *testing.T, s string) {
		got := searching.Unescape(s)
		if len(got) > len(s) || strings.Count(got, "/") != strings.Count(s, "/") || strings.Count(got, " ") != strings.Count(s, " ") || strings.Count(got, "?") != strings.Count(s, "?") {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// FuzzResults: whatever a service says becomes a bounded answer in JSON, without
// secrets, or none.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"organic":[{"title":"a","link":"https://huggingface.co/datasets/x","snippet":"b"}],"knowledgeGraph":{"a-secret":1}}`))
	f.Add([]byte(`{"organic":{"a":[null,true,1e400,"\u0000"]},"answerBox":[],"organic":[[]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, data, ok := searching.Results(body)
		if !ok {
			return
		}
		if n := len([]rune(text)); n > 16_000 {
			t.Errorf("%d characters", n)
		}
		b, err := json.Marshal(data)
		if err != nil || !json.Valid(b) || !strings.Contains(string(b), `"organic":[`) {
			t.Errorf("%v: %s", err, b)
		}
		if strings.Contains(text, `: "https://huggingface.co/datasets/x"`) && !strings.Contains(text, "searchParameters") {
			t.Errorf("a blocked link is left: %s", text)
		}
	})
}

func TestTavily(t *testing.T) {
	w := open(t, nil)
	text, _ := w.call("tavily_search", args{"query": "lighthouse", "time_range": "year", "exclude_domains": []string{"news.example"}})
	wants(t, text, "http://harbour.example/lighthouse", `"score"`)
	lacks(t, text, "huggingface", "request_id")
	in := asked(t, w.tavily)[0]
	if in["search_depth"] != "advanced" || in["topic"] != "general" || in["max_results"] != 10.0 || in["time_range"] != "year" {
		t.Errorf("asked %v", in)
	}
	if got := w.tavily.Calls()[0].Bearer(); got != doubles.Key {
		t.Errorf("bearer %q", got)
	}
}

func TestSogou(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("sogou_search", args{"q": `the "lighthouse" \ of {Port} 'Aldern' 灯塔`, "num": 20})
	wants(t, text, "http://harbour.example/lighthouse", "passage")
	lacks(t, text, "RequestId", "huggingface")
	if len(data["Pages"].([]any)) == 0 {
		t.Errorf("%v", data)
	}
	if q := asked(t, w.tencent)[0]["Query"]; q != `the "lighthouse" \ of {Port} 'Aldern' 灯塔` {
		t.Errorf("asked %v", q)
	}
	for _, c := range []struct {
		fault doubles.Fault
		calls int
		want  string
	}{
		{doubles.Fault{Code: "RequestLimitExceeded", Status: 200, Times: 2}, 3, ""},
		{doubles.Fault{Code: "RequestLimitExceeded", Status: 200}, 3, "RequestLimitExceeded"},
		{doubles.Fault{Code: "AuthFailure.SignatureFailure", Status: 200}, 1, "TENCENTCLOUD_SECRET_KEY"},
		{doubles.Fault{Status: 502, Times: 1}, 2, ""},
		{doubles.Fault{BadJSON: true}, 1, "unknown form"},
	} {
		before := len(w.tencent.Calls())
		w.tencent.Fail(c.fault)
		text, _, failed := w.try(t.Context(), "sogou_search", args{"q": "ferries"})
		w.tencent.Heal()
		if n := len(w.tencent.Calls()) - before; failed != (c.want != "") || !strings.Contains(text, c.want) || n != c.calls {
			t.Errorf("%+v: %d calls, %v %s", c.fault, n, failed, text)
		}
	}
}

func TestWrongTencentKey(t *testing.T) {
	w := open(t, func(env map[string]string, _ *searching.Options) { env["TENCENTCLOUD_SECRET_KEY"] = "another-fake-key" })
	wants(t, w.refuse("sogou_search", args{"q": "x"}), "AuthFailure.SignatureFailure")
}

package rules_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/tool"
)

var search = &tool.Tool{ID: tool.ID{Server: "web", Name: "google_search"}}

// said returns an answer with one text.
func said(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string is no JSON only in a broken program
	}
	return `{"content":[{"type":"text","text":` + strings.TrimSpace(b.String()) + `}]}`
}

func TestLinksAreTakenOut(t *testing.T) {
	const link = "https://huggingface.co/datasets/x"
	r := builtIn(t)
	for _, c := range []struct {
		name, in, want string
		links          int
	}{
		{
			"items of a list, and all other bytes stay",
			`{"_meta":{"a": "` + link + `"},"structuredContent":{ "organic" : [ {"link":"` + link + `","title":"a"} , {"title":"\u0062", "link":"https://huggingface.co/docs"},{"link":"` + link + `"}],"n":9007199254740993 },"content":[]}`,
			`{"_meta":{"a": "` + link + `"},"structuredContent":{ "organic" : [ {"title":"\u0062", "link":"https://huggingface.co/docs"}],"n":9007199254740993 },"content":[]}`, 2,
		},
		{"all items", `{"structuredContent":{"r":[ "` + link + `" , {"a":{"url":"` + link + `"}} ]}}`, `{"structuredContent":{"r":[  ]}}`, 2},
		{"an item in the middle", `{"structuredContent":[1,"` + link + `", 2]}`, `{"structuredContent":[1,2]}`, 1},
		{"the last items", `{"structuredContent":[1 , "` + link + `" ,"` + link + `"]}`, `{"structuredContent":[1]}`, 2},
		{"a list in an item", `{"structuredContent":[{"link":"https://a.example","more":[{"link":"` + link + `"}]}]}`, `{"structuredContent":[{"link":"https://a.example","more":[]}]}`, 1},
		{"within a dropped item all counts once", `{"structuredContent":[{"link":"` + link + `","text":"see ` + link + ` or","more":["` + link + `"]},1]}`, `{"structuredContent":[1]}`, 1},
		{"outside of a list", `{"structuredContent":{"best":{"url":"` + link + `"}}}`, `{"structuredContent":{"best":{"url":"[removed by rule huggingface]"}}}`, 1},
		{"a snippet", `{"structuredContent":[{"link":"https://a.example","snippet":"see ` + link + `, or docs"}]}`, `{"structuredContent":[{"link":"https://a.example","snippet":"see [removed by rule huggingface], or docs"}]}`, 1},
		{"redirects of the engine", `{"structuredContent":[{"link":"https://duckduckgo.com/l/?uddg=https%3A%2F%2Fhuggingface.co%2Fdatasets%2Fx&rut=1"}]}`, `{"structuredContent":[]}`, 1},
		{"JSON in a text", said(`{"organic":[{"link":"` + link + `"},{"link":"https://a.example/?a=1&b=2"}]}`), said(`{"organic":[{"link":"https://a.example/?a=1&b=2"}]}`), 1},
		{"JSON in JSON in a text", said(`["a","[\"` + link + `\"]"]`), said(`["a","[]"]`), 1},
		{"prose", said("1. Data\n   URL: " + link + "\n2. Docs\n   URL: https://huggingface.co/docs\n"), said("1. Data\n   URL: [removed by rule huggingface]\n2. Docs\n   URL: https://huggingface.co/docs\n"), 1},
		{"Markdown", said("[a](" + link + "), <" + link + "> and huggingface.co/datasets."), said("[a]([removed by rule huggingface]), <[removed by rule huggingface]> and [removed by rule huggingface]."), 3},
		{"upper case", said("HTTPS://HUGGINGFACE.CO/DATASETS/X"), said("[removed by rule huggingface]"), 1},
		{"a text that is no JSON after all", said(`[1] ` + link), said(`[1] [removed by rule huggingface]`), 1},
		{"linked resources", `{"content":[{"type":"resource_link","name":"a","uri":"` + link + `"},{"type":"text","text":"b"}]}`, `{"content":[{"type":"text","text":"b"}]}`, 1},
		{"in both forms it is one", `{"content":[{"type":"text","text":"` + link + `"}],"structuredContent":["` + link + `"]}`, `{"content":[{"type":"text","text":"[removed by rule huggingface]"}],"structuredContent":[]}`, 1},
		{"an error is an answer too", `{"isError":true,"content":[{"type":"text","text":"not ` + link + `"}]}`, `{"isError":true,"content":[{"type":"text","text":"not [removed by rule huggingface]"}]}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []int{0, 7, len(c.in) / 2} {
				got, note, refusal := r.Clean(search, tool.Bytes{[]byte(c.in[:cut]), []byte(c.in[cut:])})
				if string(got.Join()) != c.want || refusal != "" {
					t.Errorf("got\n%s, want\n%s; %s", got.Join(), c.want, refusal)
				}
				words := fmt.Sprintf("removed %d links that rule \"huggingface\" forbids", c.links)
				if c.links == 1 {
					words = `removed 1 link that rule "huggingface" forbids`
				}
				if note != words {
					t.Errorf("note %q, want %q", note, words)
				}
			}
		})
	}
}

func TestAnswersPassAsTheyAre(t *testing.T) {
	const link = `"https://huggingface.co/datasets/x"`
	r := builtIn(t)
	reader := &tool.Tool{ID: tool.ID{Server: "files", Name: "list_directory"}}
	for _, c := range []struct {
		name string
		tool *tool.Tool
		in   string
	}{
		{"without a hit", search, `{"content":[{"type":"text","text":"huggingface, co and datasets"}]}`},
		{"other pages", search, `{"structuredContent":[{"link":"https://huggingface.co/docs"},"nothuggingface.co/datasets"]}`},
		{"words", search, said("huggingface.co › datasets › x: a space on hf.space")},
		{"another member", search, `{"extra":` + link + `}`},
		{"no result", search, `[` + link + `]`},
		{"broken", search, `{"structuredContent":[` + link + `}`},
		{"another tool", reader, `{"structuredContent":[` + link + `]}`},
		{"a page with links", scrape, said("# Page\nSee https://huggingface.co/datasets/x")},
		{"deep", search, `{"structuredContent":` + strings.Repeat("[", 1000) + link + strings.Repeat("]", 1000) + `}`},
	} {
		in := tool.OneOf([]byte(c.in))
		got, note, refusal := r.Clean(c.tool, in)
		if &got[0][0] != &in[0][0] || len(got) != 1 || note != "" || refusal != "" {
			t.Errorf("%s: %s, %q, %q", c.name, got.Join(), note, refusal)
		}
	}
}

// TestWhereRedirectsLed: an answer that says that it comes from what is forbidden
// is not given on.
func TestWhereRedirectsLed(t *testing.T) {
	r := builtIn(t)
	for _, c := range []struct {
		name, in string
		want     bool
	}{
		{"bundled check", said("## HTTP check\n\n- status: 200 OK\n- elapsed: 3 ms\n- final_url: https://huggingface.co/datasets/x\n- body: a"), true},
		{"a hop of it", said("## HTTP check\n\n- final_url: https://a.example/\n- redirect: 302 Found from https://hf.co/datasets/x\n"), true},
		{"bundled headers", said("## Answer: 200 OK from https://huggingface.co/datasets/x\n\n- Server: a\n"), true},
		{"a location", said("## Answer: 302 Found from https://a.example/\n\n- Location: https://huggingface.co/datasets/x\n"), true},
		{"Playwright", said("### Ran\n```js\nawait page.click('a');\n```\n### Page state\n- Page URL: https://huggingface.co/spaces/x\n- Page Title: X"), true},
		{"Jina", said("Title: X\n\nURL Source: https://huggingface.co/datasets/x\n\nMarkdown Content:\n"), true},
		{"fetch", said("Contents of https://huggingface.co/datasets/x:\n<p>"), true},
		{"JSON", said(`{"success":true,"final_url":"https://huggingface.co/datasets/x","text":"a"}`), true},
		{"metadata", said(`{"data":{"metadata":{"sourceURL":"https://huggingface.co/datasets/x"}}}`), true},
		{"structured", `{"content":[],"structuredContent":{"finalUrl":"https://huggingface.co/datasets/x"}}`, true},
		{"hops", `{"content":[],"structuredContent":{"url":"https://a.example","hops":[{"to":"https://huggingface.co/datasets/x"}]}}`, true},
		{"a resource", `{"content":[{"type":"resource","resource":{"uri":"https://huggingface.co/datasets/x","text":"a"}}]}`, true},
		{"escaped", `{"content":[{"type":"text","text":"Page URL: https:\/\/huggingface.co\/datasets\/x"}]}`, true},
		{"another page", said("- final_url: https://huggingface.co/docs\nhuggingface.co/datasets"), false},
		{"a link in a page", said("Page URL: https://a.example\n[x](https://huggingface.co/datasets/x)"), false},
		{"a list of links", `{"content":[],"structuredContent":{"url":"https://a.example","links":[{"url":"https://huggingface.co/datasets/x"}]}}`, false},
		{"no result", `"https://huggingface.co/datasets/x"`, false},
	} {
		for _, name := range []string{"scrape", "http_check", "browser_click"} {
			_, note, refusal := r.Clean(&tool.Tool{ID: tool.ID{Server: "a", Name: name}}, tool.OneOf([]byte(c.in)))
			if (refusal != "") != c.want || note != "" || c.want && !strings.Contains(refusal, `"huggingface"`) {
				t.Errorf("%s: refusal %q", c.name, refusal)
			}
		}
	}
}

// TestOrdinaryAnswersAreNotCopied: what has no hit costs no memory.
func TestOrdinaryAnswersAreNotCopied(t *testing.T) {
	r := builtIn(t)
	answer := tool.OneOf([]byte(said(strings.Repeat("A page. See https://example.com/a-b.html for 。more\n", 5000))))
	args := arguments("https://example.com/a-b.html")
	other := &tool.Tool{ID: tool.ID{Server: "web", Name: "list_processes"}}
	r.Clean(search, answer)
	r.Clean(other, answer)
	if n := testing.AllocsPerRun(20, func() {
		r.Clean(search, answer)
		r.Refuse(search, args)
		r.Refuse(other, []byte(`{"a":"https://huggingface.co/datasets"}`))
	}); n > 1 { // one is what joins the pieces at most
		t.Errorf("%v allocations", n)
	}
}

// FuzzClean: whatever a server answers, what comes out is JSON where what came in
// was, has no forbidden link left in a list, and is not edited again.
func FuzzClean(f *testing.F) {
	for _, s := range []string{
		`{"structuredContent":[{"link":"https://huggingface.co/datasets/x"},1]}`,
		`{"content":[{"type":"text","text":"[\"https://hf.co/spaces/x\"]"},{"type":"resource_link","uri":"https://hf.co/datasets"}]}`,
		said("see https://hf.co/datasets, [a](hf.co/spaces)"), `{"content":[`, `{"a":"\`, `{"content":[{"type":"text","text":"hf.co/datasets`,
	} {
		f.Add([]byte(s))
	}
	r, err := rules.New(rules.BuiltIn())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r.Clean(scrape, tool.OneOf(in))
		got, note, _ := r.Clean(search, tool.OneOf(in))
		once := got.Join()
		if note == "" {
			if !bytes.Equal(once, in) {
				t.Errorf("%s became %s without a note", in, once)
			}
			return
		}
		if json.Valid(in) && !json.Valid(once) {
			t.Errorf("%s became %s", in, once)
		}
		again, note, _ := r.Clean(search, tool.OneOf(once))
		if note != "" {
			t.Errorf("%s became %s, then %s", in, once, again.Join())
		}
	})
}

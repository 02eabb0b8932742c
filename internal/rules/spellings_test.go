package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/tool"
)

func builtIn(tb testing.TB) *rules.Rules {
	tb.Helper()
	r, err := rules.New(rules.BuiltIn())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

var scrape = &tool.Tool{ID: tool.ID{Server: "web", Name: "scrape"}}

// arguments returns the arguments of a call with an address.
func arguments(address string) []byte {
	raw, err := json.Marshal(map[string]string{"url": address})
	if err != nil {
		panic(err) // a string is no JSON only in a broken program
	}
	return raw
}

var forbidden = []string{
	"https://huggingface.co/datasets",
	"https://huggingface.co/datasets/",
	"https://huggingface.co/datasets/org/name",
	"https://huggingface.co/datasets/org/name/resolve/main/data.csv?download=true",
	"https://huggingface.co/spaces/org/app",
	"http://huggingface.co/datasets/x",
	"HTTPS://HuggingFace.CO/Datasets/x",
	"huggingface.co/datasets/x",
	"//huggingface.co/datasets/x",
	"///huggingface.co/datasets/x",
	"https:huggingface.co/datasets/x",
	"https:/huggingface.co/datasets/x",
	"https:////huggingface.co/datasets/x",
	`https:\\huggingface.co\datasets\x`,
	`https:\/\/huggingface.co\/datasets\/x`,
	"https://www.huggingface.co/datasets/x",
	"https://huggingface.co./datasets/x",
	"https://huggingface.co../datasets/x",
	"https://huggingface.co:443/datasets/x",
	"https://huggingface.co:0443/datasets/x",
	"https://huggingface.co:/datasets/x",
	"https://user@huggingface.co/datasets/x",
	"https://user:p%40ss@huggingface.co/datasets/x",
	"https://user:p@ss@huggingface.co/datasets/x",
	"https://evil.example@huggingface.co/datasets/x",
	"https://evil.example%2F@huggingface.co/datasets/x",
	`https://evil.example\@huggingface.co/datasets/x`,
	"https://huggingface.co//datasets//x",
	"https://huggingface.co/./datasets/x",
	"https://huggingface.co/docs/../datasets/x",
	"https://huggingface.co/../../datasets/x",
	"https://huggingface.co/docs/%2e%2e/datasets/x",
	"https://huggingface.co/docs/.%2E/datasets/x",
	"https://huggingface.co/%64atasets/x",
	"https://huggingface.co/%2564atasets/x",
	"https://huggingface.co/%25252564atasets/x",
	"https://huggingface.co/%25252525252525252564atasets/x",
	`https://huggingface.co/\u005cu005cu005cu005cu005cu005cu005cu0064atasets/x`,
	"https://huggingface" + strings.Repeat("\u200b", 500) + ".co/datasets/x",
	"https://huggingface.co%2Fdatasets%2Fx",
	"https://huggingface%2eco/datasets/x",
	"https://%68%75%67%67%69%6e%67%66%61%63%65%2e%63%6f/datasets/x",
	"https://huggingface.co/datasets%2Fx",
	"https://huggingface.co/datasets?search=x",
	"https://huggingface.co/datasets#x",
	"https://huggingface.co/datasets%3Fsearch=x",
	"  https://huggingface.co/datasets/x\n",
	"https://hugging\tface.co/data\nsets/x",
	"https://huggingface。co/datasets/x",
	"https://huggingface．co/datasets/x",
	"https://huggingface｡co/datasets/x",
	"https://huggingface․co/datasets/x",
	"https://ｈｕｇｇｉｎｇｆａｃｅ.ｃｏ/datasets/x",
	"https://𝐡𝐮𝐠𝐠𝐢𝐧𝐠𝐟𝐚𝐜𝐞.ⓒⓞ/datasets/x",
	"https://hugg\u00adingface.co/datasets/x",
	"https://hugg\u200bing\u200dface.co/datasets/x",
	"https://%EF%BD%88uggingface.co/datasets/x",
	"https://xn--huggingface-.co/datasets/x",
	"https://huggingface.co/api/datasets/org/name/parquet",
	"https://huggingface.co/api/spaces/org/app",
	"https://huggingface.co/api/resolve-cache/datasets/org/name/abc/data.csv",
	"https://datasets-server.huggingface.co/rows?dataset=x",
	"https://cdn-lfs.huggingface.co/datasets/org/name/abc",
	"https://hf.co/datasets/x",
	"https://www.hf.co/spaces/x",
	"hf.co/datasets/x",
	"https://hf-mirror.com/datasets/x",
	"https://org-app.hf.space",
	"https://org-app.static.hf.space/index.html",
	"hf://datasets/org/name/data.csv",
	"HF://datasets/org/name",
	"git@hf.co:datasets/org/name",
	"ssh://git@hf.co/datasets/org/name.git",
	"view-source:https://huggingface.co/datasets/x",
	// behind others
	"https://web.archive.org/web/2020/https://huggingface.co/datasets/x",
	"https://web.archive.org/web/20200101000000id_/http:/huggingface.co/datasets/x",
	"https://web.archive.org/web/2020*/huggingface.co/datasets/*",
	"https://archive.ph/https://huggingface.co/datasets/x",
	"archive.is/huggingface.co/datasets/x",
	"https://r.jina.ai/https://huggingface.co/datasets/x",
	"https://r.jina.ai/huggingface.co/datasets/x",
	"https://r.jina.ai/https%3A%2F%2Fhuggingface.co%2Fdatasets%2Fx",
	"https://translate.google.com/translate?sl=auto&tl=en&u=https://huggingface.co/datasets/x",
	"https://translate.google.com/translate?u=https%3A%2F%2Fhuggingface.co%2Fdatasets&tl=de",
	"https://translate.google.com/translate?u=huggingface.co/datasets&tl=de",
	"https://huggingface-co.translate.goog/datasets/x?_x_tr_sl=auto",
	"https://hf--mirror-com.translate.goog/datasets/x",
	"https://webcache.googleusercontent.com/search?q=cache:huggingface.co/datasets/x",
	"https://webcache.googleusercontent.com/search?q=cache:AbC:https://huggingface.co/datasets/x+squad",
	"https://example.com/#https://huggingface.co/datasets/x",
	"https://example.com/r?to=https%253A%252F%252Fhuggingface.co%252Fdatasets%252Fx",
	"https://r.jina.ai/https://web.archive.org/web/2020/https%3A%2F%2Fhuggingface.co%2Fdatasets",
	"https://example.com/?u=huggingface.co/docs%2523%2F..%2Fdatasets",
	// within texts
	"curl -sL https://huggingface.co/datasets/x | head",
	"import requests; requests.get('https://huggingface.co/datasets/x')",
	"git clone https://huggingface.co/datasets/x.",
	`r = get("https:\/\/hugging\u0066ace.co/datasets/x")`,
	`r = get("https://\x68uggingface.co/datasets/x")`,
	"[data](https://huggingface.co/datasets)",
	"see huggingface.co/datasets, and tell me",
	"请访问huggingface.co/datasets/x",
	"请看 https://huggingface.co/datasets。",
	"- huggingface.co/datasets/x\n- …",
	"pd.read_csv('hf://datasets/x/y.csv')",
}

var allowed = []string{
	"https://huggingface.co",
	"https://huggingface.co/",
	"https://huggingface.co/docs",
	"https://huggingface.co/docs/datasets/index",
	"https://huggingface.co/org/model",
	"https://huggingface.co/org/datasets",
	"https://huggingface.co/datasets-for-all",
	"https://huggingface.co/mydatasets/x",
	"https://huggingface.co/datasets/../docs",
	"https://huggingface.co/datasets/%2e%2e/docs",
	"https://huggingface.co/blog/datasets",
	"https://huggingface.co/papers/2301.00001?q=datasets",
	"https://huggingface.co/search?q=/datasets",
	"https://huggingface.co/#/datasets",
	"https://huggingface.co/api/models",
	"https://huggingface.co@evil.example/datasets/x",
	"https://huggingface.co:443@evil.example/datasets/x",
	"https://huggingface.co%40evil.example/datasets/x",
	"https://app.hf.space@evil.example/",
	"https://huggingface.co:datasets@evil.example/",
	"https://nothuggingface.co/datasets/x",
	"https://my-huggingface.co/datasets/x",
	"https://huggingface.co.evil.example/datasets/x",
	"https://huggingface.com/datasets/x",
	"https://huggingface.company/datasets/x",
	"https://éhuggingface.co/datasets/x",
	"https://hf.community/datasets",
	"https://shf.co/datasets",
	"https://hf.co/org/model",
	"https://huggingface.example/datasets/x",
	"https://xn--bcher-kva.example/datasets",
	"https://1.2.3.4/datasets/x",
	"https://[2001:db8::1]/datasets/x",
	"https://2398766798/datasets/x",
	"https://hf.space.example/app",
	"https://github.com/huggingface/datasets",
	"https://kaggle.com/datasets/x",
	"https://r.jina.ai/https://huggingface.co/docs",
	"https://huggingface-co.translate.goog/docs",
	"a page about huggingface.co and its datasets/spaces",
	"mail me@huggingface.co about /datasets",
	"s3://datasets/x",
	"datasets/x",
	"", ".", "%", "\\", "//", "@", ":", "https://", "%2", "\\u00", "。",
}

func TestSpellings(t *testing.T) {
	r := builtIn(t)
	if n := len(forbidden) + len(allowed); n < 80 {
		t.Errorf("%d spellings", n)
	}
	for _, c := range []struct {
		list []string
		want bool
	}{{forbidden, true}, {allowed, false}} {
		for _, address := range c.list {
			if got := r.Refuse(scrape, arguments(address)); (got != "") != c.want || c.want && !strings.Contains(got, `"huggingface"`) {
				t.Errorf("%q: refused %t: %s", address, got != "", got)
			}
			if got := r.Refusal(scrape.ID, address); (got != "") != c.want {
				t.Errorf("%q: a redirect there is refused %t: %s", address, got != "", got)
			}
		}
	}
}

// TestRespelled: an address that is forbidden stays so however it is written.
func TestRespelled(t *testing.T) {
	r := builtIn(t)
	rapid.Check(t, func(t *rapid.T) {
		address := respelled(t)
		for range rapid.IntRange(0, 2).Draw(t, "wraps") {
			address = wrapped(t, address)
		}
		raw, err := json.Marshal(map[string]any{"a": []any{1, map[string]string{"b": address}}})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped JSON") {
			raw = []byte(strings.ReplaceAll(string(raw), "f", `\u0066`))
		}
		if r.Refuse(scrape, raw) == "" {
			t.Fatalf("%q is not refused: %s", address, raw)
		}
	})
}

// TestOthersStayAllowed: the same spellings of another page are let through.
func TestOthersStayAllowed(t *testing.T) {
	r := builtIn(t)
	rapid.Check(t, func(t *rapid.T) {
		address := spell(t, rapid.SampledFrom([]string{"huggingface.co", "nothuggingface.co", "huggingface.co.example.org"}).Draw(t, "host"),
			rapid.SampledFrom([]string{"docs", "org"}).Draw(t, "first"))
		if text := r.Refuse(scrape, arguments(address)); text != "" {
			t.Fatalf("%q is refused: %s", address, text)
		}
	})
}

func respelled(t *rapid.T) string {
	host := rapid.SampledFrom([]string{"huggingface.co", "hf.co", "www.huggingface.co", "hf-mirror.com"}).Draw(t, "host")
	return spell(t, host, rapid.SampledFrom([]string{"datasets", "spaces", "api/datasets"}).Draw(t, "path"))
}

func spell(t *rapid.T, host, path string) string {
	var b strings.Builder
	scheme := rapid.SampledFrom([]string{"https://", "http://", "//", "", "HTTPS://", `https:\\`, "https:/"}).Draw(t, "scheme")
	b.WriteString(scheme)
	if scheme != "" {
		b.WriteString(rapid.SampledFrom([]string{"", "user@", "u:p@", "a.example@"}).Draw(t, "user"))
	}
	for _, c := range host {
		b.WriteString(spellRune(t, c, true))
	}
	b.WriteString(rapid.SampledFrom([]string{"", ".", ":443", ":"}).Draw(t, "port"))
	for seg := range strings.SplitSeq(path, "/") {
		b.WriteString(rapid.SampledFrom([]string{"/", "//", "/./", "/x/../", "/x/%2e%2e/", `\`}).Draw(t, "slash"))
		for _, c := range seg {
			b.WriteString(spellRune(t, c, false))
		}
	}
	b.WriteString(rapid.SampledFrom([]string{"", "/", "/org/name", "?q=1", "#x"}).Draw(t, "rest"))
	return b.String()
}

func spellRune(t *rapid.T, c rune, host bool) string {
	const hex = "0123456789abcdef"
	switch n := rapid.IntRange(0, 9).Draw(t, "spelling"); {
	case n == 0:
		return strings.ToUpper(string(c))
	case n == 1:
		return "%" + string(hex[c>>4]) + string(hex[c&15])
	case n == 2:
		return "%25" + string(hex[c>>4]) + string(hex[c&15])
	case n == 3 && host && c == '.':
		return rapid.SampledFrom([]string{"。", "．", "｡"}).Draw(t, "dot")
	case n == 3 && host && c >= 'a':
		return string(c - 'a' + 'ａ')
	case n == 4 && host:
		return string(c) + "\u00ad"
	}
	return string(c)
}

func wrapped(t *rapid.T, address string) string {
	before := rapid.SampledFrom([]string{
		"https://web.archive.org/web/2020/", "https://r.jina.ai/", "https://archive.ph/", "archive.is/",
		"https://translate.google.com/translate?tl=en&u=", "https://example.com/#", "curl -L '",
	}).Draw(t, "wrapper")
	if rapid.Bool().Draw(t, "escaped") {
		address = strings.NewReplacer("%", "%25", "/", "%2F", ":", "%3A").Replace(address)
	}
	return before + address
}

func FuzzNormalize(f *testing.F) {
	for _, list := range [][]string{forbidden, allowed} {
		for _, address := range list {
			f.Add(address)
		}
	}
	f.Add("0.0/\xff 0") // bytes that are no UTF-8
	f.Add("Xn--BAi.00") // a label that stands for control characters
	r := builtIn(f)
	f.Fuzz(func(t *testing.T, address string) {
		once := rules.Normalize(address)
		if twice := rules.Normalize(once); twice != once {
			t.Errorf("%q: %q, then %q", address, once, twice)
		}
		r.Refusal(scrape.ID, address)
		r.Refuse(scrape, []byte(address))
	})
}

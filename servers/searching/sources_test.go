package searching_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/searching"
)

func TestWikiPage(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("wiki_get_page_content", args{"entity": "port_Aldern", "first_sentences": 2})
	wants(t, text, "Page Title: Port Aldern", "First 2 sentences (introduction): Port Aldern is", "Dr. Ida V. Holm, whose ship ran aground there.", "URL: https://en.wikipedia.org/wiki/Port_Aldern")
	lacks(t, text, "9,412", "History")
	if data["status"] != "found" || data["language"] != "en" {
		t.Errorf("%v", data)
	}
	text, data = w.call("wiki_get_page_content", args{"entity": "Port Aldern", "first_sentences": 0})
	wants(t, text, "Sections: 1. History; 2. – Great fire; 3. – Second fire; 4. Economy; 5. See also", "Content: Port Aldern is", "## History", "### Great fire\n\nThe fire of 1588", "closes when the fish is sold.")
	if len(data["outline"].([]any)) != 5 {
		t.Errorf("%v", data["outline"])
	}
	for _, section := range []string{"history", "1", "Histor"} {
		text, _ = w.call("wiki_get_page_content", args{"entity": "Port Aldern", "section": section})
		wants(t, text, "Section: ## History", "That of 1701")
		lacks(t, text, "Economy\n\n", "is a harbour town")
	}
	wants(t, w.refuse("wiki_get_page_content", args{"entity": "Port Aldern", "section": "Dragons"}), "no section", "1. History")
	text, data = w.call("wiki_get_page_content", args{"entity": "Aldern Town"})
	wants(t, text, "Redirected from: Aldern Town", "Page Title: Port Aldern")
	if data["redirected_from"] != "Aldern Town" {
		t.Errorf("%v", data)
	}
}

func TestWikiEditions(t *testing.T) {
	w := open(t, nil)
	for _, a := range []args{
		{"entity": "Port Aldern", "language": "DE", "first_sentences": 1},
		{"entity": "https://de.wikipedia.org/wiki/Port_Aldern", "first_sentences": 1},
		{"entity": "https://de.m.wikipedia.org/wiki/Port_Aldern?x=1", "first_sentences": 1, "language": "en"},
		{"entity": "https://de.wikipedia.org/w/index.php?title=Port_Aldern&oldid=1", "first_sentences": 1},
	} {
		text, data := w.call("wiki_get_page_content", a)
		wants(t, text, "Port Aldern ist eine Hafenstadt.")
		lacks(t, text, "Mündung")
		if data["language"] != "de" {
			t.Errorf("%v: %v", a, data)
		}
	}
	text, _ := w.call("wiki_get_page_content", args{"entity": "https://de.wikipedia.org/wiki/Port_Aldern#Geschichte"})
	wants(t, text, "Section: ## Geschichte", "1203")
	text, _ = w.call("wiki_get_page_content", args{"entity": "奥尔登港", "language": "zh", "first_sentences": 2})
	wants(t, text, "它位于河口！")
	lacks(t, text, "人口")
	wants(t, w.refuse("wiki_get_page_content", args{"entity": "x", "language": "tlh"}), "tlh", "404")
}

func TestWikiSeveralAndNone(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("wiki_get_page_content", args{"entity": "Aldern"})
	wants(t, text, "Disambiguation Error: Multiple pages found for 'Aldern'.", "Available options:\n- Port Aldern: a harbour town\n- Aldern (river)", "a river that is <short>", "- Mission: Aldern", "and 5 more")
	lacks(t, text, "Special:", "Help:", "Nowhere", "Places", "Skarn")
	if n := len(data["options"].([]any)); n != 10 || data["status"] != "ambiguous" {
		t.Errorf("%d options, %v", n, data["status"])
	}
	text, data = w.call("wiki_get_page_content", args{"entity": "The lighthouse"})
	wants(t, text, "Page Not Found: No Wikipedia page found for 'The lighthouse'", "Similar pages found:", "- Lighthouse of Port Aldern")
	if data["status"] != "not_found" || len(data["suggestions"].([]any)) == 0 {
		t.Errorf("%v", data)
	}
	text, _ = w.call("wiki_get_page_content", args{"entity": "ligthouse"})
	wants(t, text, "- lighthouse")
	text, _ = w.call("wiki_get_page_content", args{"entity": "qqqqq"})
	wants(t, text, "no similar pages")
	// What means something to the API is not sent as a title.
	for _, entity := range []string{"Port Aldern|Aldern", "<b>", "[[x]]", "{{lighthouse}}", strings.Repeat("é", 200)} {
		text, _ = w.call("wiki_get_page_content", args{"entity": entity})
		wants(t, text, "Page Not Found")
	}
	for _, c := range w.wiki.Calls() {
		if strings.ContainsAny(c.Query.Get("titles"), "|<[{") {
			t.Errorf("asked for %q", c.Query.Get("titles"))
		}
	}
	w.wiki.Fail(doubles.Fault{Code: "search-error", Status: 200, Match: "srsearch"})
	text, _ = w.call("wiki_get_page_content", args{"entity": "qqqqq"})
	wants(t, text, "failed", "search-error")
}

func TestWikiBoundsAndFaults(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("wiki_get_page_content", args{"entity": "Lighthouse of Port Aldern", "first_sentences": 0})
	wants(t, text, "[cut: these are", "section")
	if data["cut"] != true {
		t.Errorf("%v", data["cut"])
	}
	text, _ = w.call("wiki_get_page_content", args{"entity": "Hidden words"})
	wants(t, text, "Visible esrever and hidden bell.")
	text, _ = w.call("wiki_get_page_content", args{"entity": `C++ & "Aldern"?`})
	wants(t, text, "A title with marks.")
	for _, c := range []struct {
		fault doubles.Fault
		want  string
	}{
		{doubles.Fault{Status: 429, RetryAfter: "0", Times: 2}, ""},
		{doubles.Fault{Status: 503, Times: 1}, ""},
		{doubles.Fault{Status: 503}, "503"},
		{doubles.Fault{Status: 200, Code: "readonly"}, "readonly"},
		{doubles.Fault{BadJSON: true}, "no JSON"},
	} {
		w.wiki.Fail(c.fault)
		text, _, failed := w.try(t.Context(), "wiki_get_page_content", args{"entity": "Port Aldern"})
		w.wiki.Heal()
		if failed != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %v %s", c.fault, failed, text)
		}
	}
	for _, c := range w.wiki.Calls() {
		if c.Query.Get("formatversion") != "2" || !strings.HasPrefix(c.Header.Get("User-Agent"), "Tenon/") {
			t.Fatalf("asked %v as %q", c.Query, c.Header.Get("User-Agent"))
		}
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"One. Two. Three.", 2, "One. Two."},
		{"One.", 5, "One."},
		{"", 1, ""},
		{"He paid 3.50 (ca. 4) to J. R. Smith. Then he left.", 1, "He paid 3.50 (ca. 4) to J. R. Smith."},
		{"She said \"Go!\" And went. More.", 1, "She said \"Go!\""},
		{"The U.S. Army came. Yes.", 1, "The U.S. Army came."},
		{"Eins z. B. hier. Zwei.", 1, "Eins z. B. hier."},
		{"一。二！三", 2, "一。二！"},
		{"No end", 1, "No end"},
		{"Dots... and on. Next.", 1, "Dots... and on."},
	} {
		if got := searching.Sentences(c.text, c.n); got != c.want {
			t.Errorf("%q, %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestRevisions(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("search_wiki_revision", args{"entity": "Port Aldern", "year": 2019, "month": 3})
	wants(t, text, "Page Title: Port Aldern", "Revision Period: 2019-03", "Total Revisions Found: 31", "1. Revision ID: 11001\n   Timestamp: 2019-03-01 08:30:00 UTC\n   URL: https://en.wikipedia.org/w/index.php?oldid=11001&title=Port_Aldern", "scrape_website")
	if n := len(data["revisions"].([]any)); n != 31 || data["more"] != nil {
		t.Errorf("%d revisions, more %v", n, data["more"])
	}
	q := w.wiki.Calls()[0].Query
	if q.Get("rvstart") != "2019-03-01T00:00:00Z" || q.Get("rvend") != "2019-03-31T23:59:59Z" || q.Get("rvlimit") != "50" {
		t.Errorf("asked %v", q)
	}
	text, data = w.call("search_wiki_revision", args{"entity": "Port Aldern", "year": 2019, "month": 3, "max_revisions": 5})
	wants(t, text, "There are more")
	if len(data["revisions"].([]any)) != 5 || data["more"] != true {
		t.Errorf("%v", data)
	}
	text, data = w.call("search_wiki_revision", args{"entity": "Port Aldern", "year": 1999, "month": 14})
	wants(t, text, "Date auto-adjusted: Year adjusted from 1999 to 2000 (minimum supported); Month adjusted from 14 to 12. Using 2000-12 instead.\n\n", "No revisions found for 'Port Aldern' in 2000-12")
	if data["status"] != "none" || data["period"] != "2000-12" {
		t.Errorf("%v", data)
	}
	text, _ = w.call("search_wiki_revision", args{"entity": `https://en.wikipedia.org/wiki/C%2B%2B_%26_%22Aldern%22%3F`, "year": 2015, "month": 1})
	wants(t, text, "index.php?oldid=15001&title=C%2B%2B_%26_%22Aldern%22%3F")
	text, data = w.call("search_wiki_revision", args{"entity": "Port Aldern", "year": 2020, "month": 2, "language": "de"})
	wants(t, text, "https://de.wikipedia.org/w/index.php?oldid=21001")
	if data["language"] != "de" {
		t.Errorf("%v", data)
	}
	text, data = w.call("search_wiki_revision", args{"entity": "The lighthouse", "year": 2020, "month": 2})
	wants(t, text, "Similar pages found")
	if data["status"] != "not_found" {
		t.Errorf("%v", data)
	}
}

func TestClamp(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2020 2 30", "2020 2 29 [Day adjusted from 30 to 29]"},
		{"2021 2 0", "2021 2 1 [Day adjusted from 0 to 1]"},
		{"1990 13 5", "1995 12 5 [Year adjusted from 1990 to 1995 (minimum supported) Month adjusted from 13 to 12]"},
		{"2030 1 1", "2026 1 1 [Year adjusted from 2030 to 2026 (current year)]"},
		{"2026 9 1", "2026 5 1 [Month adjusted from 9 to 5 (current month)]"},
		{"2020 0 1", "2020 1 1 [Month adjusted from 0 to 1]"},
		{"2020 6 15", "2020 6 15 []"},
	} {
		var y, m, d int
		if _, err := fmt.Sscan(c.in, &y, &m, &d); err != nil {
			t.Fatal(err)
		}
		y, m, d, notes := searching.Clamp(y, m, d, 1995, today)
		if got := fmt.Sprint(y, m, d, notes); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestArchive(t *testing.T) {
	w := open(t, nil)
	base := w.env["WAYBACK_BASE_URL"]
	day := func(url string, y, m, d int) args { return args{"url": url, "year": y, "month": m, "day": d} }
	text, data := w.call("search_archived_webpage", day("http://harbour.example/lighthouse", 2015, 6, 10))
	wants(t, text, "Archive Found: Archived version located", "Original URL: http://harbour.example/lighthouse", "Requested Date: 2015-06-10", "Archived URL: "+base+"/web/20150612080910/http://harbour.example/lighthouse", "Archived Timestamp: 2015-06-12 08:09:10 UTC", "scrape_website")
	if data["status"] != "found" || data["notes"] != nil {
		t.Errorf("%v", data)
	}
	text, _ = w.call("search_archived_webpage", day("harbour.example/lighthouse", 0, 0, 0))
	wants(t, text, "Archive Found: Most recent archived version", "[NOTE]: Automatically added 'https://' to URL 'harbour.example/lighthouse' -> 'https://harbour.example/lighthouse'", "2021-01-03")
	lacks(t, text, "Requested Date")
	text, _ = w.call("search_archived_webpage", day("http://harbour.example/lighthouse", 1970, 2, 31))
	wants(t, text, "Date auto-adjusted: Year adjusted from 1970 to 1995 (minimum supported); Day adjusted from 31 to 28. Using 19950228 instead.", "days away")
	// Only the index knows of it.
	before := len(w.wayback.Calls())
	text, _ = w.call("search_archived_webpage", day(doubles.IndexOnly, 2021, 1, 1))
	wants(t, text, "/web/20210103235959/"+doubles.IndexOnly)
	if calls := w.wayback.Calls()[before:]; len(calls) != 2 || calls[1].Path != "/cdx/search/cdx" {
		t.Errorf("%v", calls)
	}
	text, _ = w.call("search_archived_webpage", day(doubles.IndexOnly, 0, 0, 0))
	wants(t, text, "Most recent", "/web/20210103235959/"+doubles.IndexOnly)
	text, data = w.call("search_archived_webpage", day(doubles.Withheld, 2015, 1, 1))
	wants(t, text, "Archive Status: Snapshot exists but is not available", "Try a different date")
	if data["status"] != "unavailable" {
		t.Errorf("%v", data)
	}
	text, data = w.call("search_archived_webpage", day("http://never.example/", 2015, 1, 1))
	wants(t, text, "Archive Not Found")
	if data["status"] != "not_found" {
		t.Errorf("%v", data)
	}
	text, _ = w.call("search_archived_webpage", day("https://en.wikipedia.org/wiki/Tea", 2015, 1, 1))
	wants(t, text, "search_wiki_revision")
}

func TestArchiveFaults(t *testing.T) {
	w := open(t, nil)
	page := args{"url": "http://harbour.example/lighthouse", "year": 2015, "month": 6, "day": 10}
	for _, c := range []struct {
		faults []doubles.Fault
		want   string
		fails  bool
	}{
		{[]doubles.Fault{{Status: 503, Times: 3}}, "Archived version located", false},
		{[]doubles.Fault{{Status: 503, Match: "available"}}, "Archived version located", false},
		{[]doubles.Fault{{BadJSON: true, Match: "available"}}, "Archived version located", false},
		{[]doubles.Fault{{Empty: true, Match: "available"}}, "Archived version located", false},
		{[]doubles.Fault{{Status: 503}}, "503", true},
		{[]doubles.Fault{{Status: 429, RetryAfter: "600"}}, "too many requests", true},
		{[]doubles.Fault{{Empty: true, Match: "available"}, {Status: 500, Match: "cdx"}}, "the index failed", true},
		{[]doubles.Fault{{Empty: true}}, "Archive Not Found", false},
		{[]doubles.Fault{{BadJSON: true}}, "no JSON", true},
	} {
		w.wayback.Fail(c.faults...)
		text, _, failed := w.try(t.Context(), "search_archived_webpage", page)
		w.wayback.Heal()
		if failed != c.fails || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %v %s", c.faults, failed, text)
		}
	}
}

func TestScrape(t *testing.T) {
	w := open(t, nil)
	text, data := w.call("scrape_website", args{"url": "harbour.example/lighthouse"})
	wants(t, text, "Title: The lighthouse of Port Aldern", "https:// was added", "data from a stranger", "lit for the first time")
	if data["via"] != "jina" {
		t.Errorf("via %v", data["via"])
	}
	text, data = w.call("scrape_website", args{"url": "http://harbour.example/lighthouse", "max_chars": 500})
	wants(t, text, "Go on with offset 500]")
	text, _ = w.call("scrape_website", args{"url": "http://harbour.example/lighthouse", "max_chars": 3})
	wants(t, text, "max_chars is 500 to 95000: 500 was taken for 3", "Go on with offset 500]")
	whole, _ := w.call("scrape_website", args{"url": "http://harbour.example/lighthouse", "offset": data["next_offset"], "max_chars": 1200})
	wants(t, whole, "oil store")
	lacks(t, whole, "lit for the first time")
	wants(t, w.refuse("scrape_website", args{"url": "http://harbour.example/lighthouse", "offset": 999_999}), "nothing at offset")
	w.jina.Fail(doubles.Fault{Status: 402})
	_, data = w.call("scrape_website", args{"url": "http://harbour.example/ferries"})
	if data["via"] != "serper scrape" || !strings.Contains(fmt.Sprint(data["notes"]), "jina") {
		t.Errorf("%v %v", data["via"], data["notes"])
	}
	// What the archive found can be read.
	_, data = w.call("search_archived_webpage", args{"url": "http://harbour.example/lighthouse", "year": 2015, "month": 6, "day": 10})
	wants(t, w.refuse("scrape_website", args{"url": data["archived_url"]}), "refused") // on loopback only here
}

// TestNoServiceLearnsOfInside reads a page of a host that an operator opened.
func TestNoServiceLearnsOfInside(t *testing.T) {
	var inside string
	w := open(t, func(_ map[string]string, o *searching.Options) {
		inside = doubles.Start(t, doubles.NewWeb())
		o.Allow = []string{strings.TrimPrefix(inside, "http://")}
	})
	_, _, _ = w.try(t.Context(), "scrape_website", args{"url": inside + "/lighthouse"})
	if n := len(w.jina.Calls()) + len(w.serper.Calls()); n != 0 {
		t.Errorf("services were asked %d times", n)
	}
}

// TestOneDeadline ends a call whose services do not answer.
func TestOneDeadline(t *testing.T) {
	w := open(t, func(_ map[string]string, o *searching.Options) { o.TimeoutSec = 5 })
	w.serper.Fail(doubles.Fault{Slow: time.Minute})
	began := time.Now()
	wants(t, w.refuse("google_search", args{"q": "x"}), "time")
	if took := time.Since(began); took < 4*time.Second || took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestSuggestionsAreBounded(t *testing.T) {
	w := open(t, nil)
	_, data := w.call("wiki_get_page_content", args{"entity": "the a of Aldern"})
	if diff := cmp.Diff(true, len(data["suggestions"].([]any)) <= 5); diff != "" {
		t.Error(diff)
	}
}

func TestExtract(t *testing.T) {
	w := open(t, nil)
	ask := args{"url": "http://harbour.example/lighthouse", "info_to_extract": "How high is the tower?"}
	text, data := w.call("scrape_and_extract_info", ask)
	wants(t, text, `"success": true`, `"model_used"`, `"tokens_used"`)
	wants(t, fmt.Sprint(data["extracted_info"]), "43 metres high", "How high is the tower?") // the double repeats what it was told
	if data["success"] != true {
		t.Errorf("%v", data)
	}
	w.openai.Fail(doubles.Fault{Status: 401})
	wants(t, w.refuse("scrape_and_extract_info", ask), "nothing was found out", "SUMMARY_LLM_API_KEY")
	before := len(w.openai.Calls())
	for _, bad := range []args{
		{"url": "http://127.0.0.1/", "info_to_extract": "x"},
		{"url": "https://huggingface.co/datasets/x/y", "info_to_extract": "x"},
		{"url": "http://harbour.example/lighthouse", "info_to_extract": "x", "custom_headers": args{"Authorization": "Bearer x"}},
	} {
		w.refuse("scrape_and_extract_info", bad)
	}
	if n := len(w.openai.Calls()); n != before {
		t.Errorf("the model was asked %d times", n-before)
	}
}

// TestServicesOwnWords holds what services are asked, and what their doubles answer, to
// what they publish themselves.
func TestServicesOwnWords(t *testing.T) {
	w := open(t, func(env map[string]string, _ *searching.Options) {
		web := doubles.NewWeb()
		env["TAVILY_BASE_URL"] = doubles.Held(t, doubles.Tavily(web), "tavily-search")
		env["TENCENTCLOUD_BASE_URL"] = doubles.Held(t, doubles.TencentWSA(web), "tencent-wsa")
		env["WIKIPEDIA_BASE_URL"] = doubles.Held(t, doubles.MediaWiki(), "mediawiki-query") + "/{language}/w/api.php"
	})
	w.call("tavily_search", map[string]any{"query": "lighthouse", "time_range": "year", "include_domains": []string{"harbour.example"}})
	w.call("sogou_search", map[string]any{"q": "lighthouse", "num": 20})
	w.call("wiki_get_page_content", map[string]any{"entity": "Port Aldern"})
	w.call("search_wiki_revision", map[string]any{"entity": "Port Aldern", "year": 2019, "month": 3})
}

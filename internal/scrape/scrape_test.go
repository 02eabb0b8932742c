package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// A world is a chain, the services that it asks and the web behind them.
type world struct {
	web                     *doubles.Web
	jina, serper, firecrawl *doubles.Double
	chain                   *scrape.Chain
	dials                   atomic.Int32 // connections to sites of the web
}

const public = "93.184.215.14"

// newWorld returns a world in which all names of hosts lead to one public address,
// which is the web of the doubles.
func newWorld(t *testing.T, change func(*scrape.Options)) *world {
	t.Helper()
	w := &world{web: doubles.NewWeb()}
	w.jina, w.serper, w.firecrawl = doubles.Jina(w.web), doubles.Serper(w.web), doubles.Firecrawl(w.web)
	sites := strings.TrimPrefix(doubles.Start(t, w.web), "http://")
	guard, err := egress.NewGuard("test", []string{"inside.example"})
	if err != nil {
		t.Fatal(err)
	}
	guard.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		switch name {
		case "inside.example", "hidden.example":
			return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
		case "unknown.example", "db.internal", "printer", "nas.local":
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr(public)}, nil
	}
	guard.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); host == public || host == "10.1.2.3" {
			w.dials.Add(1)
			address = sites
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	pages, err := egress.New(egress.Options{Guard: guard, Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pages.Close)
	o := scrape.Options{
		Pages: pages, Guard: guard, Documents: document.New(document.Options{}),
		Jina:      scrape.Service{Base: doubles.Start(t, w.jina), Key: doubles.Key},
		Serper:    scrape.Service{Base: doubles.Start(t, w.serper), Key: doubles.Key},
		Firecrawl: scrape.Service{Base: doubles.Start(t, w.firecrawl), Key: doubles.Key},
		Timeout:   20 * time.Second, Waits: []time.Duration{time.Millisecond, time.Millisecond},
	}
	if change != nil {
		change(&o)
	}
	if w.chain, err = scrape.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func siteOnly(o *scrape.Options) {
	o.Jina, o.Serper, o.Firecrawl = scrape.Service{}, scrape.Service{}, scrape.Service{}
}

func (w *world) fetch(t *testing.T, url string) (*scrape.Page, error) {
	t.Helper()
	return w.chain.Fetch(t.Context(), scrape.Request{URL: url})
}

func (w *world) good(t *testing.T, url string) *scrape.Page {
	t.Helper()
	p, err := w.fetch(t, url)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return p
}

const lighthouse = "http://harbour.example/lighthouse"

func notes(p *scrape.Page) string { return strings.Join(p.Notes, "\n") }

func TestTheFirstGoodWayWins(t *testing.T) {
	w := newWorld(t, nil)
	p := w.good(t, lighthouse)
	if p.Via != "jina" || p.Title != "The lighthouse of Port Aldern" || !strings.Contains(p.Text, "212 steps") || p.Score < scrape.Good || len(p.Notes) != 0 {
		t.Errorf("%+v", p)
	}
	if n := len(w.serper.Calls()) + len(w.firecrawl.Calls()); n != 0 || w.dials.Load() != 0 {
		t.Errorf("%d further calls, %d connections to the site", n, w.dials.Load())
	}
	h := w.jina.Calls()[0].Header
	for name, want := range map[string]string{"Authorization": "Bearer " + doubles.Key, "X-Base": "final", "X-Engine": "browser", "X-With-Generated-Alt": "true", "X-With-Iframe": "true", "X-With-Shadow-Dom": "true"} {
		if h.Get(name) != want {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
}

// TestEachWay breaks the ways before it, each by another fault, and wants their
// reasons in the notes.
func TestEachWay(t *testing.T) {
	w := newWorld(t, nil)
	w.jina.Fail(doubles.Fault{Status: 402})
	if p := w.good(t, lighthouse); p.Via != "serper scrape" || !strings.Contains(p.Text, "# The lighthouse") || !strings.Contains(notes(p), "not read by jina: the account of its key has no balance left (402 InsufficientBalanceError)") {
		t.Errorf("%s: %q", p.Via, p.Notes)
	}
	w.serper.Fail(doubles.Fault{Status: 403})
	if p := w.good(t, lighthouse); p.Via != "firecrawl" || !strings.Contains(notes(p), "not read by serper scrape: it does not take its key (status 403: Unauthorized.)") {
		t.Errorf("%s: %q", p.Via, p.Notes)
	}
	w.firecrawl.Fail(doubles.Fault{Status: 402})
	p := w.good(t, lighthouse)
	if p.Via != "direct" || !strings.Contains(notes(p), "not read by firecrawl: its account has no credit left (status 402: Insufficient credits") {
		t.Errorf("%s: %q", p.Via, p.Notes)
	}
	if !strings.Contains(p.Text, "212 steps") || strings.Contains(p.Text, "Terms of use") || strings.Contains(p.Text, "Imprint") {
		t.Errorf("the part that is to be read: %q", p.Text)
	}
}

func TestFaultsOfServices(t *testing.T) {
	for name, c := range map[string]struct {
		fault doubles.Fault
		want  string
	}{
		"file":        {doubles.Fault{Status: 422}, "422"},
		"too often":   {doubles.Fault{Status: 429, RetryAfter: "7"}, "asked too often (429, to be asked again after 7: the request was refused)"},
		"key":         {doubles.Fault{Status: 401}, "does not take its key"},
		"broken":      {doubles.Fault{Status: 500}, "answered with the status 500"},
		"no JSON":     {doubles.Fault{BadJSON: true}, "not the JSON that was expected"},
		"cut":         {doubles.Fault{Truncated: true}, "ended its answer too early"},
		"empty":       {doubles.Fault{Empty: true}, "it gave no text"},
		"site failed": {doubles.Fault{Warning: "Target URL returned error 503: Service Unavailable"}, "the site answered it with 503"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *scrape.Options) { o.Serper, o.Firecrawl = scrape.Service{}, scrape.Service{} })
			w.jina.Fail(c.fault)
			p := w.good(t, lighthouse)
			if p.Via != "direct" || !strings.Contains(notes(p), "not read by jina: ") || !strings.Contains(notes(p), c.want) {
				t.Errorf("%s: %q", p.Via, p.Notes)
			}
		})
	}
}

// TestFailuresThatPassAreTriedAgain wants two further rounds, of the ways alone whose
// failure may pass, and nothing where none may.
func TestFailuresThatPassAreTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.jina.Fail(doubles.Fault{Status: 503, Times: 2})
	w.serper.Fail(doubles.Fault{Status: 403})
	w.firecrawl.Fail(doubles.Fault{Status: 402})
	p := w.good(t, "http://harbour.example/private/plans")
	if p.Via != "jina" || len(w.jina.Calls()) != 3 || len(w.serper.Calls()) != 1 || len(w.firecrawl.Calls()) != 1 {
		t.Errorf("%s: %d, %d, %d calls", p.Via, len(w.jina.Calls()), len(w.serper.Calls()), len(w.firecrawl.Calls()))
	}
	w.jina.Fail(doubles.Fault{Status: 503, Times: 3})
	if p, err := w.fetch(t, "http://harbour.example/private/plans"); err == nil || len(w.jina.Calls()) != 6 {
		t.Errorf("%+v after %d calls", p, len(w.jina.Calls()))
	}
	if p, err := w.fetch(t, "http://unknown.example/"); err == nil || len(w.serper.Calls()) != 3 {
		t.Errorf("%+v, %d calls", p, len(w.serper.Calls()))
	}
}

func TestNothing(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.fetch(t, "http://harbour.example/nothing")
	f, ok := errors.AsType[*scrape.FailedError](err)
	if !ok || len(f.Misses) != 4 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"- jina: it cannot read this address", "- serper scrape: it answered with the status 500", "- firecrawl: it could not read the page", "- direct: the site has no such page (status 404)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if n := len(w.serper.Calls()); n != 1 {
		t.Errorf("the scraper was asked %d times for a page that is not there", n)
	}
	if n := len(w.jina.Calls()); n != 1 {
		t.Errorf("the reader was asked %d times", n)
	}
}

// TestOneDeadline lets every way hang: the call ends in its time, and each had a share.
func TestOneDeadline(t *testing.T) {
	for limit := 800 * time.Millisecond; ; limit *= 4 { // a share of a short time may be too short for a busy machine
		w := newWorld(t, func(o *scrape.Options) { o.Timeout = limit })
		for _, d := range []*doubles.Double{w.jina, w.serper, w.firecrawl} {
			d.Fail(doubles.Fault{Slow: time.Minute})
		}
		start := time.Now()
		p, err := w.fetch(t, lighthouse)
		took := time.Since(start)
		if err == nil && p.Via == "direct" && took < limit {
			break
		}
		if limit > 10*time.Second {
			t.Fatalf("%v after %s of %s", err, took, limit)
		}
	}
	w := newWorld(t, func(o *scrape.Options) { o.Waits = []time.Duration{time.Hour} })
	for _, d := range []*doubles.Double{w.jina, w.serper, w.firecrawl} {
		d.Fail(doubles.Fault{Status: 500})
	}
	start := time.Now()
	if _, err := w.fetch(t, "http://harbour.example/private/plans"); err == nil || time.Since(start) > time.Minute {
		t.Errorf("a wait beyond the deadline: %v after %s", err, time.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.jina.Heal()
	w.jina.Fail(doubles.Fault{Slow: time.Minute})
	stop := time.AfterFunc(50*time.Millisecond, cancel)
	defer stop.Stop()
	if _, err := w.chain.Fetch(ctx, scrape.Request{URL: lighthouse}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call: %v", err)
	}
}

func TestUnloadedPageIsAskedForAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.jina.Fail(doubles.Fault{Warning: "This page maybe not yet fully loaded, consider explicitly specify a timeout.", Times: 1})
	p := w.good(t, lighthouse)
	calls := w.jina.Calls()
	if len(calls) != 2 || calls[1].Header.Get("X-Timeout") != "60" || p.Via != "jina" || len(p.Notes) != 0 {
		t.Errorf("%d calls, %q", len(calls), p.Notes)
	}
}

// TestPoorTextIsTakenWhereNothingIsBetter reads a page of one sentence.
func TestPoorTextIsTakenWhereNothingIsBetter(t *testing.T) {
	w := newWorld(t, nil)
	p := w.good(t, "http://short.example/note")
	if p.Score >= scrape.Good || !strings.Contains(p.Text, "opens at seven") || !strings.Contains(notes(p), "may be incomplete") {
		t.Errorf("%+v", p)
	}
	if len(w.firecrawl.Calls()) != 1 || w.dials.Load() == 0 {
		t.Error("the other ways were not tried")
	}
}

func TestChallengesAreNoContent(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.fetch(t, "http://guarded.example/")
	if err == nil || !strings.Contains(err.Error(), "direct: the site wants a person to pass a check first (status 403)") || !strings.Contains(err.Error(), "jina: the site answered it with 403") {
		t.Errorf("%v", err)
	}
}

// TestNothingInsideIsReached wants no request at all, neither to a site nor to a
// service, which would learn names of hosts inside.
func TestNothingInsideIsReached(t *testing.T) {
	w := newWorld(t, nil)
	for _, url := range []string{
		"http://127.0.0.1/", "http://[::1]:80/", "http://169.254.169.254/latest/meta-data", "http://2130706433/", "http://0x7f.1/", "http://localhost:8080/",
		"hidden.example/wiki", "http://10.0.0.1", "file:///etc/passwd", "gopher://example.com/", "http://user:pw@harbour.example/", "ftp://harbour.example/", "javascript:alert(1)",
		"data:text/plain,x", "", " ", "http://", "https://\x00", "http://harbour.example/\r\nX: y", "http://" + strings.Repeat("a", 9000), "//harbour.example", "-oProxyCommand=x",
	} {
		if p, err := w.fetch(t, url); err == nil {
			t.Errorf("%q was read: %+v", url, p)
		}
	}
	if n := len(w.jina.Calls()) + len(w.serper.Calls()) + len(w.firecrawl.Calls()); n != 0 || w.dials.Load() != 0 {
		t.Errorf("%d calls of services, %d connections", n, w.dials.Load())
	}
}

// TestOpenedHostsAreNotToldToServices reads a host that an operator opened.
func TestOpenedHostsAreNotToldToServices(t *testing.T) {
	w := newWorld(t, nil)
	page, _ := w.web.Find(lighthouse)
	page.URL = "http://inside.example/wiki"
	w.web.Add(page)
	p := w.good(t, "http://inside.example/wiki")
	if n := len(w.jina.Calls()) + len(w.serper.Calls()) + len(w.firecrawl.Calls()); n != 0 || p.Via != "direct" {
		t.Errorf("%d calls of services; read by %s", n, p.Via)
	}
}

func TestPrivateNamesAreNotToldToServices(t *testing.T) {
	w := newWorld(t, nil)
	for _, url := range []string{"http://db.internal/", "http://printer/", "http://NAS.local./x"} {
		if p, err := w.fetch(t, url); err == nil {
			t.Errorf("%s: %+v", url, p)
		}
	}
	if n := len(w.jina.Calls()) + len(w.serper.Calls()) + len(w.firecrawl.Calls()); n != 0 {
		t.Errorf("%d calls of services", n)
	}
}

func TestRedirectsInsideAreNotFollowed(t *testing.T) {
	w := newWorld(t, siteOnly)
	w.web.Add(doubles.Page{URL: "http://harbour.example/trap", Forward: "http://hidden.example/"})
	if _, err := w.fetch(t, "http://harbour.example/trap"); err == nil || !strings.Contains(err.Error(), "refused: hidden.example leads to") {
		t.Errorf("%v", err)
	}
}

func TestRobots(t *testing.T) {
	w := newWorld(t, siteOnly)
	if _, err := w.fetch(t, "http://harbour.example/private/plans"); err == nil || !strings.Contains(err.Error(), "robots.txt") {
		t.Errorf("%v", err)
	}
}

func TestAddressesAreCompleted(t *testing.T) {
	w := newWorld(t, nil)
	p := w.good(t, "harbour.example/lighthouse#tickets")
	if p.URL != "https://harbour.example/lighthouse" || !strings.Contains(notes(p), "https:// was added") {
		t.Errorf("%s: %q", p.URL, p.Notes)
	}
	if p := w.good(t, "https://r.jina.ai/"+lighthouse); p.URL != lighthouse {
		t.Error(p.URL)
	}
	if p := w.good(t, "http://news.example/caf%C3%A9-opening?ref=front%20page"); p.Via != "jina" || !strings.Contains(p.Text, "rye bread") {
		t.Errorf("%s: %q", p.Via, p.Text)
	}
	if p := w.good(t, "http://harbour.example/old-lighthouse"); p.Final != lighthouse {
		t.Errorf("after a redirect: %s", p.Final)
	}
}

func TestMediaNamesTheTool(t *testing.T) {
	w := newWorld(t, siteOnly)
	w.web.Add(doubles.Page{URL: "http://harbour.example/photo", Type: "image/png", Body: []byte("\x89PNG")})
	for url, want := range map[string]string{
		"http://harbour.example/a/tower.JPG?x=1": "visual_question_answering",
		"http://harbour.example/horn.mp3":        "audio_transcription",
		"http://harbour.example/film.mp4":        "visual_audio_youtube_analyzing",
		"http://harbour.example/photo":           "visual_question_answering",
	} {
		if _, err := w.fetch(t, url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	page, _ := w.web.Find(lighthouse)
	for _, url := range []string{"http://www.youtube.com/watch?v=abc", "http://youtube.com/shorts/abc", "http://youtu.be/abc"} {
		page.URL = url
		w.web.Add(page)
		if p := w.good(t, url); !strings.Contains(notes(p), "visual_audio_youtube_analyzing with "+url) {
			t.Errorf("%s: %q", url, p.Notes)
		}
	}
}

// TestDocumentsAreConvertedHere wants a file to come from its site, and its pages.
func TestDocumentsAreConvertedHere(t *testing.T) {
	w := newWorld(t, nil)
	body, err := os.ReadFile("../document/testdata/minutes.docx")
	if err != nil {
		t.Fatal(err)
	}
	w.web.Add(doubles.Page{URL: "http://harbour.example/minutes.docx", Type: "application/octet-stream", Body: body})
	if p := w.good(t, "http://harbour.example/minutes.docx"); p.Via != "direct" || p.Score != 10 || len(w.jina.Calls()) != 0 || len(p.Text) < 100 || strings.Contains(p.Text, "PK\x03") {
		t.Errorf("%s %v %q", p.Via, p.Score, p.Text[:min(len(p.Text), 100)])
	}
	for _, url := range []string{lighthouse, "http://harbour.example/minutes.docx"} { // neither has pages
		p, err := w.chain.Fetch(t.Context(), scrape.Request{URL: url, Pages: "2"})
		if err != nil || strings.Count(notes(p), "pages was passed over") != 1 {
			t.Errorf("%s: %v, %+v", url, err, p)
		}
	}
	w.web.Add(doubles.Page{URL: "http://harbour.example/broken.pdf", Type: "application/pdf", Body: bytes.Repeat([]byte("no pdf "), 100)})
	if p, err := w.fetch(t, "http://harbour.example/broken.pdf"); err == nil && p.Via == "direct" && p.Score == 10 && strings.Contains(p.Text, "%PDF") {
		t.Errorf("%+v", p)
	}
}

func TestCharsets(t *testing.T) {
	w := newWorld(t, siteOnly)
	text := "<html><head><meta charset=\"iso-8859-1\"><title>Caf\xe9</title></head><body><p>" + strings.Repeat("Der Leuchtt\xfcrmer fr\xfchst\xfcckt. ", 20) + "</p></body></html>"
	w.web.Add(doubles.Page{URL: "http://harbour.example/latin", Type: "text/html", Body: []byte(text)})
	if p := w.good(t, "http://harbour.example/latin"); p.Title != "Café" || !strings.Contains(p.Text, "Leuchttürmer frühstückt") {
		t.Errorf("%q %q", p.Title, p.Text)
	}
}

// TestHugePages reads the begin of a page that is larger than is read, and of one that
// is nested beyond all measure.
func TestHugePages(t *testing.T) {
	w := newWorld(t, siteOnly)
	scrape.SetMaxPage(w.chain, 64<<10)
	w.web.Add(doubles.Page{URL: "http://harbour.example/huge", Type: "text/html", Body: []byte("<html><body><p>" + strings.Repeat("The begin of it. ", 30) + "</p><!--" + strings.Repeat("much that is no text ", 5000) + "--><p>The end</p></body></html>")})
	if p := w.good(t, "http://harbour.example/huge"); !strings.Contains(p.Text, "The begin of it.") || !strings.Contains(notes(p), "larger than 64 KiB") || strings.Contains(p.Text, "The end") {
		t.Errorf("%d characters, %q", len(p.Text), p.Notes)
	}
	w.web.Add(doubles.Page{URL: "http://harbour.example/deep", Type: "text/html", Body: []byte(strings.Repeat("<div>", 10_000) + "deep")})
	if p, err := w.fetch(t, "http://harbour.example/deep"); err == nil {
		t.Errorf("%+v", p)
	}
}

func TestBlockedAddresses(t *testing.T) {
	w := newWorld(t, nil)
	for _, url := range []string{
		"https://huggingface.co/datasets/x", "https://HuggingFace.co/Datasets/x", "https://hf.co/spaces/y", "http://www.huggingface.co/spaces", "huggingface.co//datasets/x",
		"https://huggingface.co/./datasets/x", "https://huggingface.co/%64atasets/x", "https://huggingface.co:443/datasets/x", "https://huggingface.co./datasets",
		"https://web.archive.org/web/2024/https://huggingface.co/datasets/x", "https://r.jina.ai/https://huggingface.co/datasets/x", "https://harbour.example/?u=https%3A%2F%2Fhuggingface.co%2Fdatasets%2Fx",
		"http://harbour.example/answers", // a redirect
	} {
		_, err := w.fetch(t, url)
		if !errors.As(err, new(*scrape.BlockedError)) || !strings.Contains(err.Error(), "Hugging Face dataset") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if n := len(w.serper.Calls()); n != 0 {
		t.Errorf("%d calls after a blocked redirect", n)
	}
	policy := w.chain.Policy()
	for _, url := range []string{"https://huggingface.co/models", "https://huggingface.co/", "https://nothuggingface.co/datasets/x", "https://example.com/datasets/huggingface.co", "https://huggingface.co/docs/datasets"} {
		if err := policy.Check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	direct := newWorld(t, siteOnly)
	if _, err := direct.fetch(t, "http://harbour.example/answers"); !errors.As(err, new(*scrape.BlockedError)) {
		t.Errorf("a redirect of the site: %v", err)
	}
	own, err := scrape.NewPolicy([]string{"secret.example", "shop.example/cart"})
	if err != nil {
		t.Fatal(err)
	}
	for url, blocked := range map[string]bool{"https://a.secret.example/x": true, "https://shop.example/cart/1": true, "https://shop.example/": false, "https://huggingface.co/datasets": false} {
		if err := own.Check(url); (err != nil) != blocked {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := scrape.NewPolicy([]string{"a b"}); err == nil || !strings.Contains(err.Error(), "option blocked") {
		t.Error(err)
	}
}

func TestScore(t *testing.T) {
	web := doubles.NewWeb()
	page, _ := web.Find(lighthouse)
	long := page.Markdown()
	for name, c := range map[string]struct {
		text, about string
		low, high   float64
	}{
		"a page":             {long, "", 8, 10},
		"a page that is it":  {long, "lighthouse Aldern height", 8, 10},
		"another page":       {long, "quantum chromodynamics lattice", 3, 5},
		"a sentence":         {page.Text[0][:120], "", 3, 4},
		"an answer in short": {page.Text[0][:120], "lighthouse Aldern river", 8, 8},
		"one word again":     {strings.Repeat("menu ", 400), "", 2, 6},
		"a challenge":        {"Just a moment... Checking your browser. " + strings.Repeat("Please wait while this is going on. ", 10), "", 0, 0.9},
		"an article on it":   {long + strings.Repeat(" A captcha is a test for readers of all kinds; its history is long.", 80), "", 5, 10},
		"nothing":            {"ok", "", 0, 0},
		"scraps":             {strings.Repeat("Home\nAbout\nNews\nShop\n", 150), "", 0, 4},
		"Chinese":            {strings.Repeat("灯塔位于阿尔德恩河口，建于一八七一年。塔高四十三米，游客可以在星期六登塔。门票六克朗。", 1) + strings.Repeat("渡轮每天五次开往斯卡恩岛，船上可以携带自行车与汽车。", 3) + strings.Repeat("居民出示证件可享受三分之一票价，团体请咨询事务长。", 4) + strings.Repeat("货运须于前一日中午之前在港务局预订。", 4), "", 6, 10},
	} {
		if s := scrape.Score(c.text, c.about); s < c.low || s > c.high {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func TestParts(t *testing.T) {
	p := &scrape.Page{Text: "aäöü日本"}
	for _, c := range []struct {
		offset, limit, next int
		want                string
	}{{0, 3, 3, "aäö"}, {3, 3, 0, "ü日本"}, {9, 3, 0, ""}, {-1, 2, 2, "aä"}, {2, 0, 2, ""}} {
		if got, next := p.Part(c.offset, c.limit); got != c.want || next != c.next {
			t.Errorf("%+v: %q, %d", c, got, next)
		}
	}
}

func TestKeptPages(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 3 {
		p, err := w.chain.Fetch(t.Context(), scrape.Request{URL: lighthouse, Kept: i > 0})
		if err != nil || p.Via != "jina" {
			t.Fatal(err)
		}
	}
	if n := len(w.jina.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	w.good(t, lighthouse)
	if n := len(w.jina.Calls()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestSettings(t *testing.T) {
	w := newWorld(t, siteOnly)
	if got := w.chain.Ways(); len(got) != 1 || got[0] != "direct" {
		t.Errorf("%v", got)
	}
	if _, err := scrape.New(scrape.Options{}); err == nil {
		t.Error("a chain of nothing")
	}
	pages, _ := egress.New(egress.Options{Proxy: "none"})
	guard, _ := egress.NewGuard("test", nil)
	_, err := scrape.New(scrape.Options{Pages: pages, Guard: guard, Documents: document.New(document.Options{}), Jina: scrape.Service{Base: "no url"}})
	if err == nil || !strings.Contains(err.Error(), "base URL of jina") {
		t.Error(err)
	}
}

// TestUnseen leaves out what nobody sees, whoever has read the page.
func TestUnseen(t *testing.T) {
	for _, change := range []func(*scrape.Options){nil, siteOnly} {
		w := newWorld(t, change)
		w.web.Add(doubles.Page{URL: "http://harbour.example/unseen", Title: "A\u202et\u202citle", Text: []string{strings.Repeat("Plain words of a page that differ in each of its lines. ", 20) + "sec\u200bret\U000E0041\U000E0042 \u2066end\u2069"}})
		p := w.good(t, "http://harbour.example/unseen")
		if strings.ContainsAny(p.Title+p.Text+notes(p), "\u202e\u200b\U000E0041\u2066") || !strings.Contains(p.Text, "secret end") || !strings.Contains(notes(p), "characters that cannot be seen were left out") {
			t.Errorf("%s: %+q, %+q, %+q", p.Via, p.Title, p.Text, p.Notes)
		}
	}
}

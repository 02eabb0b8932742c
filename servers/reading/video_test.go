package reading_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/reading"
)

const captions = `{"events":[{"tStartMs":0,"segs":[{"utf8":"Water flows in"}]},{"tStartMs":65000,"segs":[{"utf8":"and the gate opens."}]}]}`

// newTube stands for YouTube: a page of its shape, and captions that can be held back.
func newTube(t *testing.T, w *web) (captionsGiven *atomic.Bool) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("media", "testdata", "watch.html"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "https://www.youtube.com/", "http://www.youtube.com/")
	captionsGiven = &atomic.Bool{}
	w.HandleFunc("/watch", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Query().Get("v") {
		case "aaaaaaaaaaa":
			fmt.Fprint(rw, text)
		case "silentaaaaa":
			fmt.Fprint(rw, `<script>var ytInitialPlayerResponse = {"playabilityStatus":{"status":"OK"},"videoDetails":{"title":"Silent","lengthSeconds":"5"}};</script>`)
		case "privateaaaa":
			fmt.Fprint(rw, `<script>var ytInitialPlayerResponse = {"playabilityStatus":{"status":"LOGIN_REQUIRED","reason":"This video is private"}};</script>`)
		default:
			fmt.Fprint(rw, `<form action="https://consent.youtube.com/save">Before you continue</form>`)
		}
	})
	w.HandleFunc("/api/timedtext", func(rw http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("fmt") != "json3" || q.Get("v") != "aaaaaaaaaaa" {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		if captionsGiven.Load() {
			fmt.Fprint(rw, captions)
		}
	})
	return captionsGiven
}

// TestVideo reads pages of YouTube, with captions and where the site keeps them.
func TestVideo(t *testing.T) {
	w := newWeb(t)
	given := newTube(t, w)
	given.Store(true)
	cs := connect(t, reading.Options{Readers: reading.Readers{YouTubeBaseURL: "http://" + w.knobs.Web}}, w.knobs)
	for _, uri := range []string{"https://www.youtube.com/watch?v=aaaaaaaaaaa&t=10s", "https://youtu.be/aaaaaaaaaaa?si=x", "https://m.youtube.com/shorts/aaaaaaaaaaa", "http://youtube.com/embed/aaaaaaaaaaa", "https://www.youtube.com/live/aaaaaaaaaaa"} {
		got := good(t, cs, args{"uri": uri})
		holds(t, got.body, "# How a \"lock\" works; {in} 4 minutes", "By: Canal School", "Length: 4:05", "## Description", "[0:00] Water flows in\n[1:05] and the gate opens.")
		if got.data.Format != "video" || got.data.Final != "https://www.youtube.com/watch?v=aaaaaaaaaaa" && got.data.Final != "" {
			t.Errorf("%s: %+v", uri, got.data)
		}
	}
	if part := good(t, cs, args{"uri": "https://youtu.be/aaaaaaaaaaa", "max_chars": 20, "offset": 2}); part.data.Content != "How a \"lock\" works; " || part.data.Next != 22 {
		t.Errorf("got %+v", part.data)
	}
	given.Store(false)
	got := good(t, cs, args{"uri": "https://youtu.be/aaaaaaaaaaa"})
	holds(t, got.text, "## Description", "gave an empty answer", "visual_audio_youtube_analyzing")
	holdsNot(t, got.text, "## Transcript")
	holds(t, good(t, cs, args{"uri": "https://youtu.be/silentaaaaa"}).text, "# Silent", "offers no captions")
	refused(t, cs, args{"uri": "https://youtu.be/privateaaaa"}, "This video is private")
	refused(t, cs, args{"uri": "https://youtu.be/consentaaaa"}, "asks for consent", "visual_audio_youtube_analyzing")
	w.clean(t)
}

// TestVideoByReader asks a reader for a page of YouTube that is not given here.
func TestVideoByReader(t *testing.T) {
	w := newWeb(t)
	newTube(t, w)
	pages := doubles.NewWeb()
	pages.Add(doubles.Page{URL: "https://www.youtube.com/watch?v=consentaaaa", Title: "By a reader", Text: []string{strings.Repeat("What is said in the film is written down here by the reader in whole sentences. ", 10)}})
	cs := connect(t, reading.Options{Readers: reading.Readers{YouTubeBaseURL: "http://" + w.knobs.Web, JinaBaseURL: doubles.Start(t, doubles.Jina(pages))}}, w.knobs)
	holds(t, good(t, cs, args{"uri": "https://youtu.be/consentaaaa"}).text, "What is said in the film", "by way of jina")
	pages.Add(doubles.Page{URL: "https://www.youtube.com/watch?v=silentaaaaa", Title: "By a reader", Text: []string{strings.Repeat("Somebody has heard this and wrote it down for the reader of the page. ", 10)}})
	got := good(t, cs, args{"uri": "https://youtu.be/silentaaaaa"})
	holds(t, got.body, "# Silent", "## The page by way of jina", "Somebody has heard this")
	if got.data.Format != "video" || got.data.Title != "Silent" {
		t.Errorf("got %+v", got.data)
	}
}

// TestMediaPages reads pages of films elsewhere.
func TestMediaPages(t *testing.T) {
	w := newWeb(t)
	w.serve("/film", "text/html", []byte(`<html><head><title>Film</title><script type="application/ld+json">{"@type":"VideoObject","name":"The film","description":"Of a barge","duration":"PT2M"}</script></head>
		<body><video><track kind="subtitles" src="subs/en.vtt" srclang="en" label="English"></video><p>Text of the page itself.</p></body></html>`))
	w.serve("/subs/en.vtt", "text/vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nAll aboard\n"))
	w.serve("/inside", "text/html", []byte(`<html><head><meta property="og:type" content="video.movie"></head><body><video><track src="http://127.0.0.1:9/x.vtt"></video><p>Text of the page itself.</p></body></html>`))
	cs := connect(t, reading.Options{}, w.knobs)
	got := good(t, cs, args{"uri": "http://site.example/film"})
	holds(t, got.body, "# The film", "Length: 2:00", "[0:01] All aboard", "## The page\n\n", "Text of the page itself.")
	all := got.body
	var parts strings.Builder
	for offset := 0; ; offset += 67 {
		p := good(t, cs, args{"uri": "http://site.example/film", "max_chars": 67, "offset": offset})
		parts.WriteString(p.data.Content)
		if p.data.Next == 0 {
			break
		}
	}
	if parts.String() != all {
		t.Errorf("the parts are not the whole:\n%q\n%q", parts.String(), all)
	}
	holds(t, good(t, cs, args{"uri": "http://site.example/inside"}).text, "Text of the page itself.", "could not be read: refused")
}

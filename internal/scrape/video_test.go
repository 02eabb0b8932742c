package scrape_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

const captions = "WEBVTT\n\n1\n00:00.500 --> 00:02.000\n<c>The</c> lamp &amp; the <00:00:01.000>lens\n\n00:01:02,000 --> 00:01:04,000\nThe lamp & the lens\nturn slowly\n\nNOTE hidden\n\n01:00:00.000 --> 01:00:01.000\nThe end\n"

func TestVideoPages(t *testing.T) {
	w := newWorld(t, siteOnly)
	const state = `{"videoDetails":{"title":"The lamp","author":"Harbour TV","lengthSeconds":"3725","viewCount":"12","shortDescription":"How the lamp turns.\n\n0:00 begin"},` +
		`"captions":{"playerCaptionsTracklistRenderer":{"captionTracks":[{"baseUrl":"/timedtext?v=abc&kind=asr","languageCode":"en","kind":"asr"},{"baseUrl":"/timedtext?v=abc","languageCode":"en"}]}}}`
	w.web.Add(doubles.Page{URL: "http://www.youtube.com/watch?v=abc", Type: "text/html", Body: []byte(`<html><head><title>The lamp - YouTube</title></head><body><script>var ytInitialPlayerResponse = ` + state + `;var x = 1;</script></body></html>`)})
	w.web.Add(doubles.Page{URL: "http://www.youtube.com/timedtext?fmt=vtt&v=abc", Type: "text/vtt", Body: []byte(captions)})
	p := w.good(t, "http://www.youtube.com/watch?v=abc")
	for _, want := range []string{"# The lamp", "- Channel: Harbour TV", "- Length: 1:02:05", "How the lamp turns.", "## Transcript\n\n[00:00] The lamp & the lens\n[01:02] turn slowly\n[1:00:00] The end"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is not in %s", want, p.Text)
		}
	}
	if p.Title != "The lamp" || !strings.Contains(notes(p), "visual_audio_youtube_analyzing") || strings.Contains(notes(p), "machine") {
		t.Errorf("%q %q", p.Title, p.Notes)
	}
	w.web.Add(doubles.Page{URL: "http://www.youtube.com/timedtext?fmt=vtt&v=abc", Status: 404, Type: "text/html", Body: []byte("none")})
	if p := w.good(t, "http://www.youtube.com/watch?v=abc"); !strings.Contains(p.Text, "How the lamp turns.") || !strings.Contains(notes(p), "transcript could not be read") {
		t.Errorf("%s %q", p.Text, p.Notes)
	}
	w.web.Add(doubles.Page{URL: "http://harbour.example/film", Type: "text/html", Body: []byte(`<html><body><h1>Film</h1><p>` + strings.Repeat("About the lamp and its keeper in many words. ", 20) + `</p><video src="a.mp4"><track kind="captions" src="a.vtt"></video></body></html>`)})
	w.web.Add(doubles.Page{URL: "http://harbour.example/a.vtt", Type: "text/vtt", Body: []byte(captions)})
	if p := w.good(t, "http://harbour.example/film"); !strings.Contains(p.Text, "many words") || !strings.Contains(p.Text, "[01:02] turn slowly") {
		t.Errorf("%s", p.Text)
	}
	// Captions are fetched by the same rules as pages.
	w.web.Add(doubles.Page{URL: "http://harbour.example/film", Type: "text/html", Body: []byte(`<html><body><h1>Film</h1><p>` + strings.Repeat("About the lamp and its keeper in many words. ", 20) + `</p><video src="a.mp4"><track src="http://hidden.example/a.vtt"></video></body></html>`)})
	if p := w.good(t, "http://harbour.example/film"); !strings.Contains(p.Text, "many words") || strings.Contains(p.Text, "turn slowly") {
		t.Errorf("%s", p.Text)
	}
}

func FuzzCaptions(f *testing.F) {
	f.Add(captions)
	f.Add("00:-1 --> x\n<<<>>")
	f.Fuzz(func(t *testing.T, s string) {
		if n := len(scrape.Captions(s)); n > strings.Count(s, "\n")+1 {
			t.Errorf("%d cues", n)
		}
	})
}

package media_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/reading/media"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPlayer reads a page of the shape that those of YouTube have.
func TestPlayer(t *testing.T) {
	v, err := media.Player(testdata(t, "watch.html"))
	if err != nil {
		t.Fatal(err)
	}
	want := &media.Video{
		Title: `How a "lock" works; {in} 4 minutes`, Author: "Canal School", Published: "2024-05-06T07:00:00-07:00", Kind: "video",
		Description: "A barge goes up.\n\n0:00 Begin\n1:10 The gates", Length: 245 * time.Second, Views: "10422",
		Tracks: []media.Track{
			{URL: "https://www.youtube.com/api/timedtext?v=aaaaaaaaaaa&lang=de&key=yt8", Name: "German", Language: "de"},
			{URL: "/api/timedtext?v=aaaaaaaaaaa&lang=en&key=yt8", Name: "English (auto-generated)", Language: "en", Auto: true},
		},
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	if _, err := media.Player([]byte(`<html>var ytInitialPlayerResponse = null; ytInitialPlayerResponse = {"videoDetails":`)); err == nil {
		t.Error("a page that was cut off is taken")
	}
	v, err = media.Player([]byte(`window["ytInitialPlayerResponse"] = {"playabilityStatus":{"status":"LOGIN_REQUIRED","reason":"Sign in to confirm your age"}};`))
	if err != nil || v.Problem != "Sign in to confirm your age" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestBest(t *testing.T) {
	track := func(language string, auto bool) media.Track { return media.Track{Language: language, Auto: auto} }
	for _, tt := range []struct {
		tracks []media.Track
		want   int
	}{
		{[]media.Track{track("fr", false), track("en-GB", false)}, 1},
		{[]media.Track{track("en", false), track("fr", true), track("fr", false)}, 2},
		{[]media.Track{track("en", false), track("fr", true)}, 1},
		{[]media.Track{track("zh", false), track("ja", false)}, 0},
	} {
		v := media.Video{Tracks: tt.tracks}
		if got, ok := v.Best(); !ok || got != tt.tracks[tt.want] {
			t.Errorf("%v: %v", tt.tracks, got)
		}
	}
	if _, ok := (&media.Video{}).Best(); ok {
		t.Error("there is a best one of none")
	}
}

// TestCues reads each form of captions.
func TestCues(t *testing.T) {
	want := []media.Cue{{0, "It's the first & the last"}, {2500 * time.Millisecond, "second line"}, {3661 * time.Second, "late"}}
	for name, data := range map[string]string{
		"json": `{"wireMagic":"pb3","events":[{"tStartMs":0,"dDurationMs":2000,"id":1},{"tStartMs":0,"segs":[{"utf8":"It's the "},{"utf8":"first\n& the last","tOffsetMs":200}]},{"tStartMs":1000,"aAppend":1,"segs":[{"utf8":"\n"}]},{"tStartMs":2500,"segs":[{"utf8":"second line"}]},{"tStartMs":3661000,"segs":[{"utf8":"late"}]}]}`,
		"xml":  `<?xml version="1.0" encoding="utf-8" ?><transcript><text start="0" dur="2">It&amp;#39;s the first &amp;amp; the last</text><text start="2.5">second line</text><text start="3661">late</text></transcript>`,
		"srv3": `<timedtext format="3"><head><ws id="0"/></head><body><p t="0" d="2000"><s>It's</s><s t="200"> the first</s> &amp; the last</p><p t="2500">second line</p><p t="3661000">late</p></body></timedtext>`,
		"vtt":  "\xef\xbb\xbfWEBVTT - made up\n\nNOTE nothing\n\n1\n00:00.000 --> 00:02.000 align:start\n<v Ann>It's the <b>first</b>\n&amp; the last\n\n00:02.500 --> 00:03.000\nsecond line\n\n00:02.900 --> 00:03.500\nsecond line\n\n01:01:01.000 --> 01:01:02.000\nlate\n",
		"srt":  "1\r\n00:00:00,000 --> 00:00:02,000\r\nIt's the first\r\n& the last\r\n\r\n2\r\n00:00:02,500 --> 00:00:03,000\r\nsecond line\r\n\r\n3\r\n01:01:01,000 --> 01:01:02,000\r\nlate",
	} {
		if diff := cmp.Diff(want, media.Cues([]byte(data))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, bad := range []string{"", "{", "<", "<html><body>no</body></html>", "no captions", `{"events":1}`, "<transcript><text start=\"1\">cut o"} {
		if got := media.Cues([]byte(bad)); len(got) > 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestPage reads what pages say by OpenGraph, by JSON-LD and by their player.
func TestPage(t *testing.T) {
	v := media.Page([]byte(`<html><head><meta property="og:type" content="video.other"><meta property="og:title" content="A &amp; B">
		<meta property="og:description" content="Of two letters"><meta property="og:video:duration" content="61"><meta property="og:site_name" content="Films"></head></html>`), "text/html")
	if v == nil || v.Title != "A & B" || v.Description != "Of two letters" || v.Length != 61*time.Second || v.Site != "Films" || v.Kind != "video" {
		t.Errorf("%+v", v)
	}
	v = media.Page([]byte(`<html><head><title>t</title><script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"WebPage","name":"No"},
		{"@type":["PodcastEpisode"],"name":"Episode &#39;one&#39;","description":"About bees","duration":"PT1H2M3S","datePublished":"2025-01-02","author":[{"@type":"Person","name":"Eve Nobody"}],
		"transcript":"Bees are many."}]}</script></head></html>`), "text/html; charset=utf-8")
	if v == nil || v.Title != "Episode 'one'" || v.Length != 3723*time.Second || v.Author != "Eve Nobody" || v.Spoken != "Bees are many." || v.Kind != "audio" {
		t.Errorf("%+v", v)
	}
	v = media.Page([]byte(`<video src="x.mp4"><track kind="captions" src="/c.vtt" srclang="en" label="English"><track kind="metadata" src="m.vtt"></video>`), "text/html")
	if v == nil || len(v.Tracks) != 1 || v.Tracks[0].URL != "/c.vtt" {
		t.Errorf("%+v", v)
	}
	for _, none := range []string{"", "<p>text</p>", `<meta property="og:type" content="article"><script type="application/ld+json">{"@type":"Article","name":"x"}</script>`, `<script type="application/ld+json">{broken</script>`} {
		if v := media.Page([]byte(none), "text/html"); v != nil {
			t.Errorf("%q: %+v", none, v)
		}
	}
	deep := strings.Repeat(`{"@graph":[`, 5000) + strings.Repeat("]}", 5000)
	if v := media.Page([]byte(`<script type="application/ld+json">`+deep+`</script>`), "text/html"); v != nil {
		t.Errorf("%+v", v)
	}
}

func TestMarkdown(t *testing.T) {
	v := &media.Video{Title: "T", Site: "S", Author: "A", Length: 3725 * time.Second, Description: "D", Problem: "P", Live: true, Tracks: []media.Track{{Name: "English"}, {Language: "de", Auto: true}}}
	cues := []media.Cue{{time.Second, "one"}, {2 * time.Second, "two"}, {time.Minute, "three"}, {3700 * time.Second, "four"}}
	want := "# T\n\n- Site: S\n- By: A\n- Length: 1:02:05\n- Live: yes\n- Not played: P\n- Captions: English, de (by a machine)\n\n## Description\n\nD\n\n## Transcript\n\n[0:01] one two\n[1:00] three\n[1:01:40] four"
	if diff := cmp.Diff(want, v.Markdown(cues)); diff != "" {
		t.Error(diff)
	}
}

// TestBounds reads what is larger than anybody wants.
func TestBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"events":[`)
	for i := range 31_000 {
		fmt.Fprintf(&b, `{"tStartMs":%d,"segs":[{"utf8":"word %d"}]},`, i, i)
	}
	b.WriteString(`{"tStartMs":1e300}]}`)
	if got := media.Cues([]byte(strings.ReplaceAll(b.String(), ",{\"tStartMs\":1e300}", ""))); len(got) != 30_000 {
		t.Errorf("%d cues", len(got))
	}
	v, err := media.Player([]byte(`ytInitialPlayerResponse = {"videoDetails":{"title":"` + strings.Repeat("x", 1000) + `","lengthSeconds":"-1","shortDescription":"` + strings.Repeat("é", 20_000) + `"}}`))
	if err != nil || len(v.Title) > 310 || len([]rune(v.Description)) > 8001 || v.Length != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func FuzzPlayer(f *testing.F) {
	f.Add([]byte(`ytInitialPlayerResponse = {"videoDetails":{"title":"x"}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if v, err := media.Player(b); err == nil {
			_ = v.Markdown(nil)
		}
	})
}

func FuzzCues(f *testing.F) {
	f.Add([]byte("WEBVTT\n\n00:01.000 --> 00:02.000\nx"))
	f.Add([]byte(`<transcript><text start="0">x</text></transcript>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range media.Cues(b) {
			if c.Start < 0 || c.Text == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add([]byte(`<script type="application/ld+json">{"@type":"VideoObject","name":"x","duration":"PT1S"}</script><track src=x>`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if v := media.Page(b, "text/html"); v != nil {
			_ = v.Markdown(nil)
		}
	})
}

package media

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Cue is what is said at a time.
type Cue struct {
	Start time.Duration
	Text  string
}

// Cues reads captions: the JSON and both kinds of XML that YouTube has, WebVTT and
// SubRip. It returns nothing where they are none of these.
func Cues(data []byte) []Cue {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var list cues
	switch {
	case len(data) == 0:
	case data[0] == '{':
		list.fromJSON(data)
	case data[0] == '<':
		list.fromXML(data)
	default:
		list.fromText(string(data))
	}
	return list.all
}

type cues struct {
	all   []Cue
	chars int
}

// add takes a cue. One that repeats the cue before it is left out: captions that roll
// up the screen say each line twice.
func (c *cues) add(start time.Duration, text string) bool {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || len(c.all) > 0 && c.all[len(c.all)-1].Text == text {
		return true
	}
	c.chars += len(text)
	if len(c.all) >= maxCues || c.chars > maxTranscript {
		return false
	}
	c.all = append(c.all, Cue{max(start, 0), text})
	return true
}

func (c *cues) fromJSON(data []byte) {
	var file struct {
		Events []struct {
			Start    int64 `json:"tStartMs"`
			Segments []struct {
				Text string `json:"utf8"`
			} `json:"segs"`
		} `json:"events"`
	}
	if json.Unmarshal(data, &file) != nil {
		return
	}
	for _, e := range file.Events {
		var b strings.Builder
		for _, s := range e.Segments {
			b.WriteString(s.Text)
		}
		if !c.add(millis(float64(e.Start)), b.String()) {
			return
		}
	}
}

// millis returns milliseconds as a time, within what players can show.
func millis(ms float64) time.Duration {
	return time.Duration(min(max(ms, 0), 1e10)) * time.Millisecond
}

func (c *cues) fromXML(data []byte) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var text strings.Builder
	start, open := time.Duration(0), false
	for {
		t, err := d.Token()
		if err != nil {
			return
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "text" || t.Name.Local == "p" {
				start, open = startOf(t), true
				text.Reset()
			}
		case xml.CharData:
			if open {
				text.Write(t)
			}
		case xml.EndElement:
			if open && (t.Name.Local == "text" || t.Name.Local == "p") {
				open = false
				if !c.add(start, html.UnescapeString(text.String())) { // it is escaped twice
					return
				}
			}
		}
	}
}

// startOf reads the time of an element: start in seconds, or t in milliseconds.
func startOf(e xml.StartElement) time.Duration {
	for _, a := range e.Attr {
		n, err := strconv.ParseFloat(a.Value, 64)
		switch {
		case err != nil:
		case a.Name.Local == "start":
			return millis(n * 1000)
		case a.Name.Local == "t":
			return millis(n)
		}
	}
	return 0
}

var (
	timing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{3})\s+-->\s`)
	})
	marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^<>]{0,200}>`) })
)

// fromText reads WebVTT and SubRip, which differ in little.
func (c *cues) fromText(s string) {
	var text []string
	start, open := time.Duration(0), false
	for l := range strings.Lines(strings.ReplaceAll(s, "\r\n", "\n") + "\n\n") {
		l = strings.TrimSpace(l)
		m := timing().FindStringSubmatch(l + " ")
		switch {
		case m != nil:
			n := func(i int) float64 { v, _ := strconv.ParseFloat("0"+m[i], 64); return v }
			start, open = millis(((n(1)*60+n(2))*60+n(3))*1000+n(4)), true
			text = nil
		case l == "" && open:
			open = false
			if !c.add(start, html.UnescapeString(marks().ReplaceAllString(strings.Join(text, " "), ""))) {
				return
			}
		case open && len(text) < 100:
			text = append(text, l)
		}
	}
}

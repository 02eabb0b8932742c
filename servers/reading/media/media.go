// Package media reads what pages of films and recordings say of them: titles,
// descriptions, lengths and what is spoken, with times where there are some.
//
//	if v, err := media.Player(page); err == nil { // a page of YouTube
//		track, ok := v.Best()
//		cues := media.Cues(captions) // of track.URL
//		fmt.Println(v.Markdown(cues))
//	}
//	if v := media.Page(page, contentType); v != nil { // another page with a film
//		fmt.Println(v.Markdown(nil))
//	}
//
// It requests nothing: whoever calls it gets the captions. What it returns was written
// by others, and is cut to bounds.
package media

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds, in characters where nothing else is said.
const (
	maxTitle       = 300
	maxLine        = 200
	maxDescription = 8000
	maxTranscript  = 2_000_000
	maxTracks      = 200
	maxCues        = 30_000
)

// A Video is what is known of a film or a recording.
type Video struct {
	Title       string
	Description string
	Author      string
	Published   string
	Site        string
	Kind        string // video, audio, or ""
	Length      time.Duration
	Live        bool
	Views       string
	Problem     string // why it is not played, in the site's words
	Tracks      []Track
	Spoken      string // what is said, without times
}

// A Track is captions or subtitles.
type Track struct {
	URL      string
	Name     string
	Language string
	Auto     bool // made by a machine that listened
}

func (t Track) String() string {
	name := t.Name
	if name == "" {
		name = t.Language
	}
	if t.Auto && !strings.Contains(name, "auto") {
		name += " (by a machine)"
	}
	return name
}

// Best returns the track that says best what is spoken: one that people wrote, in the
// language of the recording where that is known, else in English, else any; else one
// of a machine.
func (v *Video) Best() (Track, bool) {
	if len(v.Tracks) == 0 {
		return Track{}, false
	}
	spoken := "en"
	for _, t := range v.Tracks {
		if t.Auto {
			spoken = base(t.Language)
			break
		}
	}
	best, points := v.Tracks[0], -1
	for _, t := range v.Tracks {
		n := 0
		if !t.Auto {
			n += 2
		}
		if base(t.Language) == spoken {
			n += 4
		}
		if n > points {
			best, points = t, n
		}
	}
	return best, true
}

// base returns a language without its region.
func base(language string) string {
	b, _, _ := strings.Cut(strings.ToLower(language), "-")
	return b
}

// Markdown returns all that is known of v as Markdown, with cues as its transcript.
func (v *Video) Markdown(cues []Cue) string {
	var b strings.Builder
	if v.Title != "" {
		fmt.Fprintf(&b, "# %s\n\n", v.Title)
	}
	item := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	item("Site", v.Site)
	item("By", v.Author)
	item("Published", v.Published)
	if v.Length > 0 {
		item("Length", Clock(v.Length))
	}
	if v.Live {
		item("Live", "yes")
	}
	item("Views", v.Views)
	item("Not played", v.Problem)
	var names []string
	for _, t := range v.Tracks[:min(len(v.Tracks), 30)] {
		names = append(names, t.String())
	}
	if len(v.Tracks) > 30 {
		names = append(names, fmt.Sprintf("%d more", len(v.Tracks)-30))
	}
	item("Captions", strings.Join(names, ", "))
	if v.Description != "" {
		fmt.Fprintf(&b, "\n## Description\n\n%s\n", v.Description)
	}
	switch {
	case len(cues) > 0:
		b.WriteString("\n## Transcript\n\n")
		writeCues(&b, cues)
	case v.Spoken != "":
		fmt.Fprintf(&b, "\n## Transcript\n\n%s\n", v.Spoken)
	}
	return strings.TrimSpace(b.String())
}

// Lines of a transcript are joined up to these.
const (
	lineChars = 240
	lineTime  = 20 * time.Second
)

// writeCues writes lines that begin with their time. What follows soon is put on the
// same line: captions are cut for a screen, not for a reader.
func writeCues(b *strings.Builder, cues []Cue) {
	begin, chars := time.Duration(-1), 0
	for _, c := range cues {
		n := utf8.RuneCountInString(c.Text)
		if begin < 0 || c.Start-begin >= lineTime || chars+n > lineChars {
			if begin >= 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "[%s]", Clock(c.Start))
			begin, chars = c.Start, 0
		}
		b.WriteString(" " + c.Text)
		chars += n + 1
	}
	b.WriteString("\n")
}

// Clock returns a time as players show it: 4:05 or 1:04:05.
func Clock(d time.Duration) string {
	s := int64(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// line returns foreign text on one line, cut to at most n characters.
func line(s string, n int) string { return cut(strings.Join(strings.Fields(s), " "), n) }

// cut shortens s to at most n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

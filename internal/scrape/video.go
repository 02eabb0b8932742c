package scrape

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	xhtml "golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds on what is read of a film's page.
const (
	maxCaptions = 4 << 20 // bytes
	maxCues     = 20_000
)

// A cue is what is said at one time.
type cue struct {
	at   time.Duration
	text string
}

// video returns what the page of a film says of it: title, description, and the words
// that are said, with their times, where the page leads to them.
func (c *Chain) video(ctx context.Context, at string, body []byte) (found, bool) {
	u, err := url.Parse(at)
	if err != nil {
		return found{}, false
	}
	if isVideoPage(u) {
		return c.youtube(ctx, u, body)
	}
	track := captionTrack(body)
	if track == "" {
		return found{}, false
	}
	to, err := u.Parse(track)
	if err != nil {
		return found{}, false
	}
	text, note := c.transcript(ctx, to.String())
	return found{text: text, notes: note}, text != ""
}

// captionTrack returns the address of the captions of a film in a page, or "".
func captionTrack(body []byte) string {
	if !bytes.Contains(body, []byte("<track")) {
		return ""
	}
	z := xhtml.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			return ""
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			t := z.Token()
			if t.Data != "track" {
				continue
			}
			a := map[string]string{}
			for _, x := range t.Attr {
				a[x.Key] = x.Val
			}
			if kind := cmp.Or(a["kind"], "subtitles"); a["src"] != "" && (kind == "captions" || kind == "subtitles") {
				return a["src"]
			}
		case xhtml.TextToken, xhtml.EndTagToken, xhtml.CommentToken, xhtml.DoctypeToken:
		}
	}
}

// youtube reads the state that a page of YouTube carries for its player.
func (c *Chain) youtube(ctx context.Context, at *url.URL, body []byte) (found, bool) {
	_, rest, ok := bytes.Cut(body, []byte("ytInitialPlayerResponse = "))
	if !ok {
		return found{}, false
	}
	var state struct {
		Details struct {
			Title       string `json:"title"`
			Author      string `json:"author"`
			Length      string `json:"lengthSeconds"`
			Views       string `json:"viewCount"`
			Description string `json:"shortDescription"`
		} `json:"videoDetails"`
		Captions struct {
			List struct {
				Tracks []struct {
					URL      string `json:"baseUrl"`
					Language string `json:"languageCode"`
					Kind     string `json:"kind"` // asr: recognised by a machine
				} `json:"captionTracks"`
			} `json:"playerCaptionsTracklistRenderer"`
		} `json:"captions"`
	}
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&state) != nil || state.Details.Title == "" {
		return found{}, false
	}
	d := state.Details
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", egress.Plain(d.Title, 300))
	for _, f := range [][2]string{{"Channel", d.Author}, {"Length", length(d.Length)}, {"Views", d.Views}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", f[0], egress.Plain(f[1], 200))
		}
	}
	if d.Description != "" {
		b.WriteString("\n## Description\n\n" + d.Description + "\n")
	}
	out := found{title: d.Title, final: at.String(), document: true}
	best := -1
	for i, t := range state.Captions.List.Tracks { // the first that people wrote, else the first
		if best < 0 || state.Captions.List.Tracks[best].Kind == "asr" && t.Kind != "asr" {
			best = i
		}
	}
	if best < 0 {
		out.notes = []string{"the page offers no transcript"}
		out.text = b.String()
		return out, true
	}
	t := state.Captions.List.Tracks[best]
	if to, err := at.Parse(t.URL); err == nil {
		q := to.Query()
		q.Set("fmt", "vtt")
		to.RawQuery = q.Encode()
		text, notes := c.transcript(ctx, to.String())
		out.notes = notes
		b.WriteString("\n" + text)
		if t.Kind == "asr" && text != "" {
			out.notes = append(out.notes, "the transcript was made by a machine")
		}
	}
	out.text = b.String()
	return out, true
}

func length(seconds string) string {
	n, err := strconv.Atoi(seconds)
	if err != nil || n <= 0 || n > 1e6 {
		return ""
	}
	return clock(time.Duration(n) * time.Second)
}

// transcript reads captions, as a chapter of a text.
func (c *Chain) transcript(ctx context.Context, address string) (string, []string) {
	none := func(why string) (string, []string) { return "", []string{"the transcript could not be read: " + why} }
	resp, err := c.o.Pages.Do(ctx, egress.Request{
		URL: address, MaxBody: maxCaptions, Cut: true, Robots: true, Refuse: c.policy.Check, Header: http.Header{"Accept": {"text/vtt, */*;q=0.5"}},
	})
	if err != nil {
		return none(err.Error())
	}
	cues := parseVTT(string(resp.Body))
	if !resp.OK() || len(cues) == 0 {
		return none(fmt.Sprintf("its address holds none (status %d)", resp.Status))
	}
	var b strings.Builder
	b.WriteString("## Transcript\n\n")
	for _, cue := range cues {
		fmt.Fprintf(&b, "[%s] %s\n", clock(cue.at), cue.text)
	}
	return b.String(), nil
}

func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// parseVTT reads WebVTT, and SubRip, which is nearly the same. Lines that a cue says
// again, as rolling captions do, are left out.
func parseVTT(s string) []cue {
	var out []cue
	last := ""
	var at time.Duration
	in := false
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if from, _, ok := strings.Cut(line, "-->"); ok {
			at, in = cueTime(from)
			continue
		}
		if line == "" {
			in = false
			continue
		}
		if text := spoken(line); in && text != "" && text != last && len(out) < maxCues {
			out, last = append(out, cue{at, text}), text
		}
	}
	return out
}

// cueTime reads 01:02:03.400, 02:03.400 or 01:02:03,400.
func cueTime(s string) (time.Duration, bool) {
	var total time.Duration
	parts := strings.SplitN(strings.ReplaceAll(strings.TrimSpace(s), ",", "."), ":", 4)
	for _, p := range parts {
		n, err := strconv.ParseFloat(p, 64)
		if err != nil || !(n >= 0 && n <= 10_000) || len(parts) > 3 {
			return 0, false
		}
		total = total*60 + time.Duration(n*float64(time.Second))
	}
	return total, true
}

// spoken returns a line of a cue without marks such as <i> and <00:00:01.000>.
func spoken(line string) string {
	var b strings.Builder
	depth := 0
	for _, r := range line {
		switch {
		case r == '<':
			depth++
		case r == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return egress.Plain(strings.Join(strings.Fields(html.UnescapeString(b.String())), " "), 500)
}

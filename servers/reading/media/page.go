package media

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Page returns what a page says of the film or recording that it is for, by OpenGraph,
// by JSON-LD and by the tracks of its player; nil where it is for none.
func Page(page []byte, contentType string) *Video {
	r, err := charset.NewReader(bytes.NewReader(page), contentType)
	if err != nil {
		return nil
	}
	s := &scanner{og: map[string]string{}, v: &Video{}}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(4 << 20)
	for range 500_000 {
		if z.Next() == html.ErrorToken {
			break
		}
		s.token(z)
	}
	return s.video()
}

type scanner struct {
	og     map[string]string // of meta elements
	v      *Video
	linked bool // JSON-LD tells of a film
	inLD   bool
}

func (s *scanner) token(z *html.Tokenizer) {
	t := z.Token()
	if t.Type == html.TextToken {
		if s.inLD {
			s.linkedData([]byte(t.Data))
		}
		s.inLD = false
		return
	}
	if t.Type != html.StartTagToken && t.Type != html.SelfClosingTagToken {
		return
	}
	a := map[string]string{}
	for _, attr := range t.Attr {
		a[attr.Key] = attr.Val
	}
	s.inLD = t.Data == "script" && strings.HasPrefix(strings.ToLower(a["type"]), "application/ld+json")
	switch t.Data {
	case "meta":
		name := strings.ToLower(first(a["property"], a["name"]))
		if _, known := s.og[name]; !known && len(s.og) < 500 {
			s.og[name] = a["content"]
		}
	case "track":
		kind := strings.ToLower(a["kind"])
		if a["src"] != "" && (kind == "" || kind == "captions" || kind == "subtitles") && len(s.v.Tracks) < maxTracks {
			s.v.Tracks = append(s.v.Tracks, Track{URL: a["src"], Name: line(a["label"], 60), Language: line(a["srclang"], 20)})
		}
	}
}

// video joins what was found.
func (s *scanner) video() *Video {
	v, kind := s.v, strings.ToLower(s.og["og:type"])
	isVideo, isAudio := strings.HasPrefix(kind, "video"), strings.HasPrefix(kind, "music")
	if !s.linked && !isVideo && !isAudio && len(v.Tracks) == 0 {
		return nil
	}
	switch {
	case v.Kind != "":
	case isAudio:
		v.Kind = "audio"
	default:
		v.Kind = "video"
	}
	v.Title = line(first(v.Title, s.og["og:title"], s.og["twitter:title"]), maxTitle)
	v.Description = cut(strings.TrimSpace(first(v.Description, s.og["og:description"], s.og["description"])), maxDescription)
	v.Site = line(s.og["og:site_name"], maxLine)
	v.Published = line(first(v.Published, s.og["video:release_date"], s.og["music:release_date"], s.og["article:published_time"]), 40)
	if v.Length == 0 {
		if n, err := strconv.ParseUint(strings.TrimSpace(first(s.og["video:duration"], s.og["og:video:duration"], s.og["music:duration"])), 10, 31); err == nil {
			v.Length = time.Duration(n) * time.Second
		}
	}
	return v
}

// linkedData reads a block of JSON-LD.
func (s *scanner) linkedData(data []byte) {
	var block any
	if json.Unmarshal(bytes.TrimSpace(data), &block) == nil {
		s.object(block, 0)
	}
}

func isMedia(kind string) string {
	switch kind[strings.LastIndexByte(kind, '/')+1:] {
	case "VideoObject", "Movie", "TVEpisode", "Clip", "Episode", "MusicVideoObject":
		return "video"
	case "AudioObject", "PodcastEpisode", "RadioEpisode", "MusicRecording", "Audiobook":
		return "audio"
	}
	return ""
}

// object looks for the first film or recording in v and takes what is said of it.
func (s *scanner) object(v any, depth int) {
	if s.linked || depth > 20 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.object(e, depth+1)
		}
	case map[string]any:
		for _, kind := range stringsOf(v["@type"]) {
			if k := isMedia(kind); k != "" && !s.linked {
				s.linked, s.v.Kind = true, k
				s.take(v)
			}
		}
		for _, name := range []string{"@graph", "mainEntity", "video", "audio", "associatedMedia"} {
			if inner, ok := v[name]; ok {
				s.object(inner, depth+1)
			}
		}
	}
}

func (s *scanner) take(o map[string]any) {
	get := func(names ...string) string {
		for _, n := range names {
			if l := stringsOf(o[n]); len(l) > 0 {
				return html.UnescapeString(l[0])
			}
		}
		return ""
	}
	s.v.Title, s.v.Description = get("name", "headline"), get("description", "abstract")
	s.v.Published = get("uploadDate", "datePublished", "dateCreated")
	s.v.Author = line(get("author", "creator", "byArtist", "publisher"), maxLine)
	s.v.Length = isoDuration(get("duration", "timeRequired"))
	s.v.Spoken = cut(strings.TrimSpace(get("transcript")), maxTranscript)
}

// stringsOf returns the texts of a value: itself, the name of an object, or those in a
// list.
func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			return []string{name}
		}
	case []any:
		var all []string
		for _, e := range v[:min(len(v), 20)] {
			if _, nested := e.([]any); !nested {
				all = append(all, stringsOf(e)...)
			}
		}
		return all
	}
	return nil
}

var durationForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^P(?:(\d{1,4})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,8})(?:\.\d+)?S)?)?$`)
})

// isoDuration reads a length as ISO 8601 has it, such as PT1H2M3S; 0 for what is none.
func isoDuration(s string) time.Duration {
	m := durationForm().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0
	}
	var total time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi("0" + m[i+1])
		total += time.Duration(n) * unit
	}
	return total
}

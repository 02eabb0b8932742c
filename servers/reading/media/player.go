package media

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNoPlayer is the error for a page that holds no data of YouTube's player.
var ErrNoPlayer = errors.New("the page holds no data of the player")

// A response is the part that is read of what YouTube's pages give their player. The
// shape is published by nobody but those who read it, and may change.
type response struct {
	Playable struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"playabilityStatus"`
	Details struct {
		Title         string `json:"title"`
		LengthSeconds string `json:"lengthSeconds"`
		Description   string `json:"shortDescription"`
		Author        string `json:"author"`
		ViewCount     string `json:"viewCount"`
		IsLive        bool   `json:"isLive"`
	} `json:"videoDetails"`
	Microformat struct {
		Renderer struct {
			PublishDate string `json:"publishDate"`
			UploadDate  string `json:"uploadDate"`
		} `json:"playerMicroformatRenderer"`
	} `json:"microformat"`
	Captions struct {
		List struct {
			Tracks []captionTrack `json:"captionTracks"`
		} `json:"playerCaptionsTracklistRenderer"`
	} `json:"captions"`
}

type captionTrack struct {
	BaseURL      string `json:"baseUrl"`
	LanguageCode string `json:"languageCode"`
	Kind         string `json:"kind"`
	Name         struct {
		Simple string `json:"simpleText"`
		Runs   []struct {
			Text string `json:"text"`
		} `json:"runs"`
	} `json:"name"`
}

var playerData = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`ytInitialPlayerResponse["'\]]{0,2}\s{0,5}=\s{0,5}\{`)
})

// Player reads a page of YouTube.
func Player(page []byte) (*Video, error) {
	for range 8 {
		at := playerData().FindIndex(page)
		if at == nil {
			break
		}
		begin := at[1] - 1
		var r response
		if err := json.NewDecoder(bytes.NewReader(page[begin:])).Decode(&r); err == nil && (r.Details.Title != "" || r.Playable.Status != "") {
			return r.video(), nil
		}
		page = page[at[1]:]
	}
	return nil, ErrNoPlayer
}

func (r *response) video() *Video {
	d, m := &r.Details, &r.Microformat.Renderer
	v := &Video{
		Title: line(d.Title, maxTitle), Author: line(d.Author, maxLine), Views: line(d.ViewCount, 20), Live: d.IsLive, Kind: "video",
		Description: cut(strings.TrimSpace(d.Description), maxDescription),
		Published:   line(first(m.PublishDate, m.UploadDate), 40),
	}
	if n, err := strconv.ParseUint(d.LengthSeconds, 10, 31); err == nil {
		v.Length = time.Duration(n) * time.Second
	}
	if s := r.Playable; s.Status != "OK" && s.Status != "" {
		v.Problem = line(first(s.Reason, s.Status), maxLine)
	}
	tracks := r.Captions.List.Tracks
	for _, t := range tracks[:min(len(tracks), maxTracks)] {
		var name strings.Builder
		name.WriteString(t.Name.Simple)
		for _, run := range t.Name.Runs {
			name.WriteString(run.Text)
		}
		v.Tracks = append(v.Tracks, Track{URL: t.BaseURL, Name: line(name.String(), 60), Language: line(t.LanguageCode, 20), Auto: t.Kind == "asr"})
	}
	return v
}

func first(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

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
	PlayabilityStatus struct{ Status, Reason string }
	VideoDetails      struct {
		VideoID, Title, LengthSeconds, ShortDescription, Author, ViewCount string
		IsLive                                                             bool
	}
	Microformat struct {
		PlayerMicroformatRenderer struct{ PublishDate, UploadDate string }
	}
	Captions struct {
		PlayerCaptionsTracklistRenderer struct{ CaptionTracks []captionTrack }
	}
}

type captionTrack struct {
	BaseURL string
	Name    struct {
		SimpleText string
		Runs       []struct{ Text string }
	}
	LanguageCode, Kind string
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
		if err := json.NewDecoder(bytes.NewReader(page[begin:])).Decode(&r); err == nil && (r.VideoDetails.Title != "" || r.PlayabilityStatus.Status != "") {
			return r.video(), nil
		}
		page = page[at[1]:]
	}
	return nil, ErrNoPlayer
}

func (r *response) video() *Video {
	d := &r.VideoDetails
	v := &Video{
		Title: line(d.Title, maxTitle), Author: line(d.Author, maxLine), Views: line(d.ViewCount, 20), Live: d.IsLive, Kind: "video",
		Description: cut(strings.TrimSpace(d.ShortDescription), maxDescription),
		Published:   line(first(r.Microformat.PlayerMicroformatRenderer.PublishDate, r.Microformat.PlayerMicroformatRenderer.UploadDate), 40),
	}
	if n, err := strconv.ParseUint(d.LengthSeconds, 10, 31); err == nil {
		v.Length = time.Duration(n) * time.Second
	}
	if s := r.PlayabilityStatus; s.Status != "OK" && s.Status != "" {
		v.Problem = line(first(s.Reason, s.Status), maxLine)
	}
	tracks := r.Captions.PlayerCaptionsTracklistRenderer.CaptionTracks
	for _, t := range tracks[:min(len(tracks), maxTracks)] {
		name := t.Name.SimpleText
		for _, run := range t.Name.Runs {
			name += run.Text
		}
		v.Tracks = append(v.Tracks, Track{URL: t.BaseURL, Name: line(name, 60), Language: line(t.LanguageCode, 20), Auto: t.Kind == "asr"})
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

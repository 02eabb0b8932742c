package reading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/reading/media"
)

const youtubeBase = "https://www.youtube.com"

var videoIDForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{11}$`) })

// videoID returns the id of the film that an address of YouTube is for, or "".
func videoID(u *url.URL) string {
	id := ""
	switch host := strings.ToLower(u.Hostname()); host {
	case "youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "www.youtube-nocookie.com", "youtube-nocookie.com":
		first, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		switch first {
		case "watch":
			id = u.Query().Get("v")
		case "shorts", "live", "embed", "v":
			id, _, _ = strings.Cut(rest, "/")
		}
	case "youtu.be", "www.youtu.be":
		id, _, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	}
	if !videoIDForm().MatchString(id) {
		return ""
	}
	return id
}

// video reads the page of a film on YouTube.
func (j *job) video(ctx context.Context, id string) error {
	client, base := j.s.pages, youtubeBase
	if j.s.youtube != nil {
		client, base = j.s.youtube, j.s.o.YouTubeBaseURL
	}
	address := base + "/watch?v=" + id + "&hl=en"
	j.final = youtubeBase + "/watch?v=" + id
	seen := "for what is shown or said in it, call visual_audio_youtube_analyzing with this address"
	resp, err := client.Do(ctx, egress.Request{URL: address, MaxBody: maxPage, Robots: true, Refuse: j.s.ways.Policy().Check, Retry: egress.Retry{Waits: j.s.waits}})
	if err == nil && !resp.OK() {
		err = &statusError{resp.Status}
	}
	if err != nil {
		return j.fallback(ctx, j.final, err)
	}
	v, err := media.Player(resp.Body)
	if err != nil || v.Title == "" {
		why := "the page of the video holds no data of it, as where the site asks for consent or a login first"
		if err == nil {
			why = fmt.Sprintf("the site says of the video: %s", cmp.Or(v.Problem, "nothing"))
		}
		return j.fallback(ctx, j.final, fmt.Errorf("%s; %s", why, seen))
	}
	v.Site = "YouTube"
	j.title, j.format = v.Title, "video"
	var cues []media.Cue
	if t, ok := v.Best(); !ok {
		j.note("the page offers no captions, so there is no transcript; %s", seen)
	} else if cues, err = j.spoken(ctx, client, base, t); err != nil {
		why := err.Error()
		if errors.Is(err, errNoCaptions) {
			why = "YouTube gave an empty answer, as it does to programs that are not its player"
		}
		j.note("the page names captions (%s), but they could not be read: %s; %s", t, why, seen)
	} else {
		j.note("the transcript is that of the captions %q", t.String())
	}
	j.head = v.Markdown(cues)
	if len(cues) == 0 && j.s.readers() { // some readers know what is said
		if page, err := j.ask(ctx, j.final); err == nil {
			j.head += "\n\n## The page by way of " + page.Via
		}
	}
	return nil
}

// spoken gets the captions of a track, which must lie with the pages.
func (j *job) spoken(ctx context.Context, client *egress.Client, base string, t media.Track) ([]media.Cue, error) {
	at, err := resolve(base+"/", t.URL)
	if err != nil {
		return nil, errors.New("their address is no URL")
	}
	u, err := url.Parse(at)
	if err != nil {
		return nil, errors.New("their address is no URL")
	}
	q := u.Query()
	q.Set("fmt", "json3")
	u.RawQuery = q.Encode()
	if j.s.youtube != nil && strings.HasSuffix(strings.ToLower(u.Hostname()), "youtube.com") {
		return j.captions(ctx, client, base+u.RequestURI())
	}
	return j.captions(ctx, client, u.String())
}

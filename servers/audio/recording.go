package audio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/media"
	"github.com/tenon-mcp/tenon/servers/audio/sound"
)

// beside returns ffprobe from the folder of ffmpeg, or else from the PATH, or nothing.
func beside(ffmpeg string) string {
	name := "ffprobe" + filepath.Ext(ffmpeg)
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(ffmpeg), name)); err == nil {
		return path
	}
	path, _ := exec.LookPath("ffprobe") // or none
	return path
}

// maxLength bounds what is heard of a recording.
const maxLength = 4 * time.Hour

// A recording is a sound that a model has named.
type recording struct {
	data   []byte
	format sound.Format
	length time.Duration // 0: not known
	bench  *sound.Bench
}

// open takes a recording in. The caller closes its bench.
func (s *server) open(ctx context.Context, ref string) (*recording, error) {
	if u, err := url.Parse(strings.TrimSpace(ref)); err == nil {
		switch strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") {
		case "youtube.com", "m.youtube.com", "youtu.be":
			return nil, errors.New("an address of YouTube is a page, no recording: use visual_audio_youtube_analyzing, or give the address of a file")
		}
	}
	f, err := s.files.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	format, ok := sound.Sniff(f.Data)
	if !ok {
		if strings.HasPrefix(f.MIME, "text/") {
			return nil, fmt.Errorf("the address gives %.40q, no recording: find the address of the file itself", f.MIME)
		}
		return nil, errors.New("the file is no recording by its content: WAV, MP3, M4A, FLAC, Ogg, WebM, MP4 and others are taken")
	}
	r := &recording{data: f.Data, format: format}
	if r.bench, err = s.programs.Open(); err != nil {
		return nil, err
	}
	if format.Ext == ".wav" {
		r.length = sound.LengthOfWAV(f.Data)
	} else {
		r.length = r.declared()
	}
	if r.length == 0 {
		r.length = r.bench.Probe(ctx, f.Data, format)
	}
	return r, nil
}

// declared returns the length that the file's tags tell.
func (r *recording) declared() time.Duration {
	switch r.format.Ext {
	case ".mp3", ".flac", ".ogg", ".m4a", ".mp4", ".mov":
		return media.Length(r.data)
	}
	return 0
}

// pcm returns the sound as PCM, of its first so many seconds.
func (r *recording) pcm(ctx context.Context, most time.Duration) (io.ReadCloser, error) {
	if r.format.Ext == ".wav" {
		p, err := sound.FromWAV(r.data)
		if err == nil {
			return io.NopCloser(io.LimitReader(p, int64(most.Seconds())*sound.Rate*2)), nil
		}
		if r.bench.FFmpeg == "" {
			return nil, err
		}
	}
	if r.bench.FFmpeg == "" {
		return nil, fmt.Errorf("the recording is %s of %s, which must be converted for this: the operator can install ffmpeg; or give it as WAV, or MP3 of less than 24 MiB and 20 minutes", r.format.Name, size(len(r.data)))
	}
	return r.bench.Decode(ctx, r.data, r.format, most)
}

func size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// converted says that it was not sent as it is.
func (r *recording) converted() []string {
	if r.format.Ext == ".wav" {
		return nil // of the same sound
	}
	return []string{"the recording was converted from " + r.format.Name + " to WAV with 16,000 samples a second"}
}

// length tells a model how long a recording lasts.
func length(seconds float64) string {
	if seconds <= 0 {
		return "\n\nAudio duration: unknown"
	}
	return "\n\nAudio duration: " + strconv.FormatFloat(seconds, 'f', -1, 64) + " seconds"
}

// seconds returns a length rounded to tenths.
func seconds(d time.Duration) float64 {
	return float64(d.Round(100*time.Millisecond)) / float64(time.Second)
}

// clock returns a time as 1:02:03 or 2:03.
func clock(d time.Duration) string {
	t := int(d.Seconds())
	if t >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", t/3600, t/60%60, t%60)
	}
	return fmt.Sprintf("%d:%02d", t/60, t%60)
}

package library

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tenon-mcp/tenon/servers/knowledge/chunk"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
)

const (
	// settle is how long nothing must change before the folders are looked at again:
	// who copies a thousand files is waited for.
	settle = 300 * time.Millisecond
	// unwatched is how often they are looked at besides, for file systems that tell
	// of no change.
	unwatched = time.Minute
	// maxWatched bounds the folders that are watched.
	maxWatched = 10_000
)

// keepUp looks at the folders until ctx ends, at once and whenever something changes.
func (l *Library) keepUp(ctx context.Context, r *run) {
	if l.o.Embedder != nil {
		if err := r.index.UseModel(ctx, l.o.Embedder.BaseURL+" "+l.o.Embedder.Name); err != nil {
			l.status.note(err.Error())
		}
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		l.status.note(fmt.Sprintf("changes are seen only once a minute: %v", err))
		watcher = &fsnotify.Watcher{} // whose channels nothing is sent on
	} else {
		defer watcher.Close()
	}
	first := true
	for ctx.Err() == nil {
		dirs, err := l.scan(ctx, r)
		if ctx.Err() != nil {
			return
		}
		l.status.unnote(scanFailed)
		if err != nil {
			l.status.note(scanFailed + err.Error())
		}
		if first {
			close(r.first)
			first = false
		}
		l.watch(watcher, dirs)
		if l.o.Embedder != nil {
			l.embed(ctx, r)
		}
		if !await(ctx, watcher, r.look) {
			return
		}
	}
}

const (
	scanFailed  = "the folders cannot be indexed: "
	embedFailed = "sections are not found by their meaning: "
)

// watch watches folders. To watch one again changes nothing.
func (l *Library) watch(w *fsnotify.Watcher, dirs []string) {
	if w.Events == nil {
		return
	}
	for i, dir := range dirs {
		if i == maxWatched {
			l.status.note(fmt.Sprintf("changes in more than %d folders are seen only once a minute", maxWatched))
			return
		}
		if err := w.Add(dir); err != nil {
			l.status.note(fmt.Sprintf("changes are seen only once a minute: %v", err))
			return
		}
	}
}

// await waits until something has changed and then nothing for a while, until somebody
// asks for a look, or until it is time. It reports false when ctx has ended.
func await(ctx context.Context, w *fsnotify.Watcher, look <-chan struct{}) bool {
	next := time.NewTimer(unwatched)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look:
			return true
		case <-next.C:
			return true
		case _, open := <-w.Events:
			if !open {
				return ctx.Err() == nil
			}
			next.Reset(settle)
		case <-w.Errors: //nolint:errcheck // events were lost, for whatever reason: it is time to look
			next.Reset(settle)
		}
	}
}

// Passages are what is compared by meaning.
const (
	passageChars   = 300
	passageOverlap = 50
	embedAtOnce    = 64 // texts of one request
	pendingAtOnce  = 16 // sections
)

// embed asks for the vectors of all sections that have none. Where the model does not
// answer, the rest waits for the next look.
func (l *Library) embed(ctx context.Context, r *run) {
	defer l.status.set(func(s *Status) { s.Meanings = 0 })
	for ctx.Err() == nil {
		pending, err := r.index.Pending(ctx, 10_000)
		if err != nil || len(pending) == 0 {
			return
		}
		l.status.set(func(s *Status) { s.Meanings = len(pending) })
		for len(pending) > 0 {
			n := min(len(pending), pendingAtOnce)
			if err := l.embedSome(ctx, r, pending[:n]); err != nil {
				if ctx.Err() == nil {
					l.status.unnote(embedFailed)
					l.status.note(embedFailed + err.Error())
				}
				return
			}
			pending = pending[n:]
			l.status.set(func(s *Status) { s.Meanings = len(pending) })
		}
		l.status.unnote(embedFailed)
	}
}

func (l *Library) embedSome(ctx context.Context, r *run, sections []index.Found) error {
	bySection := make(map[int64][][]int8, len(sections))
	var texts []string
	var of []int64
	for _, s := range sections {
		bySection[s.ID] = nil
		for _, p := range chunk.Passages(s.Text, passageChars, passageOverlap) {
			texts, of = append(texts, s.Heading+"\n"+clipBytes(p, 8000)), append(of, s.ID)
		}
	}
	for len(texts) > 0 {
		n := min(len(texts), embedAtOnce)
		vectors, err := l.o.Embedder.Embed(ctx, texts[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			if q := index.Quantize(v); q != nil {
				bySection[of[i]] = append(bySection[of[i]], q)
			}
		}
		texts, of = texts[n:], of[n:]
	}
	return r.index.PutVectors(ctx, bySection)
}

func clipBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

package library

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
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
		if err := r.index.Load().UseModel(ctx, l.o.Embedder.BaseURL+" "+l.o.Embedder.Name); err != nil {
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
		if err != nil && ctx.Err() == nil && r.toMemory(ctx) == nil {
			l.status.note(inMemory + err.Error())
			dirs, err = l.scan(ctx, r)
		}
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
			(&embedder{l.o.Embedder, r.index.Load(), &l.status}).all(ctx)
		}
		if !await(ctx, watcher, r.look) {
			return
		}
	}
}

const scanFailed = "the folders cannot be indexed: "

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
		case _, open := <-w.Errors: // events were lost: it is time to look
			if !open {
				return ctx.Err() == nil
			}
			next.Reset(settle)
		}
	}
}

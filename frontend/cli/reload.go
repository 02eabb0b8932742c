package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	tenon "github.com/tenon-mcp/tenon"
)

// quietTime is how long files must not change before they are read: an editor
// writes a file in several steps, and a person saves several files.
const quietTime = 200 * time.Millisecond

// A reloader takes the configuration anew when its files change.
type reloader struct {
	*app
	gw  *tenon.Gateway
	log *slog.Logger
}

// run reloads on SIGHUP, and when the files of the configuration change, until
// ctx ends. It returns an error where the terminal that the gateway runs in is
// gone, which says so by the same signal.
func (r reloader) run(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	w := watchFiles(r.gw.Files(), r.log)
	defer w.close()
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
			if r.watched {
				if _, err := fmt.Fprintln(r.Stderr, "reading the configuration again"); err != nil {
					return errors.New("the terminal is gone")
				}
			}
			r.reload(ctx)
			w.follow(r.gw.Files())
		case e := <-w.events():
			if w.concerns(e) {
				quiet = time.After(quietTime)
			}
		case <-quiet:
			quiet = nil
			r.reload(ctx)
			w.follow(r.gw.Files())
		case err := <-w.errors():
			r.log.Warn("changes of the configuration may go unnoticed", "error", err)
		}
	}
}

// reload takes the configuration anew and tells what came of it.
func (r reloader) reload(ctx context.Context) {
	done, err := r.gw.Reload(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil && r.watched:
		r.note("the configuration is not taken, and all goes on as it was:")
		r.tell(err)
	case err != nil:
		r.log.Error("configuration is not taken", "error", err)
	case !done.Changed:
		r.log.Info("configuration is as it was")
	default:
		r.log.Info("configuration is taken", "added", done.Added, "replaced", done.Replaced, "removed", done.Removed, "later", done.Later)
		if r.watched {
			r.note("the configuration is taken%s", changesText(done))
		}
	}
}

// changesText says what a reload changed.
func changesText(d tenon.Reloaded) string {
	var b strings.Builder
	for _, c := range []struct {
		what  string
		names []string
	}{{"added", d.Added}, {"replaced", d.Replaced}, {"removed", d.Removed}, {"at the next start only", d.Later}} {
		if len(c.names) > 0 {
			fmt.Fprintf(&b, "; %s: %s", c.what, strings.Join(c.names, ", "))
		}
	}
	return b.String()
}

// A fileWatch watches the folders of files, since editors and orchestrators put a
// new file in the place of an old one. Its zero value sees nothing.
type fileWatch struct {
	w     *fsnotify.Watcher
	log   *slog.Logger
	files map[string]bool // absolute paths; folders among them too
}

func watchFiles(files []string, log *slog.Logger) *fileWatch {
	f := &fileWatch{log: log}
	if len(files) == 0 {
		return f
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("changes of the configuration go unnoticed", "error", err)
		return f
	}
	f.w = w
	f.follow(files)
	return f
}

// follow watches these files from now on.
func (f *fileWatch) follow(files []string) {
	if f.w == nil {
		return
	}
	f.files = map[string]bool{}
	folders := map[string]bool{}
	for _, path := range files {
		f.files[path] = true
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			folders[path] = true
		}
		folders[filepath.Dir(path)] = true
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			f.files[target] = true
			folders[filepath.Dir(target)] = true
		}
	}
	for _, dir := range f.w.WatchList() {
		if !folders[dir] {
			_ = f.w.Remove(dir) // it may be gone
		}
		delete(folders, dir)
	}
	for dir := range folders {
		if err := f.w.Add(dir); err != nil {
			f.log.Warn("changes of the configuration go unnoticed", "folder", dir, "error", err)
		}
	}
}

// concerns reports whether an event can be a change of the configuration.
func (f *fileWatch) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	base := filepath.Base(e.Name)
	return f.files[e.Name] ||
		base == ".env" || // it may not have been there
		strings.HasPrefix(base, "..") || // how Kubernetes replaces all files of a folder at once
		f.files[filepath.Dir(e.Name)] && (filepath.Ext(base) == ".yaml" || filepath.Ext(base) == ".yml")
}

func (f *fileWatch) events() chan fsnotify.Event {
	if f.w == nil {
		return nil
	}
	return f.w.Events
}

func (f *fileWatch) errors() chan error {
	if f.w == nil {
		return nil
	}
	return f.w.Errors
}

func (f *fileWatch) close() {
	if f.w != nil {
		_ = f.w.Close() // nothing is left to watch
	}
}

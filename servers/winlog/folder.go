package winlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/regular"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// What is looked at below a folder.
const (
	maxFiles   = 5_000
	maxEntries = 50_000
	maxFolders = 8     // below each other
	counted    = 2_000 // chunks of 64 KiB whose records a list counts; of more it trusts their numbers
)

// A folder is a source of .evtx files. They are opened through an os.Root, so that no
// name and no link leads out of it.
type folder struct {
	dir  string
	only string // the one file that is meant, where it is one

	mu    sync.Mutex
	known map[string]peeked // by name
}

// A peeked file is one whose first event was read.
type peeked struct {
	size    int64
	changed time.Time
	channel string // of that event; empty where there is none
}

// A logFile is a file, and the names of its log.
type logFile struct {
	name string // below the folder, with slashes
	peeked
}

func openFolder(dir string) (*folder, error) {
	info, err := os.Stat(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	f := &folder{dir: filepath.Clean(dir), known: map[string]peeked{}}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is neither a folder nor a file", dir)
		}
		f.dir, f.only = filepath.Split(f.dir)
		f.dir = filepath.Clean(f.dir)
	}
	return f, nil
}

// files returns the .evtx files, in the order of their names. It returns true where
// there are more than it looks at.
func (f *folder) files(ctx context.Context, root *os.Root) (list []logFile, more bool, err error) {
	if f.only != "" {
		info, err := root.Stat(f.only)
		if err != nil {
			return nil, false, err
		}
		return []logFile{{f.only, peeked{size: info.Size(), changed: info.ModTime()}}}, false, nil
	}
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		entries++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // a folder that may not be read
		case entries > maxEntries || len(list) >= maxFiles:
			more = true
			return fs.SkipAll
		case d.IsDir() && strings.Count(name, "/") >= maxFolders:
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.EqualFold(path.Ext(name), ".evtx"):
			return nil
		}
		if info, err := d.Info(); err == nil {
			list = append(list, logFile{name, peeked{size: info.Size(), changed: info.ModTime()}})
		}
		return nil
	})
	return list, more, err
}

// open opens a file for reading by package evtx.
func open(root *os.Root, name string) (*os.File, *evtx.Reader, error) {
	file, err := regular.Open(root, name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	r, err := evtx.NewReader(file, info.Size())
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, r, nil
}

// peek learns the channel of a file from its first event.
func (f *folder) peek(ctx context.Context, root *os.Root, file *logFile) {
	f.mu.Lock()
	k, ok := f.known[file.name]
	f.mu.Unlock()
	if ok && k.size == file.size && k.changed.Equal(file.changed) {
		file.channel = k.channel
		return
	}
	src, r, err := open(root, file.name)
	if err != nil {
		return
	}
	defer src.Close()
	for record, err := range r.Records(ctx) {
		if err != nil {
			return
		}
		if e, err := record.Event(); err == nil && e.System.Channel != "" {
			file.channel = plain(e.System.Channel, 200)
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= 2*maxFiles {
		clear(f.known)
	}
	f.known[file.name] = file.peeked
}

// archived is the name that Windows gives to a log that is full.
var archived = regexp.MustCompile(`^(?i:archive)-(.+)-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-\d+$`)

// stem is the name of a file without its folder and ending.
func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// named is the channel that the name of a file says: Windows writes %4 for a slash.
func named(name string) string {
	s := stem(name)
	if m := archived.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	return strings.NewReplacer("%4", "/", "%2F", "/", "%2f", "/").Replace(s)
}

// title is the channel of a file: what its events say, else what its name says.
func (l *logFile) title() string {
	if l.channel != "" {
		return l.channel
	}
	return named(l.name)
}

// resolve returns the files of a log: those of that channel, else the one file of
// that name. A name is compared with those of the files that are there, and opened
// under theirs.
func (f *folder) resolve(ctx context.Context, root *os.Root, log string) ([]logFile, error) {
	list, _, err := f.files(ctx, root)
	if err != nil {
		return nil, err
	}
	var channel, file []logFile
	for _, l := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.peek(ctx, root, &l)
		if strings.EqualFold(l.channel, log) || strings.EqualFold(named(l.name), log) {
			channel = append(channel, l)
		}
		if strings.EqualFold(l.name, log) || strings.EqualFold(path.Base(l.name), log) || strings.EqualFold(stem(l.name), log) {
			file = append(file, l)
		}
		list[slices.IndexFunc(list, func(o logFile) bool { return o.name == l.name })] = l
	}
	switch {
	case len(channel) > 0:
		return channel, nil
	case len(file) > 0:
		return file, nil
	}
	return nil, noSuchLog(log, list)
}

func noSuchLog(log string, list []logFile) error {
	var names []string
	for _, l := range list {
		if t := shown(l.title(), 100); !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	if len(names) == 0 {
		return errors.New("there is no .evtx file in the configured folder. The operator sets another one with the option dir, or WINLOG_DIR in env: of this server's entry")
	}
	const most = 20
	hint := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		hint += fmt.Sprintf(" and %d more; list_event_channels lists them", len(names)-most)
	}
	return fmt.Errorf("there is no log %s here. There are: %s", quoted(log), hint)
}

// logs lists the logs.
func (f *folder) logs(ctx context.Context, part string) (listing, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return listing{}, err
	}
	defer root.Close()
	files, more, err := f.files(ctx, root)
	if err != nil {
		return listing{}, err
	}
	var out listing
	if more {
		out.notes = append(out.notes, fmt.Sprintf("The folder holds more than %d files; the rest was not looked at.", len(files)))
	}
	at := map[string]int{}
	for _, l := range files {
		if ctx.Err() != nil {
			out.cut = true
			break
		}
		f.peek(ctx, root, &l)
		if !containsFold(l.title(), part) && !containsFold(l.name, part) {
			continue
		}
		key := strings.ToLower(l.title())
		i, ok := at[key]
		if !ok {
			i = len(out.channels)
			at[key] = i
			out.channels = append(out.channels, channel{Name: l.title()})
		}
		out.add(ctx, root, &out.channels[i], l)
	}
	return out, nil
}

// add looks into a file for what a list says of it.
func (out *listing) add(ctx context.Context, root *os.Root, c *channel, l logFile) {
	c.Files = append(c.Files, l.name)
	c.Bytes += l.size
	src, r, err := open(root, l.name)
	if err != nil {
		out.damages = append(out.damages, unread(l.name, err))
		c.shut = !errors.Is(err, evtx.ErrFormat)
		return
	}
	defer src.Close()
	chunks, err := r.Chunks(ctx)
	if err != nil || len(chunks) == 0 {
		return
	}
	var buf evtx.Chunk
	for i, info := range chunks {
		if out.counted++; i > 0 && i < len(chunks)-1 && (out.counted > counted || ctx.Err() != nil) {
			if info.LastID > 0 {
				c.Records += int64(min(info.LastID-info.FirstID, 4096)) + 1
			}
			c.About = true
			continue
		}
		if r.Load(info, &buf) != nil {
			return
		}
		c.Records += int64(len(buf.Records()))
		for _, rec := range buf.Records() {
			c.see(rec.Written)
		}
	}
	if d, ok := damageOf(l.name, r.Report()); ok {
		out.damages = append(out.damages, d)
	}
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// Package listcache remembers on disk what tools a server offered, so that the
// next start of a gateway can list them before any server runs.
//
//	cache := listcache.New(listcache.Options{Dir: dir})
//	key := listcache.Key("stdio", "npx", "-y", "some-server")
//	if kept, ok := cache.Get(key); ok {
//		offer(kept.Tools) // as they were at kept.At
//	}
//	…
//	err := cache.Put(key, tools)
//
// A list is kept under a hash of all that decides what a server offers: its
// command, its environment, its URL. Another token or another version is another
// key, so a list is never shown for a server that it does not belong to. The
// secrets among them are in the hash alone.
//
// A file holds one list. It is written whole or not at all; one that cannot be
// read is as good as none. What has not been used for a month is removed.
package listcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	suffix   = ".tools.json"
	maxSize  = 64 << 20            // of one file
	keepFor  = 30 * 24 * time.Hour // of a file that is not used
	maxFiles = 4096                // that are looked at for their age
	layout   = 1                   // of a file
)

// Options configures a Cache.
type Options struct {
	Dir string // made when there is something to write, readable by its owner only
}

// A Cache is a folder of lists. It is safe for concurrent use, also by several
// processes: the last one to write a list wins.
type Cache struct{ dir string }

// A Kept is a list as it was remembered.
type Kept struct {
	Tools []json.RawMessage // tool definitions as the server gave them
	At    time.Time         // when it last gave them
}

type file struct {
	Layout int               `json:"layout"`
	Tools  []json.RawMessage `json:"tools"`
}

// New returns a cache in the folder. It reads nothing and makes nothing.
func New(o Options) *Cache { return &Cache{dir: o.Dir} }

// Key returns the key of a server from the texts that decide what it offers. The
// order of the texts counts.
func Key(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:]) // so that "ab","c" and "a","bc" differ
		_, _ = io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Cache) path(key string) string { return filepath.Join(c.dir, key+suffix) }

// Get returns the list of a key, and whether there is one.
func (c *Cache) Get(key string) (Kept, bool) {
	f, err := os.Open(c.path(key))
	if err != nil {
		return Kept{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxSize {
		return Kept{}, false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSize))
	var in file
	if err != nil || json.Unmarshal(b, &in) != nil || in.Layout != layout {
		return Kept{}, false
	}
	return Kept{in.Tools, info.ModTime()}, true
}

// Put remembers the list of a key in place of the one before. A list that is the
// same byte for byte is not written again.
func (c *Cache) Put(key string, tools []json.RawMessage) error {
	if old, ok := c.Get(key); ok && same(old.Tools, tools) {
		now := time.Now()
		return os.Chtimes(c.path(key), now, now)
	}
	b, err := encode(tools)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	// A name of its own, so that two processes never write into one file.
	f, err := os.CreateTemp(c.dir, "*.new") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// encode writes the file with each tool on a line of its own, byte for byte as it
// is: json.Marshal would change the spelling of what passes through it.
func encode(tools []json.RawMessage) ([]byte, error) {
	size := 128
	for _, t := range tools {
		if !json.Valid(t) {
			return nil, errors.New("a tool is no JSON")
		}
		size += len(t) + 2
	}
	if size > maxSize {
		return nil, fmt.Errorf("list of %d bytes is too large to keep", size)
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	fmt.Fprintf(b, `{"layout":%d,"tools":[`, layout)
	for i, t := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(t)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

func same(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// Prune removes what has not been used for a month, and what a write that was
// cut off has left.
func (c *Cache) Prune() error {
	d, err := os.Open(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(maxFiles)
	if cerr := d.Close(); err == nil || errors.Is(err, io.EOF) {
		err = cerr
	}
	var errs []error
	for _, name := range names {
		age := keepFor
		switch {
		case strings.HasSuffix(name, ".new"):
			age = time.Hour
		case !strings.HasSuffix(name, suffix):
			continue // not ours
		}
		path := filepath.Join(c.dir, name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < age {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, err)...)
}

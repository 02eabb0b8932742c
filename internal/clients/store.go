package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Store keeps what files held before they were changed, in a folder that only its
// owner can read.
type Store struct{ Dir string }

// maxBackups bounds the backups of one file; the oldest go first.
const maxBackups = 20

// A record says how a change is undone.
type record struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Backup  string `json:"backup"` // name of the file with the bytes from before
	After   string `json:"after"`  // hash of what was written
	// Exact says that the bytes from before are those without any entry of ours.
	Exact bool `json:"exact"`
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// prefix is how the names of all that belongs to a path begin.
func prefix(path string) string { return filepath.Base(path) + "-" + sum([]byte(path))[:12] }

func (s Store) recordPath(path string) string { return filepath.Join(s.Dir, prefix(path)+".json") }

// Backup keeps the bytes of a file from before a change, and returns where.
func (s Store) Backup(c Change) (string, error) {
	if !c.Existed {
		return "", nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, prefix(c.Path)+"-"+sum(c.Before)[:12]+".bak")
	if err := s.save(path, c.Before); err != nil {
		return "", err
	}
	return path, s.prune(c.Path, filepath.Base(path))
}

// save writes a file of the store.
func (s Store) save(path string, data []byte) error {
	before, existed, err := readFile(path)
	if err != nil {
		return err
	}
	return Change{Path: path, Before: before, Existed: existed, After: data, Mode: 0o600}.Write()
}

// prune removes the oldest backups of a path, but not the newest one and not the
// one that undoes.
func (s Store) prune(path string, newest string) error {
	all, err := filepath.Glob(filepath.Join(s.Dir, globEscape(prefix(path))+"-*.bak"))
	if err != nil {
		return err
	}
	rec, _ := s.record(path)
	type backup struct {
		path string
		at   int64
	}
	var old []backup
	for _, p := range all {
		if base := filepath.Base(p); base == newest || base == rec.Backup {
			continue
		}
		if info, err := os.Stat(p); err == nil {
			old = append(old, backup{p, info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(old, func(a, b backup) int { return int(min(max(a.at-b.at, -1), 1)) })
	for len(old) > maxBackups {
		if err := os.Remove(old[0].path); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}

// globEscape makes a name mean itself in a pattern.
func globEscape(name string) string {
	var out []rune
	for _, c := range name {
		if c == '*' || c == '?' || c == '[' {
			c = '?'
		}
		out = append(out, c)
	}
	return string(out)
}

// Keep keeps how a change is undone. It is to be called before the change is
// written: a crash in between leaves a backup that nothing needs.
func (s Store) Keep(c Change) (backup string, err error) {
	backup, err = s.Backup(c)
	if err != nil {
		return "", err
	}
	rec := record{Path: c.Path, Existed: c.Existed, After: sum(c.After), Exact: true}
	if backup != "" {
		rec.Backup = filepath.Base(backup)
	}
	switch old, err := s.record(c.Path); {
	case err == nil && old.After == sum(c.Before): // what we wrote ourselves: the way back is that of the first time
		rec.Existed, rec.Backup, rec.Exact = old.Existed, old.Backup, old.Exact
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	default:
		rec.Exact = !c.had
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return "", err
	}
	return backup, s.save(s.recordPath(c.Path), append(data, '\n'))
}

func (s Store) record(path string) (record, error) {
	var rec record
	data, existed, err := readFile(s.recordPath(path))
	switch {
	case err != nil:
		return rec, err
	case !existed:
		return rec, fs.ErrNotExist
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, fmt.Errorf("%s: %w", s.recordPath(path), err)
	}
	return rec, nil
}

// Undo returns the change that takes back what Connect did: exactly the bytes from
// before where the file was not changed since, else the removal of our entry alone.
// With exact false it is the latter.
func (s Store) Undo(in Settings) (c Change, exact bool, err error) {
	c, err = in.Disconnect()
	if err != nil {
		// A broken file can still be what it was before we came.
		data, existed, readErr := readFile(in.Path)
		if readErr != nil {
			return c, false, err
		}
		c = Change{Path: in.Path, Before: data, Existed: existed, roots: in.world.roots()}
	}
	rec, recErr := s.record(in.Path)
	if recErr != nil || !rec.Exact || rec.After != sum(c.Before) || !c.Existed {
		return c, false, err
	}
	if !rec.Existed {
		c.After, c.Gone = nil, true
		c.Values = in.values(c)
		return c, true, nil
	}
	before, there, readErr := readFile(filepath.Join(s.Dir, filepath.Base(rec.Backup)))
	if readErr != nil || !there {
		return c, false, err
	}
	c.After = before
	c.Values = in.values(c)
	return c, true, nil
}

// Forget drops the way back, once it was gone. The backups stay.
func (s Store) Forget(path string) error {
	err := os.Remove(s.recordPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

package login

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/internal/flock"
)

const (
	keyringService = "tenon"
	keyringAccount = "logins"
	keyringBound   = 10 * time.Second
	maxFile        = 256 << 10
	maxFiles       = 10_000
	lockBound      = 45 * time.Second // longer than a renewal may take
	lockEvery      = 50 * time.Millisecond
)

// files are the logins on disk.
type files struct {
	dir     string
	keyring bool

	mu  sync.Mutex
	key *age.X25519Identity
}

var errNoFolder = errors.New("there is no state folder to keep a login in: set $XDG_STATE_HOME or $HOME")

func (f *files) path(at place) string {
	sum := sha256.Sum256([]byte(at.server + "\x00" + at.url + "\x00" + at.caller))
	return filepath.Join(f.dir, "logins", hex.EncodeToString(sum[:16])+".age")
}

// changed returns when the file of a place was last written; zero where there is none.
func (f *files) changed(at place) time.Time {
	if f.dir == "" {
		return time.Time{}
	}
	info, err := os.Stat(f.path(at))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// read returns the login of a place, or nil where there is none.
func (f *files) read(at place) (*Kept, error) {
	if f.dir == "" {
		return nil, nil
	}
	k, err := f.open(f.path(at))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (place{k.Server, k.URL, k.Caller}) != at {
		return nil, fmt.Errorf("%s is the login of something else", f.path(at))
	}
	return k, err
}

func (f *files) open(path string) (*Kept, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return nil, err
	}
	key, err := f.identity(false)
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(bytes.NewReader(text), key)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened with this key: %w", path, err)
	}
	if text, err = io.ReadAll(io.LimitReader(plain, maxFile)); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	k, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s holds no login", path)
	}
	return k, nil
}

// write keeps a login in the place of the one before. A crash leaves one of both.
func (f *files) write(at place, k *Kept) error {
	if f.dir == "" {
		return errNoFolder
	}
	plain, err := encode(k)
	if err != nil {
		return err
	}
	key, err := f.identity(true)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, key.Recipient())
	if err != nil {
		return err
	}
	if _, err = w.Write(plain); err == nil {
		err = w.Close()
	}
	if err == nil && out.Len() > maxFile {
		err = fmt.Errorf("the login is larger than %d KiB", maxFile>>10)
	}
	if err != nil {
		return err
	}
	return replace(f.path(at), out.Bytes())
}

func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// remove forgets the login of a place.
func (f *files) remove(at place) error {
	err := os.Remove(f.path(at))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list returns all logins. One that cannot be read is left out, and is an error.
func (f *files) list() ([]*Kept, error) {
	if f.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(f.dir, "logins"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []*Kept
	var bad []error
	for _, e := range entries[:min(len(entries), maxFiles)] {
		if filepath.Ext(e.Name()) != ".age" {
			continue
		}
		k, err := f.open(filepath.Join(f.dir, "logins", e.Name()))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, k)
	}
	return out, errors.Join(append(bad, err)...)
}

// lock keeps other processes from the login of a place until unlock is called.
func (f *files) lock(ctx context.Context, at place) (unlock func(), err error) {
	if f.dir == "" {
		return func() {}, nil
	}
	path := f.path(at) + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockBound, fmt.Errorf("another process holds %s", path))
	defer cancel()
	ticks := time.NewTicker(lockEvery)
	defer ticks.Stop()
	for !flock.Try(file) {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			_ = file.Close() // nothing was written
			return nil, context.Cause(ctx)
		}
	}
	return func() { _ = file.Close() }, nil // the lock goes with it
}

// identity returns the key of the files. Where there is none it is made, or an error.
func (f *files) identity(create bool) (*age.X25519Identity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.key != nil {
		return f.key, nil
	}
	path := filepath.Join(f.dir, "logins.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && f.keyring {
		var secret string
		if secret, err = fromKeyring(); err == nil {
			text = []byte(secret)
		} else {
			err = fs.ErrNotExist
		}
	}
	switch {
	case err == nil:
		f.key, err = age.ParseX25519Identity(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("the key of the logins (%s) is damaged; remove it and log in again", path)
		}
		return f.key, nil
	case !errors.Is(err, fs.ErrNotExist) || !create:
		return nil, fmt.Errorf("the key of the logins cannot be read: %w", err)
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if !f.keyring || bounded(func() error { return keyring.Set(keyringService, keyringAccount, key.String()) }) != nil {
		if key, err = keepKey(path, key); err != nil {
			return nil, err
		}
	}
	f.key = key
	return key, nil
}

// keepKey writes the key into a file of its own, unless another process was first.
func keepKey(path string, key *age.X25519Identity) (*age.X25519Identity, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, []byte(key.String()+"\n"), 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	err := os.Link(tmp, path) // whole, or not at all
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return age.ParseX25519Identity(strings.TrimSpace(string(text)))
	}
	return key, err
}

func fromKeyring() (string, error) {
	var secret string
	err := bounded(func() (err error) {
		secret, err = keyring.Get(keyringService, keyringAccount)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// bounded bounds a question to the keyring, which may ask its user to unlock it.
func bounded(ask func() error) error {
	answer := make(chan error, 1)
	// Nobody waits for it after its time: the library cannot be interrupted.
	new(sync.WaitGroup).Go(func() { answer <- ask() })
	late := time.NewTimer(keyringBound)
	defer late.Stop()
	select {
	case err := <-answer:
		return err
	case <-late.C:
		return errors.New("the keyring did not answer")
	}
}

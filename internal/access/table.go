package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// lookInterval is how long what was read of the file of keys counts without
// another look at whether the file has changed.
const lookInterval = 500 * time.Millisecond

// A keyTable is the file of keys as it is now.
type keyTable struct {
	path    string
	log     *slog.Logger
	epoch   time.Time
	next    atomic.Int64 // when to look again, counted from epoch
	current atomic.Pointer[keys]
}

// keys are what one state of the file says.
type keys struct {
	byID map[string]*key
	info os.FileInfo // nil where there is no file
	err  string      // why none of them counts
}

// A key is one that is kept, ready for use.
type key struct {
	sum     [sha256.Size]byte
	expires time.Time // zero is never
	ended   string    // why it does not count any more, or empty
	caller  tool.Caller
}

func openTable(path string, log *slog.Logger) *keyTable {
	t := &keyTable{path: path, log: log, epoch: time.Now()}
	t.current.Store(&keys{})
	t.look()
	return t
}

// load returns the keys. It looks at the file now and then; whoever asks
// meanwhile gets what was read before.
func (t *keyTable) load() *keys {
	now := int64(time.Since(t.epoch))
	if next := t.next.Load(); now >= next && t.next.CompareAndSwap(next, now+int64(lookInterval)) {
		t.look()
	}
	return t.current.Load()
}

// look reads the file if it is another one than before.
func (t *keyTable) look() {
	was := t.current.Load()
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		if was.info != nil || was.err != "" {
			t.log.Warn("file of keys is gone: no key counts", "file", t.path)
		}
		t.current.Store(&keys{})
		return
	}
	if err == nil && was.info != nil && os.SameFile(was.info, info) && was.info.Size() == info.Size() && was.info.ModTime().Equal(info.ModTime()) &&
		was.info.Mode() == info.Mode() && time.Since(info.ModTime()) > lookInterval { // what was changed just now may be changed again within the tick of its clock
		return
	}
	now := &keys{info: info}
	if err == nil {
		now.byID, err = readTable(t.path)
	}
	if err != nil {
		now.err = err.Error()
		if was.err != now.err {
			t.log.Error("file of keys cannot be used: no key counts", "file", t.path, "error", err)
		}
	}
	t.current.Store(now)
}

// readTable reads the keys of a file.
func readTable(path string) (map[string]*key, error) {
	list, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	table := make(map[string]*key, len(list))
	for _, k := range list {
		sum, err := k.sum()
		if err != nil {
			return nil, err
		}
		made := &key{sum: sum, caller: tool.Caller{Name: k.Name, Grant: k.grant()}}
		if k.Expires != nil {
			made.expires = *k.Expires
		}
		if k.Revoked != nil {
			made.ended = "this key was revoked"
		}
		table[k.ID] = made
	}
	return table, nil
}

// caller returns whose key has that id and that sum, or nobody.
func (k *keys) caller(id string, sum *[sha256.Size]byte, now time.Time) (tool.Caller, *Refusal) {
	if k.err != "" {
		return tool.Caller{}, &Refusal{Status: 503, Text: "the gateway cannot read its keys: its log says why", RetryAfter: retryAfter}
	}
	found := k.byID[id]
	if found == nil || subtle.ConstantTimeCompare(found.sum[:], sum[:]) != 1 {
		return tool.Caller{}, nil
	}
	switch {
	case found.ended != "":
		return tool.Caller{}, invalidToken(found.ended)
	case !found.expires.IsZero() && !now.Before(found.expires):
		return tool.Caller{}, invalidToken("this key has expired")
	}
	return found.caller, nil
}

// usable reports whether a key is valid that may call tools.
func (k *keys) usable(now time.Time) bool {
	for _, one := range k.byID {
		if one.caller.Grant.Caller && one.ended == "" && (one.expires.IsZero() || now.Before(one.expires)) {
			return true
		}
	}
	return false
}

// maxFile bounds the file of keys.
const maxFile = 16 << 20

// A keyFile is the file of keys.
type keyFile struct {
	Version int   `json:"version"`
	Keys    []Key `json:"keys"`
}

// readKeys reads the file of keys; one that is not there holds none. What it does
// not know is an error: it may be a limit that a later version sets.
func readKeys(path string) ([]Key, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s can be written by others than its owner: whoever writes it makes keys (chmod 600 %s)", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var in keyFile
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("%s is no file of keys: %w", path, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s holds more than one object", path)
	}
	if in.Version != 1 {
		return nil, fmt.Errorf("%s is of version %d, which this program does not know", path, in.Version)
	}
	seen := map[string]bool{}
	for _, k := range in.Keys {
		if err := k.check(); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", path, k.ID, err)
		}
		if seen[k.ID] {
			return nil, fmt.Errorf("%s: key %q is there twice", path, k.ID)
		}
		seen[k.ID] = true
	}
	return in.Keys, nil
}

const hashPrefix = "sha256:"

func (k Key) sum() (sum [sha256.Size]byte, err error) {
	text, ok := strings.CutPrefix(k.Hash, hashPrefix)
	b, err := hex.DecodeString(text)
	if !ok || err != nil || len(b) != len(sum) {
		return sum, errors.New("its hash is none")
	}
	copy(sum[:], b)
	return sum, nil
}

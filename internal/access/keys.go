package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/tenon-mcp/tenon/tool"
)

// Prefix begins every key, so that scanners for secrets know one when they see it.
const Prefix = "tnk_"

// A Key is what is kept of an API key: all but the key.
type Key struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"` // of its caller. A key that takes the place of another has its name
	Hash    string     `json:"hash"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"` // nil is never
	Revoked *time.Time `json:"revoked,omitempty"`
	Scope
}

// A Scope is what a key allows; see tool.Grant.
type Scope struct {
	Mode     tool.Mode `json:"mode,omitempty"`
	Skills   []string  `json:"skills,omitempty"`
	Limits   string    `json:"limits,omitempty"`
	Elicit   bool      `json:"elicit,omitempty"`
	Approver bool      `json:"approver,omitempty"`
	Caller   bool      `json:"caller"`
}

// Live reports whether the key counts at a time.
func (k Key) Live(now time.Time) bool {
	return k.Revoked == nil && (k.Expires == nil || now.Before(*k.Expires))
}

func (k Key) grant() *tool.Grant {
	return &tool.Grant{
		Key: k.ID, Mode: k.Mode, Skills: k.Skills, Limits: k.Limits, Elicit: k.Elicit, Approver: k.Approver, Caller: k.Caller,
	}
}

// isName reports whether a caller may have this name. A colon is for names that an
// identity provider gives.
func isName(s string) bool {
	const more = "._@-"
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune(more, c)) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// idLen is how long the id of a key is.
const idLen = 10

func isID(s string) bool {
	return len(s) == idLen && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// check says what is wrong with a key of the file.
func (k Key) check() error {
	if !isID(k.ID) {
		return errors.New("its id is none")
	}
	if _, err := k.sum(); err != nil {
		return err
	}
	return checkNew(k.Name, k.Scope)
}

// checkNew says what is wrong with a name, or with what a key is to allow.
func checkNew(name string, s Scope) error {
	if !isName(name) {
		return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("%q is no name of a key: letters, digits, and . _ @ - behind the first, 64 at most", name)}
	}
	if name == ApproverName {
		return &tool.Error{Kind: tool.Invalid, Text: name + " is the name of who decides approvals with the approver's token; give the key another one"}
	}
	if s.Mode != "" && !slices.Contains(tool.Modes(), s.Mode) {
		return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("there is no mode %q; the modes are bypass, normal, ask_destructive and read_only", s.Mode)}
	}
	if slices.Contains(s.Skills, "") {
		return &tool.Error{Kind: tool.Invalid, Text: "the name of a skill is empty"}
	}
	if !s.Caller && !s.Approver {
		return &tool.Error{Kind: tool.Invalid, Text: "a key that neither calls tools nor decides approvals allows nothing"}
	}
	return nil
}

// Keys is a file of keys, for those who change it. Any number of processes may
// change it at once: each change is made whole, and none is lost.
type Keys struct {
	// Skills and Limits are the names that the configuration has of what a key may
	// name. They may come later, so nothing is refused for them.
	Skills, Limits []string
	// Required says that everybody needs a key, on this machine too.
	Required bool

	path string
	now  func() time.Time
}

// OpenKeys returns the file of keys at path. It need not exist.
func OpenKeys(path string) *Keys { return &Keys{path: path, now: time.Now} }

// Path returns where the file is.
func (k *Keys) Path() string { return k.path }

// List returns all keys that are kept, the oldest first.
func (k *Keys) List() ([]Key, error) { return readKeys(k.path) }

// Create makes a key for a name that no live key has. ttl is how long it counts; 0
// is for good. The key itself is returned this once.
func (k *Keys) Create(name string, s Scope, ttl time.Duration) (made Key, secret tool.Secret, err error) {
	if err := checkNew(name, s); err != nil {
		return Key{}, tool.Secret{}, err
	}
	err = k.change(func(list []Key, now time.Time) ([]Key, error) {
		for _, old := range list {
			if old.Name == name && old.Live(now) {
				return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf(
					"there is a key of the name %s already: revoke it (tenon keys revoke %s), put another in its place (tenon keys rotate %s), or take another name", name, name, name)}
			}
		}
		made, secret = newKey(name, s, now, ttl)
		return append(list, made), nil
	})
	return made, secret, err
}

// Revoke ends the keys with that id, or of that name, and returns them.
func (k *Keys) Revoke(which string) (ended []Key, err error) {
	err = k.change(func(list []Key, now time.Time) ([]Key, error) {
		for i := range list {
			if matches(&list[i], which) && list[i].Live(now) {
				list[i].Revoked = &now
				ended = append(ended, list[i])
			}
		}
		if len(ended) == 0 {
			return nil, noKey(list, which)
		}
		return list, nil
	})
	return ended, err
}

// Rotate makes a key that allows what the live one with that id, or of that name,
// does, and ends the old one after grace. ttl is as in Create; below 0 it is what
// the old one had.
func (k *Keys) Rotate(which string, ttl, grace time.Duration) (made Key, secret tool.Secret, err error) {
	err = k.change(func(list []Key, now time.Time) ([]Key, error) {
		var old *Key
		for i := range list {
			if matches(&list[i], which) && list[i].Live(now) {
				old = &list[i] // the newest one: the others end as they were to
			}
		}
		if old == nil {
			return nil, noKey(list, which)
		}
		if ttl < 0 {
			ttl = 0
			if old.Expires != nil {
				ttl = old.Expires.Sub(old.Created)
			}
		}
		made, secret = newKey(old.Name, old.Scope, now, ttl)
		if grace <= 0 {
			old.Revoked = &now
		} else if end := now.Add(grace); old.Expires == nil || end.Before(*old.Expires) {
			old.Expires = &end
		}
		return append(list, made), nil
	})
	return made, secret, err
}

func matches(k *Key, which string) bool { return k.ID == which || k.Name == which }

// noKey says that there is no live key to work on.
func noKey(list []Key, which string) error {
	for i := range list {
		if matches(&list[i], which) {
			return &tool.Error{Kind: tool.NotFound, Text: "key " + which + " has ended already"}
		}
	}
	return &tool.Error{Kind: tool.NotFound, Text: "there is no key " + which + "; tenon keys list shows all"}
}

func newKey(name string, s Scope, now time.Time, ttl time.Duration) (Key, tool.Secret) {
	id := strings.ToLower(rand.Text()[:idLen])
	text := Prefix + id + "_" + strings.ToLower(rand.Text()+rand.Text()) // 260 bits
	sum := sha256.Sum256([]byte(text))
	made := Key{ID: id, Name: name, Hash: hashPrefix + hex.EncodeToString(sum[:]), Created: now, Scope: s}
	if ttl > 0 {
		end := now.Add(ttl)
		made.Expires = &end
	}
	return made, tool.NewSecret(text)
}

// keyID returns the id of a text that has the form of a key.
func keyID(text string) (string, bool) {
	if len(text) != len(Prefix)+idLen+1+52 || text[:len(Prefix)] != Prefix || text[len(Prefix)+idLen] != '_' {
		return "", false
	}
	return text[len(Prefix) : len(Prefix)+idLen], true
}

// keepEnded is how long a key that has ended stays in the file, for those who look
// up what became of it.
const keepEnded = 90 * 24 * time.Hour

// change makes one change of the file, alone among all processes.
func (k *Keys) change(edit func(list []Key, now time.Time) ([]Key, error)) error {
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(k.path + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", k.path, err)
	}
	defer unlock()
	list, err := readKeys(k.path)
	if err != nil {
		return err
	}
	now := k.now().UTC().Truncate(time.Second)
	list, err = edit(list, now)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(k Key) bool {
		return k.Revoked != nil && now.Sub(*k.Revoked) > keepEnded || k.Expires != nil && now.Sub(*k.Expires) > keepEnded
	})
	text, err := json.MarshalIndent(keyFile{Version: 1, Keys: list}, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(k.path, append(text, '\n')); err != nil {
		return fmt.Errorf("%s cannot be written, and is as it was: %w", k.path, err)
	}
	return nil
}

// replace puts a file that only its owner can read in the place of path, whole or
// not at all.
func replace(path string, text []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain where all went well
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

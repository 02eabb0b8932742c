// Package secrets reads secrets that are kept outside of the configuration: in an
// encrypted file, and in the keyring of the user.
//
//	v := secrets.Vault{File: "secrets.age", Identity: "/home/ann/.config/tenon/identity.txt"}
//	err := v.Set("GITHUB_TOKEN", "not-a-real-key-000")
//	all, err := v.Read()
//
// The file is one of age (age-encryption.org), so that age itself can read and
// write it as well. Within are lines NAME=value as in a file .env, or a map in YAML.
// The identity is the key that opens it. Neither errors nor anything else of this
// package show a value.
package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/tenon-mcp/tenon/internal/source"
)

const (
	// MaxBytes bounds a file with secrets, as it is and decrypted.
	MaxBytes = 1 << 20
	// IdentityPrefix is how an identity begins that is given as it is, and not as the
	// path of a file.
	IdentityPrefix = "AGE-SECRET-KEY-"
)

// An Error is told to people: what is wrong, and what to do.
type Error struct {
	Text, Hint string
	Err        error // the cause, or nil
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A Vault is an encrypted file. It is not safe for concurrent use.
type Vault struct {
	File       string
	Identity   string   // the path of a file with identities, or an identity itself
	Recipients []string // who can read the file beside the identity, as age1…
}

// Read returns all secrets by name. Where there is no such file the error wraps
// fs.ErrNotExist.
func (v *Vault) Read() (map[string]string, error) {
	sealed, err := readFile(v.File)
	if err != nil {
		return nil, err
	}
	identities, err := v.identities()
	if err != nil {
		return nil, err
	}
	plain, err := v.open(sealed, identities)
	if err != nil {
		return nil, err
	}
	return parse(v.File, plain)
}

// Set keeps a secret under a name, in a new file where there is none.
func (v *Vault) Set(name, value string) error {
	switch {
	case !IsName(name):
		return &Error{Text: fmt.Sprintf("%q is no name of a secret", name), Hint: "letters, digits and _, and no digit first"}
	case value == "" || !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return &Error{Text: "the value of a secret is text, and not empty"}
	}
	return v.edit(func(plain string, all map[string]string) string {
		all[name] = value
		return setLine(plain, name, value)
	})
}

// Remove forgets a secret.
func (v *Vault) Remove(name string) error {
	missing := false
	err := v.edit(func(plain string, all map[string]string) string {
		if _, ok := all[name]; !ok {
			missing = true
			return plain
		}
		delete(all, name)
		return setLine(plain, name, "")
	})
	if err == nil && missing {
		return &Error{Text: fmt.Sprintf("there is no secret %s in %s", name, v.File), Hint: "tenon secrets list names those that are there"}
	}
	return err
}

// edit changes the text of the file, and the secrets that are then in it. The file
// is replaced whole: a crash leaves the one or the other.
func (v *Vault) edit(change func(plain string, all map[string]string) string) error {
	sealed, err := readFile(v.File)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	var plain []byte
	identities, err := v.identities()
	if err != nil {
		return err
	}
	if !fresh {
		if plain, err = v.open(sealed, identities); err != nil {
			return err
		}
	}
	all, err := parse(v.File, plain)
	if err != nil {
		return err
	}
	text := change(string(plain), all)
	if text == string(plain) && !fresh {
		return nil
	}
	// A file that was written by hand may have a form that the change of one line
	// destroys: then it is left alone.
	if after, err := parse(v.File, []byte(text)); err != nil || !sameMaps(after, all) {
		return &Error{
			Text: v.File + " is written in a way in which one secret cannot be changed by itself",
			Hint: "write each secret in a line NAME=value, or change the file with age",
		}
	}
	out, err := v.seal([]byte(text), identities)
	if err != nil {
		return err
	}
	return replace(v.File, sealed, out)
}

// open decrypts a file.
func (v *Vault) open(sealed []byte, identities []age.Identity) ([]byte, error) {
	var in io.Reader = bytes.NewReader(sealed)
	if bytes.HasPrefix(bytes.TrimLeft(sealed, " \t\r\n"), []byte(armor.Header)) {
		in = armor.NewReader(bytes.NewReader(bytes.TrimLeft(sealed, " \t\r\n")))
	}
	plainReader, err := age.Decrypt(in, identities...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, &Error{
			Text: v.File + " is not encrypted for this identity", Err: err,
			Hint: "use the identity it was written with, or let its owner add your recipient",
		}
	}
	if err != nil {
		// The cause may hold the beginning of the file, which somebody has not encrypted.
		return nil, &Error{Text: v.File + " is no file of age, or is damaged", Hint: "tenon secrets set writes one"}
	}
	plain, err := io.ReadAll(io.LimitReader(plainReader, MaxBytes+1))
	switch {
	case err != nil:
		return nil, &Error{Text: v.File + " is damaged: " + err.Error(), Err: err}
	case len(plain) > MaxBytes:
		return nil, &Error{Text: fmt.Sprintf("%s holds more than %d bytes", v.File, MaxBytes)}
	}
	return plain, nil
}

// seal encrypts a text for the identities and the recipients.
func (v *Vault) seal(plain []byte, identities []age.Identity) ([]byte, error) {
	var to []age.Recipient
	for _, i := range identities {
		switch i := i.(type) {
		case *age.X25519Identity:
			to = append(to, i.Recipient())
		case *age.HybridIdentity:
			to = append(to, i.Recipient())
		default:
			return nil, &Error{Text: "this kind of identity can read the file but not write it"}
		}
	}
	if len(v.Recipients) > 0 {
		more, err := age.ParseRecipients(strings.NewReader(strings.Join(v.Recipients, "\n")))
		if err != nil {
			return nil, &Error{Text: "a recipient of the secrets is wrong: " + err.Error(), Hint: "recipients begin with age1", Err: err}
		}
		to = append(to, more...)
	}
	var out bytes.Buffer
	a := armor.NewWriter(&out)
	w, err := age.Encrypt(a, to...)
	if err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", v.File, err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", v.File, err)
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", v.File, err)
	}
	return out.Bytes(), nil
}

// identities reads the identity. No error of it shows any of it.
func (v *Vault) identities() ([]age.Identity, error) {
	const create = "tenon secrets init creates one"
	if v.Identity == "" {
		return nil, &Error{Text: "no identity is named that opens " + v.File, Hint: create}
	}
	if strings.HasPrefix(v.Identity, IdentityPrefix) {
		list, err := age.ParseIdentities(strings.NewReader(v.Identity))
		if err != nil {
			return nil, &Error{Text: "the identity is not valid", Hint: create}
		}
		return list, nil
	}
	data, err := readFile(v.Identity)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Text: "there is no identity " + v.Identity, Hint: create}
	}
	if err != nil {
		return nil, err
	}
	list, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil {
		return nil, &Error{Text: v.Identity + " holds no identity of age", Hint: create}
	}
	return list, nil
}

// NewIdentity creates an identity in a new file that only its owner can read, and
// returns its recipient.
func NewIdentity(path string) (recipient string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", &Error{Text: path + " is there already", Hint: "what it has encrypted cannot be read without it: name another file with --identity", Err: err}
	}
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "# recipient: %s\n%s\n", id.Recipient(), id)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return id.Recipient().String(), nil
}

// readFile reads a regular file within the bounds.
func readFile(path string) ([]byte, error) {
	data, _, err := ReadFile(path)
	return data, err
}

// ReadFile reads a regular file of at most MaxBytes, and tells whether others than
// its owner and the owner's group can read it.
func ReadFile(path string) (data []byte, open bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, unreadable(path, err)
	}
	if !info.Mode().IsRegular() { // a pipe would never end, and a device has no end
		return nil, false, &Error{Text: path + " is no regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, unreadable(path, err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, MaxBytes+1))
	switch {
	case err != nil:
		return nil, false, unreadable(path, err)
	case len(data) > MaxBytes:
		return nil, false, &Error{Text: fmt.Sprintf("%s is larger than %d bytes", path, MaxBytes)}
	}
	return data, worldReadable(info), nil
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Text: path + ": no such file", Err: err}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &Error{Text: path + " cannot be read: " + err.Error(), Err: err}
}

// replace puts a file in the place of the one that was read.
func replace(path string, before, after []byte) error {
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind // the link stays
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(after)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		now, lost := readFile(path)
		if lost != nil && !errors.Is(lost, fs.ErrNotExist) || !bytes.Equal(now, before) {
			err = &Error{Text: path + " was changed by somebody else meanwhile", Hint: "try again"}
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// IsName reports whether a secret may have this name.
func IsName(s string) bool { return nameOnly().MatchString(s) }

func sameMaps(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// parse reads what is within a file: lines NAME=value, or a map in YAML.
func parse(path string, plain []byte) (map[string]string, error) {
	file := source.NewFile(path, 1)
	if len(bytes.TrimSpace(plain)) == 0 {
		return map[string]string{}, nil
	}
	if isDotenv(plain) {
		values, wrong := source.ParseDotenv(file, plain)
		if len(wrong) > 0 {
			return nil, broken(path, source.Problems(wrong)[0].Line)
		}
		return values, nil
	}
	root, bad := source.NewFile(path+".yaml", 1).Parse(plain)
	if bad != nil {
		return nil, broken(path, source.Problems([]source.Mistake{*bad})[0].Line)
	}
	if root.Kind != source.Map {
		return nil, broken(path, root.Line)
	}
	all := map[string]string{}
	for _, p := range root.Pairs {
		if p.Value.Kind < source.Bool || p.Value.Kind > source.Text || !IsName(p.Key.Text) {
			return nil, broken(path, p.Key.Line)
		}
		all[p.Key.Text] = p.Value.Text
	}
	return all, nil
}

func broken(path string, line int) error {
	return &Error{
		Text: fmt.Sprintf("what is encrypted in %s is not a list of secrets (line %d)", path, line),
		Hint: "write each secret in a line NAME=value, or as a map in YAML",
	}
}

// isDotenv tells by the first line that says something how the text is written.
func isDotenv(plain []byte) bool {
	for line := range strings.Lines(string(plain)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "\ufeff")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		return assigned("", "=").MatchString(line)
	}
	return true
}

func nameOnly() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) }

// assigned matches a line that gives a value to a name, or to any.
func assigned(name, sign string) *regexp.Regexp {
	if name == "" {
		name = `[A-Za-z_][A-Za-z0-9_]*`
	}
	return regexp.MustCompile(`^\s*(export\s+)?` + name + `\s*` + sign)
}

// setLine returns the text with the line of a name replaced, added, or, for no
// value, left out.
func setLine(plain, name, value string) string {
	sign, line := "=", name+"="+quoteEnv(value)
	if !isDotenv([]byte(plain)) {
		sign, line = ":", name+": "+quoteYAML(value)
	}
	lines := strings.SplitAfter(plain, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n"
	}
	mine := assigned(name, sign)
	at := slices.IndexFunc(lines, mine.MatchString)
	lines = slices.DeleteFunc(lines, mine.MatchString)
	if value != "" {
		if at < 0 {
			at = len(lines)
		}
		lines = slices.Insert(lines, at, line+"\n")
	}
	return strings.Join(lines, "")
}

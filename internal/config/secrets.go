package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/secrets"
	"github.com/tenon-mcp/tenon/internal/source"
)

// A Vault is the section `secrets:`, the encrypted file that ${secret:NAME} takes
// values from.
type Vault = secrets.Vault

// LoadVault reads the section `secrets:` alone, with the defaults filled in: who
// puts a secret into the file cannot have a configuration yet that is whole. An
// empty path is no configuration.
func LoadVault(src Source) (Vault, error) {
	l := newLoader(src)
	l.vaultOnly = true
	if src.Path == "" {
		l.vault.Identity = l.identity()
		return l.vault, nil
	}
	l.main(src.Path)
	if l.vault.File == "" {
		l.vault.File = filepath.Join(l.cfg.Dir, "secrets.age")
	}
	if l.vault.Identity == "" {
		l.vault.Identity = l.identity()
	}
	if len(l.vaultMistakes) > 0 {
		return l.vault, &Error{Problems: source.Problems(l.vaultMistakes)}
	}
	return l.vault, nil
}

// outside are the secrets from outside of the configuration of one load. Each is
// read once, and none before an expression names it.
type outside struct {
	vault         Vault
	vaultOnly     bool // nothing but that section is read
	vaultMistakes []source.Mistake
	kept          map[string]string // what the vault holds, once it is read
	openError     error
	keyring       map[string]string // by service/account
	told          map[string]bool   // files that a warning was given for
}

// vaultSection reads `secrets:`. It comes before all that may use it.
func (s guards) vaultSection(o *object) {
	n := o.key("secrets")
	if n == nil {
		return
	}
	before := len(*o.to)
	v := &s.vault
	in := newObject(n, s.expander(nil), o.to)
	in.text("file", &v.File)
	if v.File == "" && len(*o.to) == before {
		o.fail(n, "secrets names no file", `write secrets: {file: ./secrets.age}; "tenon secrets set NAME" creates it`)
	}
	v.File = under(s.doc.dir(), s.home(v.File))
	in.text("identity", &v.Identity)
	at := in.seen["identity"]
	switch {
	case strings.HasPrefix(v.Identity, secrets.IdentityPrefix):
		s.secrets[v.Identity] = true
		if !dynamic(at) {
			at.Hide()
			in.fail(at, "identity holds the key itself", "who can read this file could read the secrets: write the path of its file, or ${env:NAME}")
		}
	case v.Identity == "":
		v.Identity = s.identity()
	default:
		v.Identity = under(s.doc.dir(), s.home(v.Identity))
	}
	for _, item := range in.list("recipients") {
		text, ok := in.scalar(item)
		if ok && !strings.HasPrefix(text, "age1") {
			in.fail(item, "recipients wants texts that begin with age1, and holds "+quoteOf(item, text), "")
			continue
		}
		v.Recipients = append(v.Recipients, text)
	}
	in.refuse()
	s.vaultMistakes = (*o.to)[before:]
}

// elsewhere reads secrets for expressions. Relative paths start from dir.
type elsewhere struct {
	*loader

	dir string
}

// sources are where expressions take values from, beside the environment.
func (l elsewhere) sources() map[string]interpolate.Source {
	return map[string]interpolate.Source{
		"file":    func(path string) (string, string, string) { return l.secret(l.fromFile(path)) },
		"keyring": func(name string) (string, string, string) { return l.secret(l.fromKeyring(name)) },
		"secret":  func(name string) (string, string, string) { return l.secret(l.fromVault(name)) },
	}
}

// secret remembers a value as a secret, and turns an error into what people are
// told.
func (l elsewhere) secret(value string, err error) (text, wrong, hint string) {
	if e, ok := errors.AsType[*secrets.Error](err); ok {
		return "", e.Text, e.Hint
	}
	if err != nil {
		return "", err.Error(), ""
	}
	l.secrets[value] = true
	return value, "", ""
}

// fromFile reads a file that holds a secret. A last line end is not part of it.
func (l elsewhere) fromFile(path string) (string, error) {
	if path == "" {
		return "", &secrets.Error{Text: "${file:…} wants the path of a file", Hint: "such as ${file:/run/secrets/token}"}
	}
	path = under(l.dir, l.home(path))
	l.note(path)
	data, open, err := secrets.ReadFile(path)
	if err != nil {
		return "", err
	}
	if open && !l.told[path] {
		l.told[path] = true
		l.warn(whole(l.newFile(path)), "holds a secret, and everybody on this machine can read it", "chmod o-r "+path)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", &secrets.Error{Text: path + " is empty"}
	}
	return text, nil
}

// fromKeyring asks the keyring of the user.
func (l elsewhere) fromKeyring(name string) (string, error) {
	service, account, ok := strings.Cut(name, "/")
	if !ok || service == "" || account == "" {
		return "", &secrets.Error{Text: "${keyring:…} wants a service and an account", Hint: "such as ${keyring:github/ann}"}
	}
	if value, ok := l.keyring[name]; ok {
		return value, nil
	}
	bus, _ := l.lookup("DBUS_SESSION_BUS_ADDRESS")
	if !secrets.HasKeyring(bus) {
		return "", &secrets.Error{
			Text: "there is no keyring service here",
			Hint: "it belongs to a desktop session; on a server write ${file:…} or ${secret:…}",
		}
	}
	value, err := secrets.Keyring(service, account)
	if err == nil {
		l.keyring[name] = value
	}
	return value, err
}

// fromVault looks a secret up in the encrypted file.
func (l elsewhere) fromVault(name string) (string, error) {
	switch {
	case !secrets.IsName(name):
		return "", &secrets.Error{Text: "${secret:…} wants the name of a secret", Hint: "letters, digits and _"}
	case l.vault.File == "":
		return "", &secrets.Error{
			Text: "no file with secrets is named, so there is no secret " + name,
			Hint: "write secrets: {file: ./secrets.age} in the main file",
		}
	}
	if l.kept == nil && l.openError == nil {
		l.note(l.vault.File)
		if !strings.HasPrefix(l.vault.Identity, secrets.IdentityPrefix) {
			l.note(l.vault.Identity)
		}
		l.kept, l.openError = l.vault.Read()
		for _, value := range l.kept {
			l.secrets[value] = true
		}
	}
	if errors.Is(l.openError, fs.ErrNotExist) {
		return "", &secrets.Error{Text: l.vault.File + ": no such file", Hint: "tenon secrets set " + name + " creates it"}
	}
	if l.openError != nil {
		return "", l.openError
	}
	value, ok := l.kept[name]
	if !ok {
		return "", &secrets.Error{Text: "there is no secret " + name + " in " + l.vault.File, Hint: "tenon secrets set " + name}
	}
	return value, nil
}

// home replaces a leading ~ by the user's folder.
func (f *files) home(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return path
	}
	home, _ := f.lookup("HOME")
	if home == "" && runtime.GOOS == "windows" {
		home, _ = f.lookup("USERPROFILE")
	}
	if home == "" {
		return path
	}
	return filepath.Join(home, rest)
}

// identity returns where the identity is unless the configuration says so.
func (f *files) identity() string {
	dir, _ := f.lookup("XDG_CONFIG_HOME")
	if runtime.GOOS == "windows" {
		dir, _ = f.lookup("APPDATA")
	}
	if !filepath.IsAbs(dir) {
		dir = f.home("~/.config")
	}
	return filepath.Join(dir, "tenon", "identity.txt")
}

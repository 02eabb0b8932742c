package secrets_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/internal/secrets"
)

// vault returns a vault in a new folder with an identity of its own.
func vault(t *testing.T) secrets.Vault {
	t.Helper()
	dir := t.TempDir()
	v := secrets.Vault{File: filepath.Join(dir, "secrets.age"), Identity: filepath.Join(dir, "tenon", "identity.txt")}
	if _, err := secrets.NewIdentity(v.Identity); err != nil {
		t.Fatal(err)
	}
	return v
}

// seal writes a text as age does that another program wrote.
func seal(t *testing.T, v secrets.Vault, text string) {
	t.Helper()
	data, err := os.ReadFile(v.Identity)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, ids[0].(*age.X25519Identity).Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(v.File, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, v secrets.Vault, want map[string]string) {
	t.Helper()
	got, err := v.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVault(t *testing.T) {
	v := vault(t)
	if _, err := v.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	odd := "two\nlines \"quoted\" \\ $HOME\ttab é #x"
	for _, kv := range [][2]string{{"A", "not-a-real-key-000"}, {"B", odd}, {"A", "not-a-real-key-111"}} {
		if err := v.Set(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	want(t, v, map[string]string{"A": "not-a-real-key-111", "B": odd})
	sealed, err := os.ReadFile(v.File)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(sealed, []byte("-----BEGIN AGE ENCRYPTED FILE-----")) || bytes.Contains(sealed, []byte("not-a-real")) {
		t.Errorf("%s", sealed)
	}
	if err := v.Remove("A"); err != nil {
		t.Fatal(err)
	}
	want(t, v, map[string]string{"B": odd})
	if err := v.Remove("A"); err == nil {
		t.Error("what is not there was removed")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(v.File), ".secrets*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if runtime.GOOS != "windows" {
		for _, path := range []string{v.File, v.Identity} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
		}
	}
	if _, err := secrets.NewIdentity(v.Identity); err == nil {
		t.Error("an identity was written over")
	}
}

// TestHandWritten: a file that age wrote is read, and a change keeps the rest of it.
func TestHandWritten(t *testing.T) {
	for name, text := range map[string]string{
		"lines": "# comment\nexport A=one\nB='x y' # why\n",
		"yaml":  "# comment\nA: one\nB: \"x y\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			v := vault(t)
			seal(t, v, text)
			want(t, v, map[string]string{"A": "one", "B": "x y"})
			if err := v.Set("A", "1: two"); err != nil {
				t.Fatal(err)
			}
			if err := v.Set("C", "three"); err != nil {
				t.Fatal(err)
			}
			want(t, v, map[string]string{"A": "1: two", "B": "x y", "C": "three"})
		})
	}
	v := vault(t)
	seal(t, v, "A: |\n  one\n  two\nB: x\n")
	want(t, v, map[string]string{"A": "one\ntwo\n", "B": "x"})
	if err := v.Set("A", "three"); err == nil {
		t.Error("a value of several lines was changed by one line")
	}
	want(t, v, map[string]string{"A": "one\ntwo\n", "B": "x"})
}

// TestErrorsShowNoValue: whatever is wrong with a file, nothing of it is told.
func TestErrorsShowNoValue(t *testing.T) {
	const planted = "not-a-real-key-000"
	for name, spoil := range map[string]func(v *secrets.Vault){
		"list":           func(v *secrets.Vault) { seal(t, *v, "- "+planted) },
		"nested":         func(v *secrets.Vault) { seal(t, *v, "A:\n  b: "+planted) },
		"syntax":         func(v *secrets.Vault) { seal(t, *v, "A: {"+planted) },
		"lines":          func(v *secrets.Vault) { seal(t, *v, "A=1\n"+planted+"\n") },
		"other identity": func(v *secrets.Vault) { seal(t, *v, planted); v.Identity = vault(t).Identity },
		"no identity":    func(v *secrets.Vault) { seal(t, *v, planted); v.Identity = "" },
		"lost identity":  func(v *secrets.Vault) { seal(t, *v, planted); v.Identity += "x" },
		"bad identity":   func(v *secrets.Vault) { seal(t, *v, planted); v.Identity = secrets.IdentityPrefix + planted },
		"not age":        func(v *secrets.Vault) { write(t, v.File, planted) },
		"wrong file":     func(v *secrets.Vault) { seal(t, *v, "A=1"); write(t, v.Identity, planted) },
		"folder":         func(v *secrets.Vault) { v.File = filepath.Dir(v.File) },
		"large":          func(v *secrets.Vault) { write(t, v.File, strings.Repeat(planted, 1<<17)) },
		"bomb":           func(v *secrets.Vault) { seal(t, *v, strings.Repeat("#"+planted+"\n", 1<<16)) },
	} {
		v := vault(t)
		spoil(&v)
		_, err := v.Read()
		e, ok := errors.AsType[*secrets.Error](err)
		if !ok || strings.Contains(e.Text+e.Hint, planted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v := vault(t)
	v.Recipients = []string{"age1wrong"}
	if err := v.Set("A", planted); err == nil || strings.Contains(err.Error(), planted) {
		t.Errorf("recipient: %v", err)
	}
	for _, name := range []string{"", "1a", "a b", "a=b", "a\nb"} {
		if err := v.Set(name, planted); err == nil || strings.Contains(err.Error(), planted) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRecipients: who is named can read what another one has written.
func TestRecipients(t *testing.T) {
	v := vault(t)
	other := filepath.Join(t.TempDir(), "identity.txt")
	recipient, err := secrets.NewIdentity(other)
	if err != nil {
		t.Fatal(err)
	}
	v.Recipients = []string{recipient}
	if err := v.Set("A", "not-a-real-key-000"); err != nil {
		t.Fatal(err)
	}
	want(t, secrets.Vault{File: v.File, Identity: other}, map[string]string{"A": "not-a-real-key-000"})
	want(t, v, map[string]string{"A": "not-a-real-key-000"})
}

// TestLink: a file that is reached by a link stays where it is.
func TestLink(t *testing.T) {
	v := vault(t)
	behind := filepath.Join(t.TempDir(), "real.age")
	if err := os.Symlink(behind, v.File); err != nil {
		t.Skip(err)
	}
	seal(t, secrets.Vault{File: behind, Identity: v.Identity}, "A=1\n")
	if err := v.Set("B", "2"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(v.File); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	want(t, secrets.Vault{File: behind, Identity: v.Identity}, map[string]string{"A": "1", "B": "2"})
}

func TestKeyring(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("tenon", "ann", "not-a-real-key-000"); err != nil {
		t.Fatal(err)
	}
	if got, err := secrets.Keyring("tenon", "ann"); err != nil || got != "not-a-real-key-000" {
		t.Errorf("%q %v", got, err)
	}
	_, err := secrets.Keyring("tenon", "bob")
	if e, ok := errors.AsType[*secrets.Error](err); !ok || !strings.Contains(e.Text, "nothing for service tenon, account bob") || e.Hint == "" {
		t.Errorf("%v", err)
	}
	if err := secrets.Keep("tenon", "ann", "not-a-real-key-111"); err != nil {
		t.Fatal(err)
	}
	if got, err := secrets.Keyring("tenon", "ann"); err != nil || got != "not-a-real-key-111" {
		t.Errorf("kept as %q, %v", got, err)
	}
	keyring.MockInitWithError(errors.New("no bus"))
	err = secrets.Keep("tenon", "ann", "not-a-real-key-222")
	if e, ok := errors.AsType[*secrets.Error](err); !ok || !strings.Contains(e.Text, "no bus") || strings.Contains(e.Text, "not-a-real") || e.Hint == "" {
		t.Errorf("%v", err)
	}
	_, err = secrets.Keyring("tenon", "ann")
	if e, ok := errors.AsType[*secrets.Error](err); !ok || !strings.Contains(e.Text, "no bus") || !strings.Contains(e.Hint, "${file:") {
		t.Errorf("%v", err)
	}
}

// FuzzSet: what was set is read again, and all else stays.
func FuzzSet(f *testing.F) {
	f.Add("A", "x", "A=1\nB='2'\n")
	f.Add("B_1", "two\nlines", "B_1: |\n  x\n")
	f.Add("A", "\\$\"'#", "")
	dir := f.TempDir()
	id := filepath.Join(dir, "identity.txt")
	if _, err := secrets.NewIdentity(id); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value, text string) {
		v := secrets.Vault{File: filepath.Join(t.TempDir(), "x.age"), Identity: id}
		seal(t, v, text)
		before, err := v.Read()
		if err != nil {
			return
		}
		if err := v.Set(name, value); err == nil {
			before[name] = value
		}
		after, err := v.Read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}

package access_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/access"
	"github.com/tenon-mcp/tenon/tool"
)

const approver = "not-a-real-token-000"

// request returns a request with these values of Authorization.
func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8400/api/v1/calls", nil)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}

// status asks who sends r, and returns the status of the refusal, or 200.
func status(t *testing.T, a *access.Access, r *http.Request) int {
	t.Helper()
	_, err := a.Caller(r)
	if err == nil {
		return http.StatusOK
	}
	refusal, ok := errors.AsType[*access.Refusal](err)
	if !ok {
		t.Fatalf("the error is %T %v, want a Refusal", err, err)
	}
	return refusal.Status
}

// file returns a file of keys with one of each name, and what they are.
func file(t *testing.T, names ...string) (*access.Keys, []string) {
	t.Helper()
	keys := access.OpenKeys(filepath.Join(t.TempDir(), "state", "keys.json"))
	var texts []string
	for _, name := range names {
		_, secret, err := keys.Create(name, access.Scope{Caller: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, secret.Reveal())
	}
	return keys, texts
}

func open(t *testing.T, o access.Options) *access.Access {
	t.Helper()
	a := access.New(o)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// A caller is who its credential says, with what that allows; without one it is the
// local user.
func TestCaller(t *testing.T) {
	keys, _ := file(t)
	scope := access.Scope{Mode: tool.ModeReadOnly, Skills: []string{"a", "b"}, Limits: "small", Elicit: true, Caller: true}
	made, secret, err := keys.Create("agent", scope, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, access.Options{Keys: keys.Path(), Approver: tool.NewSecret(approver)})
	for _, c := range []struct {
		name, authorization string
		want                tool.Caller
	}{
		{"key", "Bearer " + secret.Reveal(), tool.Caller{Name: "agent", Grant: &tool.Grant{
			Key: made.ID, Mode: tool.ModeReadOnly, Skills: []string{"a", "b"}, Limits: "small", Elicit: true, Caller: true,
		}}},
		{"scheme in lower case", "bearer  " + secret.Reveal() + " ", tool.Caller{Name: "agent", Grant: &tool.Grant{
			Key: made.ID, Mode: tool.ModeReadOnly, Skills: []string{"a", "b"}, Limits: "small", Elicit: true, Caller: true,
		}}},
		{"approver", "Bearer " + approver, tool.Caller{Name: "approver", Grant: &tool.Grant{Key: "approver-token", Approver: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := a.Caller(request(c.authorization))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if got, err := a.Caller(request()); got.Grant != nil || got.Name != "" || err != nil {
		t.Errorf("without a credential: %v, %v", got, err)
	}
}

// A credential that was sent and is wrong never makes the local user of its bearer.
func TestWrongCredentialIsRefused(t *testing.T) {
	keys, good := file(t, "agent")
	key := good[0]
	a := open(t, access.Options{Keys: keys.Path(), Approver: tool.NewSecret(approver)})
	flipped := []byte(key)
	flipped[len(flipped)-1] ^= 1
	for _, c := range []struct {
		name          string
		authorization []string
	}{
		{"unknown key", []string{"Bearer " + access.Prefix + "aaaaaaaaaa_" + strings.Repeat("a", 52)}},
		{"known id, other key", []string{"Bearer " + string(flipped)}},
		{"cut", []string{"Bearer " + key[:len(key)-1]}},
		{"longer", []string{"Bearer " + key + "a"}},
		{"upper case", []string{"Bearer " + strings.ToUpper(key)}},
		{"approver's, cut", []string{"Bearer " + approver[:len(approver)-1]}},
		{"empty header", []string{""}},
		{"no token", []string{"Bearer"}},
		{"blank token", []string{"Bearer  "}},
		{"other scheme", []string{"Basic " + key}},
		{"no scheme", []string{key}},
		{"two headers", []string{"Bearer " + key, "Bearer " + key}},
		{"two headers, one wrong", []string{"Bearer x", "Bearer " + key}},
		{"two in one", []string{"Bearer " + key + ", Bearer " + key}},
		{"words behind", []string{"Bearer " + key + " x"}},
		{"a token of nobody", []string{"Bearer a.b.c"}},
		{"huge", []string{"Bearer " + strings.Repeat("x", 1<<20)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := status(t, a, request(c.authorization...)); got != http.StatusUnauthorized {
				t.Errorf("status %d, want 401", got)
			}
		})
	}
	for _, query := range []string{"access_token=" + key, "access%5ftoken=" + key, "x=1&access_token="} {
		r := request("Bearer " + key)
		r.URL.RawQuery = query
		if got := status(t, a, r); got != http.StatusUnauthorized {
			t.Errorf("credential in the URL (%s): status %d, want 401", query, got)
		}
	}
}

func TestChallenge(t *testing.T) {
	a := open(t, access.Options{Required: true})
	tell := func(err error) http.Header {
		t.Helper()
		refusal, ok := errors.AsType[*access.Refusal](err)
		if !ok {
			t.Fatalf("%v is no refusal", err)
		}
		h := http.Header{}
		refusal.Tell(h)
		return h
	}
	_, err := a.Caller(request())
	if got := tell(err).Get("WWW-Authenticate"); got != `Bearer realm="tenon"` {
		t.Errorf("without a credential the challenge is %s", got)
	}
	_, err = a.Caller(request("Bearer x"))
	if got := tell(err).Get("WWW-Authenticate"); !strings.HasPrefix(got, `Bearer realm="tenon", error="invalid_token", error_description="`) {
		t.Errorf("with a wrong one it is %s", got)
	}
	if tool.KindOf(err) != tool.Denied {
		t.Errorf("its kind is %s", tool.KindOf(err))
	}
}

func TestRequired(t *testing.T) {
	keys, good := file(t, "agent")
	a := open(t, access.Options{Keys: keys.Path()})
	if got := status(t, a, request()); got != 200 {
		t.Errorf("not required: %d", got)
	}
	a.Expose()
	if got := status(t, a, request()); got != 401 {
		t.Errorf("exposed: %d", got)
	}
	if got := status(t, a, request("Bearer "+good[0])); got != 200 {
		t.Errorf("exposed, with a key: %d", got)
	}
	a.Configure(access.Options{}) // a reload does not undo it
	if got := status(t, a, request()); got != 401 {
		t.Errorf("exposed, configured anew: %d", got)
	}
	a = open(t, access.Options{Keys: keys.Path(), Required: true})
	if got := status(t, a, request()); got != 401 {
		t.Errorf("required: %d", got)
	}
}

// Who would be held by limits that nobody has set is not let in.
func TestLimitsThatAreNone(t *testing.T) {
	keys, texts := file(t, "free")
	_, held, err := keys.Create("held", access.Scope{Caller: true, Limits: "small"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limits     []string
		free, held int
	}{{nil, 200, 200}, {[]string{}, 200, 403}, {[]string{"large"}, 200, 403}, {[]string{"large", "small"}, 200, 200}} {
		a := open(t, access.Options{Keys: keys.Path(), Limits: c.limits})
		if free, held := status(t, a, request("Bearer "+texts[0])), status(t, a, request("Bearer "+held.Reveal())); free != c.free || held != c.held {
			t.Errorf("with %q: %d without limits, %d with some", c.limits, free, held)
		}
	}
}

// Whether somebody could come with a credential decides whether others may reach
// the listener.
func TestConfigured(t *testing.T) {
	keys, _ := file(t)
	configured := func() bool {
		return open(t, access.Options{Keys: keys.Path(), Approver: tool.NewSecret(approver)}).Configured()
	}
	if configured() {
		t.Error("configured without a file")
	}
	if _, _, err := keys.Create("person", access.Scope{Approver: true}, 0); err != nil {
		t.Fatal(err)
	}
	if configured() {
		t.Error("configured with an approver's key alone")
	}
	if _, _, err := keys.Create("agent", access.Scope{Caller: true}, 0); err != nil {
		t.Fatal(err)
	}
	if !configured() {
		t.Error("not configured with a caller's key")
	}
	if _, err := keys.Revoke("agent"); err != nil {
		t.Fatal(err)
	}
	if configured() {
		t.Error("configured with a revoked key")
	}
	if !open(t, access.Options{OIDC: &access.OIDC{Issuer: "https://id.example.com", Audience: []string{"tenon"}}}).Configured() {
		t.Error("not configured with an identity provider")
	}
}

// A key ends within a second of being revoked, and when it expires, while the
// gateway runs; one that is made counts as soon.
func TestFileChangesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, texts := file(t, "first")
		a := open(t, access.Options{Keys: keys.Path()})
		is := func(what, text string, want int) {
			t.Helper()
			time.Sleep(time.Second)
			if got := status(t, a, request("Bearer "+text)); got != want {
				t.Errorf("%s: status %d, want %d", what, got, want)
			}
		}
		is("at first", texts[0], 200)
		_, second, err := keys.Create("second", access.Scope{Caller: true}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		is("made", second.Reveal(), 200)
		if _, err := keys.Revoke("first"); err != nil {
			t.Fatal(err)
		}
		is("revoked", texts[0], 401)
		is("the other one", second.Reveal(), 200)
		_, third, err := keys.Rotate("second", -1, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		is("in the place of another", third.Reveal(), 200)
		is("the other within its grace", second.Reveal(), 200)
		time.Sleep(10 * time.Second)
		is("the other after it", second.Reveal(), 401)
		is("the new one, later", third.Reveal(), 200)
		_, fourth, err := keys.Rotate("second", time.Hour, 0)
		if err != nil {
			t.Fatal(err)
		}
		is("the old one without a grace", third.Reveal(), 401)
		is("the new one", fourth.Reveal(), 200)
		third = fourth
		time.Sleep(time.Hour)
		is("expired", third.Reveal(), 401)
		if err := os.Remove(keys.Path()); err != nil {
			t.Fatal(err)
		}
		is("without the file", texts[0], 401)
	})
}

// A file that cannot be trusted gives nobody access, and says so to the operator.
func TestBadFile(t *testing.T) {
	keys, texts := file(t, "agent")
	good, err := os.ReadFile(keys.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, says string }{
		{"no JSON", "{", "is no file of keys"},
		{"another version", strings.Replace(string(good), `"version": 1`, `"version": 2`, 1), "version 2"},
		{"a limit that is not known", strings.Replace(string(good), `"caller": true`, `"caller": true, "networks": ["10.0.0.0/8"]`, 1), "networks"},
		{"two objects", string(good) + "{}", "more than one"},
		{"no hash", strings.Replace(string(good), "sha256:", "sha1:", 1), "hash"},
		{"a mode that is none", strings.Replace(string(good), `"caller": true`, `"caller": true, "mode": "all"`, 1), `"all"`},
		{"nothing allowed", strings.Replace(string(good), `"caller": true`, `"caller": false`, 1), "allows nothing"},
		{"the name of the approver", strings.Replace(string(good), `"agent"`, `"approver"`, 1), "approver"},
		{"the name of a token", strings.Replace(string(good), `"agent"`, `"oidc:me"`, 1), "no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, path, texts[0], c.says)
		})
	}
	t.Run("others can write it", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no permissions of this kind here")
		}
		if err := os.Chmod(keys.Path(), 0o620); err != nil {
			t.Fatal(err)
		}
		refused(t, keys.Path(), texts[0], "chmod 600")
	})
}

func refused(t *testing.T, path, key, says string) {
	t.Helper()
	var log bytes.Buffer
	a := open(t, access.Options{Keys: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if got := status(t, a, request("Bearer "+key)); got != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", got)
	}
	if a.Configured() {
		t.Error("counts as configured")
	}
	if !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), says) {
		t.Errorf("the log says %s, want %s", &log, says)
	}
	if _, _, err := access.OpenKeys(path).Create("other", access.Scope{Caller: true}, 0); err == nil {
		t.Error("a key was added to it")
	}
}

// The file holds no key, belongs to its owner alone, and a change is made whole.
func TestFileHoldsNoKey(t *testing.T) {
	keys, texts := file(t, "agent")
	text, err := os.ReadFile(keys.Path())
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(texts[0], "_")[2]
	if !strings.HasPrefix(texts[0], access.Prefix) || len(secret) != 52 || strings.Contains(string(text), secret) {
		t.Errorf("key %d long, file:\n%s", len(secret), text)
	}
	if info, err := os.Stat(keys.Path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(keys.Path()), "*.new"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Writers that race lose nothing, and readers see whole files meanwhile.
func TestKeysRaced(t *testing.T) {
	keys, texts := file(t, "always")
	a := open(t, access.Options{Keys: keys.Path()})
	const writers = 24
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			own := access.OpenKeys(keys.Path())
			name := fmt.Sprintf("w%d", i)
			if _, _, err := own.Create(name, access.Scope{Caller: true}, 0); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if _, err := own.Revoke(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if got := status(t, a, request("Bearer "+texts[0])); got != 200 {
					t.Errorf("status %d", got)
				}
			}
		})
	}
	// Of those that want the same name one gets it.
	var got sync.Map
	for range 8 {
		wg.Go(func() {
			if made, _, err := access.OpenKeys(keys.Path()).Create("same", access.Scope{Caller: true}, 0); err == nil {
				got.Store(made.ID, true)
			}
		})
	}
	wg.Wait()
	list, err := keys.List()
	if err != nil {
		t.Fatal(err)
	}
	live := 0
	for _, k := range list {
		if k.Live(time.Now()) {
			live++
		}
	}
	same := 0
	got.Range(func(any, any) bool { same++; return true })
	if len(list) != writers+2 || live != writers/2+2 || same != 1 {
		t.Errorf("%d keys, %d of them live, %d of the same name", len(list), live, same)
	}
}

func TestKeysErrors(t *testing.T) {
	keys, _ := file(t, "agent", "gone")
	if _, err := keys.Revoke("gone"); err != nil {
		t.Fatal(err)
	}
	create := func(name string, s access.Scope) error { _, _, err := keys.Create(name, s, 0); return err }
	rotate := func(which string) error { _, _, err := keys.Rotate(which, -1, 0); return err }
	revoke := func(which string) error { _, err := keys.Revoke(which); return err }
	caller := access.Scope{Caller: true}
	for _, c := range []struct {
		name string
		err  error
		kind tool.Kind
		says string
	}{
		{"a name twice", create("agent", caller), tool.Invalid, "rotate"},
		{"no name", create("", caller), tool.Invalid, "no name"},
		{"a name with a colon", create("oidc:me", caller), tool.Invalid, "no name"},
		{"a long name", create(strings.Repeat("n", 65), caller), tool.Invalid, "no name"},
		{"the approver's name", create("approver", caller), tool.Invalid, "another one"},
		{"no mode", create("x", access.Scope{Caller: true, Mode: "root"}), tool.Invalid, "read_only"},
		{"nothing allowed", create("x", access.Scope{}), tool.Invalid, "allows nothing"},
		{"an empty skill", create("x", access.Scope{Caller: true, Skills: []string{""}}), tool.Invalid, "skill"},
		{"revoke nobody", revoke("nobody"), tool.NotFound, "keys list"},
		{"revoke twice", revoke("gone"), tool.NotFound, "already"},
		{"rotate nobody", rotate("nobody"), tool.NotFound, "keys list"},
		{"rotate what is revoked", rotate("gone"), tool.NotFound, "already"},
		{"a name again after its end", create("gone", caller), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch {
			case c.kind == "":
				if c.err != nil {
					t.Error(c.err)
				}
			case tool.KindOf(c.err) != c.kind || !strings.Contains(c.err.Error(), c.says):
				t.Errorf("got %s: %v", tool.KindOf(c.err), c.err)
			}
		})
	}
}

// Many wrong credentials take neither memory nor the log, and hold up nobody who
// has the right one, from the same address either.
func TestManyWrongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, texts := file(t, "agent")
		var log bytes.Buffer
		a := open(t, access.Options{Keys: keys.Path(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		counts := map[int]int{}
		for i := range 10_000 {
			r := request(fmt.Sprintf("Bearer %saaaaaaaaaa_%052d", access.Prefix, i))
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:%d", i%4, 1024+i)
			counts[status(t, a, r)]++
			if i%1000 == 0 {
				good := request("Bearer " + texts[0])
				good.RemoteAddr = r.RemoteAddr
				if got := status(t, a, good); got != 200 {
					t.Fatalf("the right one: status %d", got)
				}
			}
		}
		if counts[401] < 30 || counts[401] > 400 || counts[401]+counts[429] != 10_000 {
			t.Errorf("statuses %v", counts)
		}
		if lines := strings.Count(log.String(), "\n"); lines > 500 || strings.Contains(log.String(), access.Prefix) {
			t.Errorf("%d lines of log, of which the first is %.200s", lines, &log)
		}
		time.Sleep(5 * time.Minute)
		if got := status(t, a, request("Bearer x")); got != 401 {
			t.Errorf("later: status %d", got)
		}
	})
}

func TestApproverToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if token, err := access.ReadApprover(dir); err != nil || token.Reveal() != "" {
		t.Errorf("before it is made: %v, %v", token, err)
	}
	var wg sync.WaitGroup
	var texts sync.Map
	for range 8 { // gateways that start at once
		wg.Go(func() {
			token, err := access.MakeApprover(dir)
			if err != nil {
				t.Error(err)
			}
			texts.Store(token.Reveal(), true)
		})
	}
	wg.Wait()
	var all []string
	texts.Range(func(k, _ any) bool { all = append(all, fmt.Sprint(k)); return true })
	read, err := access.ReadApprover(dir)
	if len(all) != 1 || err != nil || read.Reveal() != all[0] || len(all[0]) < 50 {
		t.Errorf("%d tokens, of %d letters; %v", len(all), len(all[0]), err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(dir, "approver-token")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if token, err := access.MakeApprover(dir); err == nil || token.Reveal() != "" {
		t.Errorf("others can read it, and it counts: %v", err)
	}
}

func BenchmarkCaller(b *testing.B) {
	keys := access.OpenKeys(filepath.Join(b.TempDir(), "keys.json"))
	var last tool.Secret
	for i := range 100 {
		_, secret, err := keys.Create(fmt.Sprintf("k%d", i), access.Scope{Caller: true}, 0)
		if err != nil {
			b.Fatal(err)
		}
		last = secret
	}
	a := access.New(access.Options{Keys: keys.Path()})
	for name, r := range map[string]*http.Request{"key": request("Bearer " + last.Reveal()), "none": request()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Caller(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

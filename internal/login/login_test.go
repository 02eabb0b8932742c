package login_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/login"
	"github.com/tenon-mcp/tenon/internal/logintest"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A world is a double, and the logins of one process.
type world struct {
	*logintest.Double
	*login.Logins
	clock *clock
	dir   string
}

func newWorld(t *testing.T, s logintest.Script) *world {
	t.Helper()
	w := &world{Double: logintest.New(s), dir: t.TempDir(), clock: &clock{}}
	t.Cleanup(w.Double.Close)
	w.Logins = w.process(t)
	return w
}

// process returns the logins of another process on the same folder.
func (w *world) process(t *testing.T) *login.Logins {
	t.Helper()
	l := login.New(login.Options{Dir: w.dir, Now: w.clock.now})
	t.Cleanup(l.Close)
	return l
}

func (w *world) server() login.Server { return login.Server{Name: "docs", URL: w.URL() + "/mcp"} }

// browse is a person whose browser follows every redirect.
func browse(address string) error {
	resp, err := newClient(nil).Get(address)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func newClient(next http.RoundTripper) *http.Client {
	if next == nil {
		next = &http.Transport{DisableKeepAlives: true}
	}
	return &http.Client{Transport: next, Timeout: 20 * time.Second}
}

// pasted is a person who brings back where the browser ended.
func pasted() login.Person {
	var address string
	return login.Person{
		Show: func(p login.Prompt) { address = p.URL },
		Paste: func(context.Context) (string, error) {
			c := newClient(nil)
			c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			resp, err := c.Get(address)
			if err != nil {
				return "", err
			}
			text, _ := io.ReadAll(resp.Body)
			if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusFound {
				return "", errors.New(resp.Status + " " + string(text))
			}
			return resp.Header.Get("Location"), nil
		},
	}
}

func (w *world) login(t *testing.T, s login.Server, r login.Request) *login.Kept {
	t.Helper()
	if r.Flow == "" {
		r.Flow, r.Person = login.Paste, pasted()
	}
	k, err := w.Login(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ask sends a request through a Transport.
func (w *world) ask(t *testing.T, l *login.Logins, s login.Server, caller string) (int, error) {
	t.Helper()
	c := newClient(l.Transport(s, caller, &http.Transport{DisableKeepAlives: true}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of-the-client-000")
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func (w *world) mustAsk(t *testing.T, l *login.Logins, s login.Server) {
	t.Helper()
	if status, err := w.ask(t, l, s, ""); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v; want 200", status, err)
	}
}

// wantNeeded wants an error that says which command to run.
func wantNeeded(t *testing.T, err error, text string) {
	t.Helper()
	e, ok := errors.AsType[*tool.Error](err)
	if !ok || e.Kind != tool.Unavailable || !strings.Contains(e.Text, text) {
		t.Fatalf("error %v, want unavailable with %q", err, text)
	}
	if _, ok := errors.AsType[*login.NeededError](err); !ok {
		t.Errorf("%v is no NeededError", err)
	}
}

func TestFlows(t *testing.T) {
	tests := map[string]struct {
		script logintest.Script
		flow   login.Flow
		person login.Person
		change func(*login.Server)
		live   bool
	}{
		"browser": {flow: login.Browser, person: login.Person{Open: browse}},
		"paste":   {flow: login.Paste, person: pasted()},
		"device":  {flow: login.Device},
		"iss":     {script: logintest.Script{Iss: "right"}, flow: login.Paste, person: pasted()},
		"client of the operator": {
			script: logintest.Script{Client: "known", Secret: "not-a-real-key-000", NoRegistration: true}, flow: login.Paste, person: pasted(),
			change: func(s *login.Server) { s.ClientID, s.ClientSecret = "known", tool.NewSecret("not-a-real-key-000") },
		},
		"client of a document": {
			script: logintest.Script{Documents: true, NoRegistration: true}, flow: login.Paste, person: pasted(),
			change: func(s *login.Server) { s.ClientID = "https://client.example/tenon.json" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.script)
			s := w.server()
			if test.change != nil {
				test.change(&s)
			}
			_, err := w.ask(t, w.Logins, s, "")
			wantNeeded(t, err, "tenon login docs")
			k := w.login(t, s, login.Request{Flow: test.flow, Person: test.person})
			if k.Refresh.Reveal() == "" || k.Issuer != w.URL()+"/as" {
				t.Errorf("login %+v", k)
			}
			w.mustAsk(t, w.process(t), s)
			for _, sent := range w.Sent() {
				if strings.Contains(sent, "of-the-client") {
					t.Error("the client's own token was passed through")
				}
			}
		})
	}
}

func TestRefusedAnswers(t *testing.T) {
	tests := map[string]struct {
		script logintest.Script
		want   string
	}{
		"wrong issuer":       {logintest.Script{Iss: "wrong"}, "https://evil.example"},
		"missing issuer":     {logintest.Script{Iss: "missing"}, "does not say"},
		"unpromised issuer":  {logintest.Script{Iss: "unpromised"}, "does not promise"},
		"metadata of others": {logintest.Script{Issuer: "https://evil.example"}, "does not match"},
		"other resource":     {logintest.Script{Resource: "https://evil.example/mcp"}, "a token for it would be for somebody else"},
		"no PKCE":            {logintest.Script{NoPKCE: true}, "PKCE"},
		"no registration":    {logintest.Script{NoRegistration: true}, "auth.client_id"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.script)
			_, err := w.Login(t.Context(), w.server(), login.Request{Flow: login.Paste, Person: pasted()})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if list, _ := w.List(); len(list) > 0 {
				t.Error("a login was kept")
			}
		})
	}
	t.Run("no device flow", func(t *testing.T) {
		w := newWorld(t, logintest.Script{NoDevice: true})
		if _, err := w.Login(t.Context(), w.server(), login.Request{Flow: login.Device}); err == nil || !strings.Contains(err.Error(), "paste") {
			t.Fatal(err)
		}
	})
	t.Run("other state", func(t *testing.T) {
		w := newWorld(t, logintest.Script{})
		p := login.Person{Paste: func(context.Context) (string, error) { return "http://127.0.0.1/callback?code=x&state=y", nil }}
		if _, err := w.Login(t.Context(), w.server(), login.Request{Flow: login.Paste, Person: p}); err == nil || !strings.Contains(err.Error(), "state") {
			t.Fatal(err)
		}
	})
}

// TestBrowserIgnoresOthers: what comes to the port with another state ends nothing.
func TestBrowserIgnoresOthers(t *testing.T) {
	w := newWorld(t, logintest.Script{})
	open := func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		resp, err := newClient(nil).Get(u.Query().Get("redirect_uri") + "?code=x&state=guessed")
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d for another state, want 400", resp.StatusCode)
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		return browse(address)
	}
	w.login(t, w.server(), login.Request{Flow: login.Browser, Person: login.Person{Open: open}})
	ctx, cancel := context.WithCancel(t.Context())
	gone := login.Person{Open: func(string) error { cancel(); return nil }}
	if _, err := w.Login(ctx, w.server(), login.Request{Flow: login.Browser, Person: gone}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after Ctrl-C, want canceled", err)
	}
}

// TestRenewal: a token is renewed before its end, once however many ask, also of two
// processes; a refresh token is never used twice.
func TestRenewal(t *testing.T) {
	w := newWorld(t, logintest.Script{Rotate: true})
	s := w.server()
	w.login(t, s, login.Request{})
	others := []*login.Logins{w.Logins, w.process(t), w.process(t)}
	for _, l := range others {
		w.mustAsk(t, l, s)
	}
	w.clock.move(time.Hour - time.Second)
	w.EndTokens()
	var tasks sync.WaitGroup
	for i := range 30 {
		tasks.Go(func() {
			if status, err := w.ask(t, others[i%3], s, ""); err != nil || status != http.StatusOK {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
	tasks.Wait()
	if n := w.Count("refresh"); n != 1 {
		t.Errorf("%d renewals, want 1", n)
	}
	w.clock.move(time.Hour - 30*time.Second) // soon, and not yet: nobody waits
	w.mustAsk(t, w.Logins, s)
	w.EndTokens() // before its time
	w.mustAsk(t, others[1], s)
	if n := w.Count("reuse"); n != 0 {
		t.Errorf("a refresh token was used twice %d times", n)
	}
}

// TestEndedLogin: when the issuer has ended a login, a person is asked for the next, and
// a gateway that runs takes it.
func TestEndedLogin(t *testing.T) {
	w := newWorld(t, logintest.Script{Rotate: true})
	s := w.server()
	w.login(t, s, login.Request{})
	w.mustAsk(t, w.Logins, s)
	w.EndLogins()
	for range 2 {
		_, err := w.ask(t, w.Logins, s, "")
		wantNeeded(t, err, "tenon login docs")
	}
	if n := w.Count("refresh"); n != 1 {
		t.Errorf("%d renewals of a login that has ended, want 1", n)
	}
	if _, err := w.process(t).Login(t.Context(), s, login.Request{Flow: login.Paste, Person: pasted()}); err != nil {
		t.Fatal(err)
	}
	w.clock.move(2 * time.Second)
	w.mustAsk(t, w.Logins, s)
	if n := w.Count("register"); n != 1 {
		t.Errorf("%d registrations, want 1 for both logins", n)
	}
}

// TestStepUp: the next login asks for what was granted and what is wanted now.
func TestStepUp(t *testing.T) {
	w := newWorld(t, logintest.Script{Scopes: []string{"read"}})
	s := w.server()
	w.login(t, s, login.Request{})
	w.mustAsk(t, w.Logins, s)
	w.Ask("write")
	_, err := w.ask(t, w.Logins, s, "")
	wantNeeded(t, err, "write")
	w.Ask()
	k := w.login(t, s, login.Request{})
	for _, want := range []string{"read", "write", "offline_access"} {
		if !slices.Contains(k.Scopes, want) {
			t.Errorf("scopes %v lack %s", k.Scopes, want)
		}
	}
}

func TestMachine(t *testing.T) {
	w := newWorld(t, logintest.Script{Client: "robot", Secret: "not-a-real-key-000", Scopes: []string{"read"}})
	s := w.server()
	s.Flow, s.ClientID, s.ClientSecret = login.Machine, "robot", tool.NewSecret("not-a-real-key-000")
	w.mustAsk(t, w.Logins, s)
	w.Ask("write") // steps up by itself
	w.mustAsk(t, w.Logins, s)
	w.EndTokens()
	w.mustAsk(t, w.Logins, s)
	w.Ask("a-scope-that-is-never-given")
	if n := w.Count("client_credentials"); n != 3 {
		t.Errorf("%d tokens, want 3", n)
	}
	s.ClientSecret = tool.NewSecret("not-a-real-key-001")
	_, err := w.ask(t, w.Logins, s, "")
	wantNeeded(t, err, "auth.client_secret")
}

func TestCallersAndLogout(t *testing.T) {
	w := newWorld(t, logintest.Script{})
	s := w.server()
	w.login(t, s, login.Request{})
	alice := w.login(t, s, login.Request{Caller: "alice"})
	if status, err := w.ask(t, w.Logins, s, "alice"); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	if sent := w.Sent(); sent[len(sent)-1] != "Bearer "+alice.Access.Reveal() {
		t.Error("alice's request did not carry alice's token")
	}
	_, err := w.ask(t, w.Logins, s, "bob")
	wantNeeded(t, err, "tenon login docs --caller bob")
	elsewhere := s
	elsewhere.URL = w.URL() + "/mcp?tenant=2"
	if _, err := w.ask(t, w.Logins, elsewhere, ""); err == nil {
		t.Error("a token was sent to another address of the server")
	}
	list, err := w.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%d logins, %v", len(list), err)
	}
	if _, err := w.Logout(t.Context(), s, "alice"); err != nil {
		t.Fatal(err)
	}
	if n := w.Count("revoke"); n != 2 {
		t.Errorf("%d tokens revoked, want both", n)
	}
	w.clock.move(2 * time.Second)
	_, err = w.ask(t, w.Logins, s, "alice")
	wantNeeded(t, err, "--caller alice")
	w.mustAsk(t, w.Logins, s)
}

// TestFiles: nothing on disk is readable without the key, or by others.
func TestFiles(t *testing.T) {
	w := newWorld(t, logintest.Script{})
	k := w.login(t, w.server(), login.Request{})
	found := 0
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && path != w.dir {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		found++
		text, err := os.ReadFile(path)
		for _, secret := range []string{k.Access.Reveal(), k.Refresh.Reveal(), k.Client.ID, w.URL()} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds a secret in the open", path)
			}
		}
		return err
	})
	if err != nil || found < 2 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "logins.key"), []byte("AGE-SECRET-KEY-WRONG\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.process(t).List(); err == nil || !strings.Contains(err.Error(), "logins.key") || strings.Contains(err.Error(), "WRONG") {
		t.Errorf("error %v of a damaged key", err)
	}
}

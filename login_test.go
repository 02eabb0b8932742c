package tenon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/logintest"
	"github.com/tenon-mcp/tenon/tool"
)

// locked is a log that several goroutines write.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// loginOptions returns the options of a gateway with one server that wants a login.
func loginOptions(t *testing.T, d *logintest.Double, auth string) tenon.Options {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.yaml")
	text := fmt.Sprintf("version: 1\nservers:\n  docs: {url: %q, retries: 0%s}\npolicy: {mode: bypass}\n", d.URL()+"/mcp", auth)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return tenon.Options{Config: path, StateDir: filepath.Join(dir, "state"), Env: []string{"HOME=" + dir, "TENON_KEYRING=off"}}
}

func logIn(t *testing.T, o tenon.Options, caller string) *tenon.Login {
	t.Helper()
	l, err := tenon.OpenLogins(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k, err := l.Login(t.Context(), "docs", tenon.LoginRequest{Caller: caller, Flow: tenon.LoginBrowser, Person: tenon.LoginPerson{
		Open: func(address string) error {
			c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := c.Get(address)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func whoami(g *tenon.Gateway, caller string) *tool.Result {
	return g.Call(context.Background(), tool.Call{
		Server: "docs", Tool: "whoami", Arguments: []byte("{}"), Caller: tool.Caller{Name: caller}, Session: caller,
	})
}

// TestLoginNeeded: a call to a server that wants a login says what the operator does,
// once, and a gateway that runs takes the login. Tokens are in no log, and nothing of
// what clients send goes to the server.
func TestLoginNeeded(t *testing.T) {
	d := logintest.New(logintest.Script{Rotate: true})
	defer d.Close()
	o := loginOptions(t, d, "")
	log := &locked{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := whoami(g, "")
	if r.Kind != tool.Unavailable || !strings.Contains(r.Text(), "tenon login docs") || r.Attempts > 1 {
		t.Fatalf("%s after %d attempts: %s", r.Kind, r.Attempts, r.Text())
	}
	status := g.Status()
	i := slices.IndexFunc(status, func(s tool.ServerStatus) bool { return s.Name == "docs" })
	if st := status[i]; st.State != tool.StateFailed || !strings.Contains(st.Reason, "tenon login docs") {
		t.Errorf("status %+v", st)
	}
	k := logIn(t, o, "")
	for until := time.Now().Add(time.Minute); ; { // the server is tried again after a second
		if r = whoami(g, ""); r.Kind == "" {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%s: %s", r.Kind, r.Text())
		}
	}
	for _, secret := range []string{k.Access.Reveal(), k.Refresh.Reveal()} {
		if strings.Contains(log.String(), secret) || strings.Contains(fmt.Sprintf("%v %+v %#v", k, *k, *k), secret) {
			t.Error("a token is shown")
		}
	}
	d.EndLogins()
	if r = whoami(g, ""); r.Kind != tool.Unavailable || !strings.Contains(r.Text(), "tenon login docs") {
		t.Errorf("%s: %s", r.Kind, r.Text())
	}
}

// TestLoginPerCaller: a caller's calls go with that caller's login, on connections of
// their own, and never with another one's.
func TestLoginPerCaller(t *testing.T) {
	t.Parallel()
	d := logintest.New(logintest.Script{})
	defer d.Close()
	o := loginOptions(t, d, ", auth: {per: caller}")
	logIn(t, o, "") // for the list of tools
	alice := logIn(t, o, "alice")
	g, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if r := whoami(g, "alice"); r.Kind != "" {
		t.Fatalf("%s: %s", r.Kind, r.Text())
	}
	sent := d.Sent()
	if sent[len(sent)-1] != "Bearer "+alice.Access.Reveal() {
		t.Error("alice's call did not carry alice's token")
	}
	r := whoami(g, "bob")
	if r.Kind != tool.Unavailable || !strings.Contains(r.Text(), "tenon login docs --caller bob") {
		t.Errorf("%s: %s", r.Kind, r.Text())
	}
	if r := whoami(g, "alice"); r.Kind != "" {
		t.Errorf("%s after bob: %s", r.Kind, r.Text())
	}
}

func TestLoginElsewhere(t *testing.T) {
	d := logintest.New(logintest.Script{})
	defer d.Close()
	l, err := tenon.OpenLogins(loginOptions(t, d, `, headers: {authorization: "Bearer not-a-real-key-000"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, kind := range map[string]tool.Kind{"docs": tool.Invalid, "other": tool.NotFound} {
		if _, err := l.Login(t.Context(), name, tenon.LoginRequest{}); tool.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", name, err, kind)
		}
	}
	d2 := logintest.New(logintest.Script{NoRegistration: true})
	defer d2.Close()
	l2, err := tenon.OpenLogins(loginOptions(t, d2, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer l2.Close()
	var e *tool.Error
	if _, err := l2.Login(t.Context(), "docs", tenon.LoginRequest{}); !errors.As(err, &e) || e.Kind != tool.Failed {
		t.Errorf("%v, want failed", err)
	}
}

// TestLoginModern: what a server says to a handshake of the other era does not hide that
// it wants a login.
func TestLoginModern(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") == "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"Missing MCP-Protocol-Version header"}}`)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "version: 1\nservers:\n  docs: {url: %q, retries: 0}\n", srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := tenon.Open(t.Context(), tenon.Options{Config: path, StateDir: dir, Env: []string{"TENON_KEYRING=off"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if r := whoami(g, ""); r.Kind != tool.Unavailable || !strings.Contains(r.Text(), "tenon login docs") {
		t.Errorf("%s: %s", r.Kind, r.Text())
	}
}

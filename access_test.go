package tenon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// provider is a small identity provider; token makes a token of it with these
// claims beside those that must be there.
func provider(t *testing.T) (url string, token func(claims map[string]any) string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": srv.URL, "jwks_uri": srv.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	return srv.URL, func(claims map[string]any) string {
		t.Helper()
		all := map[string]any{"iss": srv.URL, "aud": "tenon", "sub": "ada", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
		maps.Copy(all, claims)
		body, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := s.Sign(body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// TestConfiguredProvider: what the configuration says of an identity provider is
// what its tokens allow; a reload changes it, and with it the limits that there are.
func TestConfiguredProvider(t *testing.T) {
	issuer, token := provider(t)
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	write := func(grants, more string) {
		t.Helper()
		text := "version: 1\nauth:\n  oidc:\n    issuer: " + issuer + "\n    audience: [x, tenon]\n" + grants + more
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`    grants:
      - {claim: roles, is: [sre, oncall], mode: ask_destructive, skills: [network_diagnosis, generic_oncall], limits: small, elicit: true}
      - {claim: scope, is: approve, approver: true, caller: false}
`, "policy: {limits: [{name: small, per: caller, calls: 5}]}\n")
	gw, err := tenon.Open(t.Context(), tenon.Options{Config: path, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer gw.Close()
	ask := func(claims map[string]any) (*tool.Grant, int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token(claims))
		c, err := gw.Access().Caller(r)
		if refusal, ok := errors.AsType[*tenon.Refusal](err); ok {
			return nil, refusal.Status
		}
		if err != nil || c.Name != "oidc:ada" {
			t.Fatalf("%v, %v", c, err)
		}
		return c.Grant, 200
	}
	for _, c := range []struct {
		claims map[string]any
		want   *tool.Grant
		status int
	}{
		{map[string]any{"roles": []string{"oncall"}}, &tool.Grant{
			Key: "oidc:ada", Mode: tool.ModeAskDestructive, Skills: []string{"network_diagnosis", "generic_oncall"}, Limits: "small", Elicit: true, Caller: true,
		}, 200},
		{map[string]any{"scope": "openid approve"}, &tool.Grant{Key: "oidc:ada", Approver: true}, 200},
		{nil, nil, 403},
		{map[string]any{"aud": "y"}, nil, 401},
	} {
		got, status := ask(c.claims)
		if diff := cmp.Diff(c.want, got); diff != "" || status != c.status {
			t.Errorf("%v gives %d, want %d (-want +got):\n%s", c.claims, status, c.status, diff)
		}
	}
	write("", "")
	if _, err := gw.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, status := ask(nil); status != 200 || !got.Caller || got.Mode != "" {
		t.Errorf("after a reload: %d %+v", status, got)
	}
	if err := os.WriteFile(path, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, status := ask(nil); status != 401 {
		t.Errorf("without a provider: %d", status)
	}
}

// TestStateDir: a folder that is relative would be another one for each process.
func TestStateDir(t *testing.T) {
	abs := func(s string) string { return filepath.Join(string(filepath.Separator)+"home", s) }
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"XDG_STATE_HOME=" + abs("state"), "HOME=" + abs("me")}, filepath.Join(abs("state"), "tenon")},
		{[]string{"XDG_STATE_HOME=relative"}, ""},
		{nil, ""},
	} {
		if got := tenon.StateDir(c.env); got != c.want {
			t.Errorf("%s: %q, want %q", strings.Join(c.env, " "), got, c.want)
		}
	}
}

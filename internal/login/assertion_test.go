package login_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenon-mcp/tenon/internal/login"
	"github.com/tenon-mcp/tenon/internal/logintest"
	"github.com/tenon-mcp/tenon/tool"
)

func inPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestMachineWithAKey: a client shows who it is by a signature of its key, made for the
// issuer, for a short time and once; the key itself is not sent.
func TestMachineWithAKey(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for alg, key := range map[jose.SignatureAlgorithm]crypto.Signer{jose.ES256: ec, jose.RS256: long, jose.EdDSA: ed} {
		seen := map[string]bool{}
		w := newWorld(t, logintest.Script{Client: "robot", Proof: func(assertion, issuer string) bool {
			signed, err := jose.ParseSignedCompact(assertion, []jose.SignatureAlgorithm{alg})
			if err != nil {
				t.Errorf("%s: %v", alg, err)
				return false
			}
			body, err := signed.Verify(key.Public())
			var c struct {
				Iss, Sub, Aud, Jti string
				Iat, Exp           int64
			}
			if err != nil || json.Unmarshal(body, &c) != nil {
				return false
			}
			if c.Iss != "robot" || c.Sub != "robot" || c.Aud != issuer || c.Exp-c.Iat > 300 || time.Until(time.Unix(c.Exp, 0)) <= 0 || c.Jti == "" || seen[c.Jti] {
				t.Errorf("%s: claims %s", alg, body)
			}
			seen[c.Jti] = true
			return true
		}})
		s := w.server()
		s.Flow, s.ClientID, s.ClientKey = login.Machine, "robot", tool.NewSecret(inPEM(t, key))
		w.mustAsk(t, w.Logins, s)
		w.EndTokens()
		w.mustAsk(t, w.Logins, s)
		if len(seen) != 2 {
			t.Errorf("%s: %d assertions", alg, len(seen))
		}
		stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if alg == jose.ES256 {
			s.ClientKey = tool.NewSecret(inPEM(t, stranger))
			_, err = w.ask(t, w.Logins, s, "")
			wantNeeded(t, err, "auth.client_key")
		}
	}
}

// TestKeysThatAreNone: what is no key for this is refused, without being shown.
func TestKeysThatAreNone(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	old, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                   "not in PEM",
		"not-a-real-key-000": "not in PEM",
		"-----BEGIN PRIVATE KEY-----\nbm90LWEta2V5\n-----END PRIVATE KEY-----\n": "cannot be read",
		inPEM(t, short): "too short",
		inPEM(t, old):   "signs no assertions",
	} {
		err := login.CheckKey(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "real-key") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

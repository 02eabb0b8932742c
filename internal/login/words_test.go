package login_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/login"
)

// TestTheReasonOfARefusalIsKept: what a server says with its 401 is in the error, from the
// challenge or the body, short, and without what it was sent.
func TestTheReasonOfARefusalIsKept(t *testing.T) {
	const key = "not-a-real-key-000"
	for name, c := range map[string]struct{ challenge, body, want, not string }{
		"challenge":      {`Bearer error_description="from the challenge"`, `{"message":"from the body"}`, "wants a login (from the challenge);", "body"},
		"OAuth":          {"Bearer", `{"error":"invalid_token","error_description":"ended yesterday"}`, "wants a login (ended yesterday);", ""},
		"JSON-RPC":       {"Bearer", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such workspace"}}`, "wants a login (no such workspace);", "32001"},
		"detail":         {"Bearer", `{"detail":"Not authenticated"}`, "wants a login (Not authenticated);", ""},
		"text":           {"Bearer", "plan\n  ended", "wants a login (plan ended);", ""},
		"page":           {"Bearer", "<html><title>Sign &amp; go</title><body>much more", "wants a login (Sign & go);", "much"},
		"what was sent":  {"Bearer", "bad key " + key, "wants a login (bad key ***);", key},
		"nothing":        {"Bearer", "", "wants a login; the operator", "()"},
		"other JSON":     {"Bearer", `{"code":7}`, "wants a login; the operator", "code"},
		"cut-off JSON":   {"Bearer", `{"message":"` + strings.Repeat("a", 20<<10) + `"}`, "wants a login; the operator", "aaa"},
		"very long text": {"Bearer", strings.Repeat("b", 20<<10), "wants a login (" + strings.Repeat("b", 200) + "…);", strings.Repeat("b", 201)},
	} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Www-Authenticate", c.challenge)
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, c.body)
			}))
			defer ts.Close()
			l := login.New(login.Options{Dir: t.TempDir()})
			defer l.Close()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			s := login.Server{Name: "docs", URL: ts.URL, Header: http.Header{"X-Key": {key}}}
			client := http.Client{Transport: l.Transport(s, "", base)}
			resp, err := post(t.Context(), &client, ts.URL)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("no error")
			}
			if text := err.Error(); !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}

// TestARefusalThatIsPassedOnIsWhole: where nobody can log in, the answer goes on to whoever
// asked, with its whole body.
func TestARefusalThatIsPassedOnIsWhole(t *testing.T) {
	body := strings.Repeat("0123456789", 3000)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, body)
	}))
	defer ts.Close()
	l := login.New(login.Options{Dir: t.TempDir()})
	defer l.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := http.Client{Transport: l.Transport(login.Server{Name: "docs", URL: ts.URL}, "", base)}
	resp, err := post(t.Context(), &client, ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(got) != body || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d, %d bytes: %v", resp.StatusCode, len(got), err)
	}
}

func post(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestGuard: what a server names is reached only where that leads nobody inside.
func TestGuard(t *testing.T) {
	big := strings.Repeat("x", maxMetadata+1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/big":
			_, _ = w.Write([]byte(big)) // the client stops reading
		}
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		server, address string
		want            string // of the error; "" is none
		status          int
	}{
		"loopback from loopback":  {"http://localhost:1/mcp", srv.URL, "", 200},
		"redirect is an answer":   {srv.URL + "/mcp", srv.URL + "/away", "", 302},
		"too long":                {srv.URL + "/mcp", srv.URL + "/big", "more than", 0},
		"loopback from outside":   {"https://tools.example/mcp", "https://127.0.0.1:" + u.Port(), "no public address", 0},
		"http from outside":       {"https://tools.example/mcp", srv.URL, "neither https", 0},
		"metadata of a cloud":     {srv.URL, "https://169.254.169.254/latest", "no public address", 0},
		"inside, from loopback":   {srv.URL, "https://10.1.2.3/", "no public address", 0},
		"mapped address":          {"https://tools.example/mcp", "https://[::ffff:127.0.0.1]:" + u.Port(), "no public address", 0},
		"http to a public server": {srv.URL, "http://192.0.2.1/", "neither https", 0},
		"another scheme":          {srv.URL, "ftp://127.0.0.1/", "neither https", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.address, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := guarded(test.server).Do(req)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "":
				if err := resp.Body.Close(); err != nil || resp.StatusCode != test.status {
					t.Errorf("status %d, %v; want %d", resp.StatusCode, err, test.status)
				}
			case err == nil:
				_ = resp.Body.Close() // the test has failed
				t.Errorf("no error, want %q", test.want)
			case !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestPlainly: an answer of an issuer may hold anything, and none of it is shown
// but its code and its words.
func TestPlainly(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.FormValue("refresh_token") == "teapot" {
			w.WriteHeader(http.StatusTeapot)
		} else {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write([]byte(`{"error":"` + r.FormValue("scope") + `","access_token":"not-a-real-key-000"}`)) // the client says so
	}))
	defer srv.Close()
	for _, token := range []string{"teapot", "x"} {
		k := &Kept{Endpoints: Endpoints{Token: srv.URL}, Refresh: secret(token), Client: Client{ID: "c", Style: 1}}
		_, err := renew(t.Context(), guarded(srv.URL), k, k.Since)
		if err == nil || strings.Contains(err.Error(), "not-a-real-key") {
			t.Errorf("error %v", err)
		}
	}
}

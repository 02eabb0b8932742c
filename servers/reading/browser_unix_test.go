//go:build unix

package reading_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/reading"
)

// TestBrowser reads by a browser what a download does not give. The browser is a script
// that shows the same page whatever it is asked for.
func TestBrowser(t *testing.T) {
	w := newWeb(t)
	w.HandleFunc("/app", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) })
	refused(t, connect(t, reading.Options{}, w.knobs), args{"uri": "http://site.example/app"}, "option", "browser")
	program := filepath.Join(t.TempDir(), "chromium")
	page := "<html><head><title>Made by scripts</title></head><body><main><p>" + strings.Repeat("The tide turns at seven, and boats wait for it in the outer harbour. ", 12) + "</p></main></body></html>"
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s' '"+page+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cs := connect(t, reading.Options{Readers: reading.Readers{Browser: program}}, w.knobs)
	got := good(t, cs, args{"uri": "http://site.example/app"})
	holds(t, got.text, "The tide turns at seven", "by way of browser", "status 403")
	if got.data.Title != "Made by scripts" {
		t.Errorf("got %+v", got.data)
	}
}

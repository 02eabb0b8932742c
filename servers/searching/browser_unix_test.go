//go:build unix

package searching_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/searching"
)

// TestBrowser reads by a browser what no service reads. The browser is a script that
// shows the same page whatever it is asked for.
func TestBrowser(t *testing.T) {
	dir := t.TempDir()
	page := "<html><head><title>Made by scripts</title></head><body><main><p>" + strings.Repeat("The tide turns at seven, and boats wait for it in the outer harbour. ", 12) + "</p></main></body></html>"
	if err := os.WriteFile(filepath.Join(dir, "chromium"), []byte("#!/bin/sh\nprintf '%s' '"+page+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := open(t, func(env map[string]string, o *searching.Options) {
		env["PATH"], o.Browser = dir, "auto"
	})
	w.jina.Fail(doubles.Fault{Status: 402})
	w.serper.Fail(doubles.Fault{Status: 403})
	text, _ := w.call("scrape_website", map[string]any{"url": "http://harbour.example/made"})
	wants(t, text, "The tide turns at seven", "Made by scripts", "not read by jina")
	_, err := searching.NewIn(searching.Options{Readers: searching.Readers{Browser: "auto"}}, func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "option browser") {
		t.Error(err)
	}
}

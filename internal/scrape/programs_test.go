package scrape_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/scrape"
)

// TestHelpers looks for a browser where it is safe to use, or asked for.
func TestHelpers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names there")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "chromium")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	unasked := program
	if os.Geteuid() == 0 {
		unasked = ""
	}
	for _, c := range []struct {
		o     scrape.HelperOptions
		env   map[string]string
		want  string
		fails bool
	}{
		{scrape.HelperOptions{}, map[string]string{"PATH": dir}, unasked, false},
		{scrape.HelperOptions{NoSandbox: true}, map[string]string{"PATH": dir}, program, false},
		{scrape.HelperOptions{NoSandbox: true, Proxy: "none"}, map[string]string{"PATH": dir, "HTTPS_PROXY": "http://p.example"}, program, false},
		{scrape.HelperOptions{NoSandbox: true, Proxy: "http://p.example"}, map[string]string{"PATH": dir}, "", false},
		{scrape.HelperOptions{NoSandbox: true}, map[string]string{"PATH": dir, "https_proxy": "http://p.example"}, "", false},
		{scrape.HelperOptions{NoSandbox: true}, map[string]string{"PATH": "/nowhere"}, "", false},
		{scrape.HelperOptions{Browser: "-", NoSandbox: true}, map[string]string{"PATH": dir}, "", false},
		{scrape.HelperOptions{Browser: "auto"}, map[string]string{"PATH": dir}, program, false},
		{scrape.HelperOptions{Browser: "/opt/chrome", Proxy: "http://p.example"}, nil, "/opt/chrome", false},
		{scrape.HelperOptions{Browser: "auto"}, nil, "", true},
		{scrape.HelperOptions{Browser: "chromium"}, map[string]string{"PATH": dir}, "", true},
	} {
		h, err := scrape.NewHelpers(func(name string) string { return c.env[name] }, c.o)
		got := ""
		if h.Browser != nil {
			got = h.Browser.Path
		}
		if got != c.want || (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "option browser") || h.Documents == nil {
			t.Errorf("%+v: %q, %v; want %q", c, got, err, c.want)
		}
	}
}

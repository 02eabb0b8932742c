package scrape

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// Helpers are what reads pages and documents by programs of this machine.
type Helpers struct {
	Documents *document.Converter
	Browser   *Browser // nil: none
}

// HelperOptions say which programs help.
type HelperOptions struct {
	// Browser is the path of a Chromium. "auto" is the one in PATH, and an error where
	// there is none; "-" is none. "" is the one in PATH where it runs in its own sandbox,
	// which it does not for root, and needs no proxy to reach the web.
	Browser   string
	NoSandbox bool   // see Browser
	Proxy     string // as egress.Options has it
}

// NewHelpers finds the helpers in an environment. Its error names the option.
func NewHelpers(getenv func(string) string, o HelperOptions) (Helpers, error) {
	env := document.Environment(getenv)
	executable, _ := os.Executable() // without it PDF is read in this process
	h := Helpers{Documents: document.New(document.Options{Spawner: proc.New(proc.Options{}), Command: document.Self(executable), Env: env})}
	path := o.Browser
	switch path {
	case "-":
		return h, nil
	case "":
		if os.Geteuid() == 0 && !o.NoSandbox || proxied(getenv, o.Proxy) {
			return h, nil
		}
		if path = FindBrowser(getenv("PATH")); path == "" {
			return h, nil
		}
	case "auto":
		path = FindBrowser(getenv("PATH"))
	}
	if !filepath.IsAbs(path) {
		return h, errors.New("option browser: no Chromium is in PATH; give its path from the root")
	}
	h.Browser = &Browser{Path: path, Env: env, NoSandbox: o.NoSandbox}
	return h, nil
}

// proxied reports whether the web is reached by a proxy.
func proxied(getenv func(string) string, proxy string) bool {
	if proxy != "" {
		return proxy != "none"
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if getenv(name) != "" {
			return true
		}
	}
	return false
}

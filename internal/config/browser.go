package config

import (
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Browser says that an entry is the Playwright server, which the gateway knows how
// to start, and with which browser.
type Browser struct {
	Executable string // absolute; empty finds one
	Headless   bool
	Sandbox    bool   // of the browser itself
	Output     string // absolute folder for what it writes; empty is one that ends with the server
	RunCode    bool   // offer the tool that runs code outside of the browser
}

// readBrowser reads the key browser, whose entry has other defaults: each session has a
// server of its own.
func readBrowser(e *entry, o *object) {
	n := o.key("browser")
	if o.seen["browser"] == nil {
		return
	}
	b := &Browser{Headless: true, Sandbox: true}
	if n != nil { // null is an empty map
		in := newObject(n, o.ex, o.to)
		in.text("executable", &b.Executable)
		in.text("output", &b.Output)
		in.boolean("headless", &b.Headless)
		in.boolean("sandbox", &b.Sandbox)
		in.boolean("run_code", &b.RunCode)
		in.refuse()
	}
	for _, path := range []*string{&b.Executable, &b.Output} {
		if *path != "" {
			*path = under(e.dir, filepath.FromSlash(*path))
		}
	}
	s := &e.server
	s.Isolation, s.IdleTimeout = IsolationSession, 10*time.Minute
	s.Care.Browser, s.Care.InstallTimeout, s.Care.MaxSessions = b, 10*time.Minute, 8
}

// runCode is the tool of the Playwright server that runs code outside of its browser.
const runCode = "browser_run_code_unsafe"

// withoutCode keeps that tool from everybody where the entry does not offer it.
func (l *loader) withoutCode(e *entry) {
	if b := e.server.Care.Browser; b != nil && !b.RunCode {
		l.cfg.Blacklist = append(l.cfg.Blacklist, tool.ID{Server: e.server.Name, Name: runCode})
	}
}

func (b *Browser) shown() map[string]any {
	if b == nil {
		return nil
	}
	m := map[string]any{}
	if b.Executable != "" {
		m["executable"] = b.Executable
	}
	if b.Output != "" {
		m["output"] = b.Output
	}
	if !b.Headless {
		m["headless"] = false
	}
	if !b.Sandbox {
		m["sandbox"] = false
	}
	if b.RunCode {
		m["run_code"] = true
	}
	return m
}

package config

import (
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/source"
)

// LockName is the name of the file with the accepted definitions.
const LockName = "tenon.lock"

// Trust says what becomes of a tool whose definition is not the accepted one.
type Trust string

// The trusts.
const (
	TrustAll    Trust = "trust"  // nobody looks
	TrustReport Trust = "report" // it works, and operators are told
	TrustPinned Trust = "pin"    // it may not be used
)

// Scan says what becomes of a tool in whose definition something is hidden.
type Scan string

// The scans.
const (
	ScanOff    Scan = "off"    // nobody looks
	ScanReport Scan = "report" // it works, and operators are told
	ScanBlock  Scan = "block"  // it may not be used, unless the lock has it
)

// Definitions is the part `definitions:` of the section policy.
type Definitions struct {
	Mode Trust  `json:",omitempty"` // empty is report where there is a lock, else trust
	Lock string `json:",omitempty"` // absolute path; empty is LockName beside the configuration
	Scan Scan   `json:",omitempty"` // empty is report
}

// LockFile returns the absolute path of the file with the accepted definitions, or
// "" for a pool without files.
func (c *Config) LockFile() string {
	switch {
	case c.Policy.Definitions.Lock != "":
		return c.Policy.Definitions.Lock
	case c.Dir == "":
		return ""
	}
	return filepath.Join(c.Dir, LockName)
}

// Shown returns the entry as it may be shown: what came from the environment is dots.
func (s Server) Shown() Server { return s.masked() }

// definitions reads the part of that name: a mode, or a map.
func (s guards) definitions(o *object) {
	n := o.key("definitions")
	if n == nil {
		return
	}
	d := &s.cfg.Policy.Definitions
	modes := []string{string(TrustAll), string(TrustReport), string(TrustPinned)}
	if n.Kind != source.Map {
		o.enum("definitions", words(modes...), modes, (*string)(&d.Mode))
		return
	}
	in := newObject(n, o.ex, o.to)
	in.enum("mode", words(modes...), modes, (*string)(&d.Mode))
	in.text("lock", &d.Lock)
	scans := []string{string(ScanOff), string(ScanReport), string(ScanBlock)}
	in.enum("scan", words(scans...), scans, (*string)(&d.Scan))
	in.refuse()
	if d.Lock != "" {
		d.Lock = under(s.cfg.Dir, d.Lock)
	}
}

package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Server is one entry of the pool. Exactly one of Bundled, Command and URL is
// set, but for a broken entry.
type Server struct {
	Name    string `json:"name"`
	Bundled string `json:"bundled,omitempty"` // a server that Tenon carries
	// Options are the `options:` of a bundled server as a JSON object; the zero
	// value where there are none. They may hold keys, so they print as dots.
	Options tool.Secret `json:"options,omitzero"`

	Command string                 `json:"command,omitempty"` // a program to run: a name to look up, or an absolute path
	Args    []string               `json:"args,omitempty"`
	Env     map[string]tool.Secret `json:"env,omitempty"` // what the child gets beside the few variables that every child gets
	Cwd     string                 `json:"cwd,omitempty"` // absolute folder that a child starts in

	URL     string                 `json:"url,omitempty"`
	Headers map[string]tool.Secret `json:"headers,omitempty"`

	Transport    Transport     `json:"transport"` // stdio for Command and Bundled; never stdio for URL
	Isolation    Isolation     `json:"isolation"`
	Start        Start         `json:"start,omitempty"`
	StartTimeout time.Duration `json:"start_timeout"` // over all attempts
	Retries      int           `json:"retries"`       // attempts after the first
	RetryDelay   time.Duration `json:"retry_delay"`
	Required     bool          `json:"required,omitempty"`
	Timeout      time.Duration `json:"timeout,omitempty"`      // of one call; 0 is the gateway's
	IdleTimeout  time.Duration `json:"idle_timeout,omitempty"` // stop after so long without a call; 0 is never
	InProcess    bool          `json:"in_process,omitempty"`   // run a bundled server inside this process

	// TrustAnnotations lets what the server says of its tools make them laxer too.
	TrustAnnotations bool `json:"trust_annotations,omitempty"`
	// TrustUsage has what its results say that models took counted.
	TrustUsage bool `json:"trust_usage,omitempty"`

	MaxConcurrent int `json:"-"` // calls that run at once; 0 is no limit
	MaxQueue      int `json:"-"` // calls that wait for that; 0 is none

	Care Care `json:"-"` // of its process

	// Err is set for a broken entry: an *Error with its problems.
	Err error `json:"-"`

	// hidden are the secrets that interpolation put into Args, URL and the like.
	hidden []string
}

// Kind returns how the entry says to reach the server: "bundled", "browser",
// "agent", "command" or "url", or "" for a broken one that says nothing.
func (s Server) Kind() string {
	switch {
	case s.Care.Browser != nil:
		return "browser"
	case s.Care.Agent != nil:
		return "agent"
	case s.Bundled != "":
		return "bundled"
	case s.Command != "":
		return "command"
	case s.URL != "":
		return "url"
	}
	return ""
}

// masked returns the entry as it may be shown: what came from the environment
// is dots.
func (s Server) masked() Server {
	hide := func(text string) string {
		for _, secret := range s.hidden {
			text = strings.ReplaceAll(text, secret, tool.NewSecret(secret).String())
		}
		return text
	}
	s.Bundled, s.Command, s.Cwd, s.URL = hide(s.Bundled), hide(s.Command), hide(s.Cwd), hide(s.URL)
	s.Args = slices.Clone(s.Args)
	for i, a := range s.Args {
		s.Args[i] = hide(a)
	}
	return s
}

// MarshalJSON prints the entry as a file would say it, with every secret as dots.
func (s Server) MarshalJSON() ([]byte, error) {
	type plain Server
	v := struct {
		plain
		StartTimeout string `json:"start_timeout"`
		RetryDelay   string `json:"retry_delay"`
		Timeout      string `json:"timeout,omitempty"`
		IdleTimeout  string `json:"idle_timeout,omitempty"`

		MaxConcurrent *int `json:"max_concurrent,omitempty"`
		MaxQueue      *int `json:"max_queue,omitempty"`

		shownCare

		Error string `json:"error,omitempty"`
	}{plain: plain(s.masked()), StartTimeout: short(s.StartTimeout), RetryDelay: short(s.RetryDelay)}
	if s.Timeout > 0 {
		v.Timeout = short(s.Timeout)
	}
	if s.IdleTimeout > 0 {
		v.IdleTimeout = short(s.IdleTimeout)
	}
	if s.MaxConcurrent != concurrent(s.Isolation) {
		v.MaxConcurrent = &s.MaxConcurrent
	}
	if s.MaxQueue != maxQueue {
		v.MaxQueue = &s.MaxQueue
	}
	v.shownCare = s.Care.shown()
	if s.Err != nil {
		v.Error = s.Err.Error()
	}
	return json.Marshal(v)
}

// String prints the entry on one line, with every secret as dots.
func (s Server) String() string {
	v := s.masked()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", s.Name, v.Bundled+v.Command+v.URL)
	for _, a := range v.Args {
		fmt.Fprintf(&b, " %s", a)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&b, " %s=%s", name, s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		fmt.Fprintf(&b, " %s: %s", name, s.Headers[name])
	}
	return b.String()
}

// GoString prints what String does, for %#v.
func (s Server) GoString() string { return s.String() }

// LogValue prints what String does, for slog.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

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
	Name    string
	Bundled string // a server that Tenon carries
	// Options are the `options:` of a bundled server as a JSON object; the zero
	// value where there are none. They may hold keys, so they print as dots.
	Options tool.Secret

	Command string // a program to run: a name to look up, or an absolute path
	Args    []string
	Env     map[string]tool.Secret // what the child gets beside the few variables that every child gets
	Cwd     string                 // absolute folder that a child starts in

	URL     string
	Headers map[string]tool.Secret

	Transport    Transport // stdio for Command and Bundled; never stdio for URL
	Isolation    Isolation
	Start        Start
	StartTimeout time.Duration // over all attempts
	Retries      int           // attempts after the first
	RetryDelay   time.Duration
	Required     bool
	Timeout      time.Duration // of one call; 0 is the gateway's
	IdleTimeout  time.Duration // stop after so long without a call; 0 is never
	InProcess    bool          // run a bundled server inside this process

	// Err is set for a broken entry: an *Error with its problems.
	Err error

	// hidden are the secrets that interpolation put into Args, URL and the like.
	hidden []string
}

// Kind returns how the entry says to reach the server: "bundled", "command" or
// "url", or "" for a broken one that says nothing.
func (s Server) Kind() string {
	switch {
	case s.Bundled != "":
		return "bundled"
	case s.Command != "":
		return "command"
	case s.URL != "":
		return "url"
	}
	return ""
}

// shown is a Server as it may be shown to people.
type shown struct {
	Name         string                 `json:"name"`
	Bundled      string                 `json:"bundled,omitempty"`
	Options      *tool.Secret           `json:"options,omitempty"`
	Command      string                 `json:"command,omitempty"`
	Args         []string               `json:"args,omitempty"`
	Env          map[string]tool.Secret `json:"env,omitempty"`
	Cwd          string                 `json:"cwd,omitempty"`
	URL          string                 `json:"url,omitempty"`
	Headers      map[string]tool.Secret `json:"headers,omitempty"`
	Transport    Transport              `json:"transport"`
	Isolation    Isolation              `json:"isolation"`
	Start        Start                  `json:"start,omitempty"`
	StartTimeout string                 `json:"start_timeout"`
	Retries      int                    `json:"retries"`
	RetryDelay   string                 `json:"retry_delay"`
	Required     bool                   `json:"required,omitempty"`
	Timeout      string                 `json:"timeout,omitempty"`
	IdleTimeout  string                 `json:"idle_timeout,omitempty"`
	InProcess    bool                   `json:"in_process,omitempty"`
	Error        string                 `json:"error,omitempty"`
}

func (s Server) shown() shown {
	hide := func(text string) string {
		for _, secret := range s.hidden {
			text = strings.ReplaceAll(text, secret, tool.NewSecret(secret).String())
		}
		return text
	}
	out := shown{
		Name: s.Name, Bundled: hide(s.Bundled), Command: hide(s.Command), Env: s.Env,
		Cwd: hide(s.Cwd), URL: hide(s.URL), Headers: s.Headers,
		Transport: s.Transport, Isolation: s.Isolation, Start: s.Start,
		StartTimeout: s.StartTimeout.String(), Retries: s.Retries, RetryDelay: s.RetryDelay.String(),
		Required: s.Required, InProcess: s.InProcess,
	}
	for _, a := range s.Args {
		out.Args = append(out.Args, hide(a))
	}
	if s.Options.Reveal() != "" {
		out.Options = &s.Options
	}
	if s.Timeout > 0 {
		out.Timeout = s.Timeout.String()
	}
	if s.IdleTimeout > 0 {
		out.IdleTimeout = s.IdleTimeout.String()
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	return out
}

// MarshalJSON prints the entry with every secret as dots.
func (s Server) MarshalJSON() ([]byte, error) { return json.Marshal(s.shown()) }

// String prints the entry on one line, with every secret as dots.
func (s Server) String() string {
	v := s.shown()
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

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/internal/room"
	"github.com/tenon-mcp/tenon/internal/spelling"
	"github.com/tenon-mcp/tenon/tool"
)

// exitCode gives the exit code of the program for a kind of error.
var exitCode = map[tool.Kind]int{
	"":                  0,
	tool.Failed:         1,
	tool.Invalid:        2,
	tool.NotFound:       3,
	tool.Denied:         4,
	tool.Unavailable:    5,
	tool.Timeout:        6,
	tool.OutcomeUnknown: 7,
	tool.Internal:       8,
	tool.Canceled:       130,
}

const exitCodes = `Exit codes: 0 result, 1 failed, 2 usage, configuration or arguments, 3 not found, 4 denied, 5 unavailable,
6 timeout, 7 outcome unknown, 8 internal, 130 interrupted. A batch exits 0 when every call has a result, else 1.`

// A problem is an error with what the person can do about it.
type problem struct {
	kind tool.Kind
	text string
	hint string // or empty
	err  error  // the cause, or nil
}

// Error returns the text.
func (p *problem) Error() string { return p.text }

// Unwrap gives the cause, and the kind to tool.KindOf.
func (p *problem) Unwrap() []error {
	kind := &tool.Error{Kind: p.kind, Text: p.text}
	if p.err == nil {
		return []error{kind}
	}
	return []error{kind, p.err}
}

// usage returns the error of a command that was not given as it must be.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &problem{kind: tool.Invalid, text: fmt.Sprintf(format, args...), hint: "see " + cmd.CommandPath() + " --help"}
}

// wrongFlag returns the error of a flag that is none, or has a value that it does not take.
func wrongFlag(cmd *cobra.Command, err error) error {
	p := &problem{kind: tool.Invalid, text: err.Error(), hint: "see " + cmd.CommandPath() + " --help"}
	// The flag package says in its own words what it wants.
	if !strings.HasPrefix(p.text, "invalid argument ") {
		return p
	}
	if flag, _, ok := strings.Cut(p.text, " flag: time: "); ok {
		p.text, p.hint = flag+": no duration", "durations are written 500ms, 30s, 5m; "+p.hint
	} else if flag, _, ok := strings.Cut(p.text, " flag: strconv.ParseBool: "); ok {
		p.text, p.hint = flag+": neither true nor false", "without a value it is true; "+p.hint
	} else if flag, why, ok := strings.Cut(p.text, " flag: strconv."); ok {
		p.text = flag + ": no whole number"
		if strings.HasSuffix(why, "out of range") {
			p.text = flag + ": too large a number"
		}
	}
	return p
}

// fewNames is how many names are told to who has named none of them.
const fewNames = 12

// unknown returns the error of a name that is none of names.
func unknown(cmd *cobra.Command, what, name string, names []string) error {
	hint := "see " + cmd.CommandPath() + " --help"
	if n := nearest(name, names); n != "" {
		hint = fmt.Sprintf("did you mean %q? %s", n, hint)
	} else if len(names) > 0 && len(names) <= fewNames {
		hint = "there are: " + strings.Join(names, ", ") + "; " + hint
	}
	return &problem{kind: tool.Invalid, text: fmt.Sprintf("there is no %s %q", what, name), hint: hint}
}

// advised adds to an error for what does not exist how to find out what does.
func advised(err error, hint string) error {
	if err == nil || tool.KindOf(err) != tool.NotFound {
		return err
	}
	return &problem{kind: tool.NotFound, text: err.Error(), hint: hint, err: err}
}

// exactly demands so many arguments of a command, with names for them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			verb := "is"
			if len(names)-len(args) > 1 {
				verb = "are"
			}
			return usage(cmd, "%s %s missing", strings.Join(names[len(args):], " and "), verb)
		case len(args) > len(names):
			return usage(cmd, "%q is one argument too many", args[len(names)])
		}
		return nil
	}
}

// told is the error of a command that has told its outcome already.
type told struct{ code int }

// Error is never shown.
func (t *told) Error() string { return fmt.Sprintf("exit code %d", t.code) }

// exit tells err, if there is one, and returns the exit code for it.
func (a *app) exit(err error) int {
	if err == nil {
		return 0
	}
	if t, ok := errors.AsType[*told](err); ok {
		return t.code
	}
	p := explain(err)
	if a.json() {
		a.printJSON(p.object())
	} else {
		a.tell(err)
	}
	return exitCode[p.kind]
}

// tell shows an error to a person, with each mistake of a configuration in its
// place.
func (a *app) tell(err error) {
	p := explain(err)
	if e, ok := errors.AsType[*tenon.ConfigError](err); ok {
		for _, m := range e.Problems {
			a.note("error: %s", strings.TrimRight(m.String()+"\n"+m.Excerpt, "\n"))
		}
	} else {
		a.note("error: %s", inset(p.text))
	}
	if p.hint != "" {
		a.note("hint: %s", p.hint)
	}
}

// explain gives any error a kind, and a hint where there is one.
func explain(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	p := &problem{kind: tool.KindOf(err), text: err.Error(), err: err}
	if e, ok := errors.AsType[interface {
		error
		Advice() (what, remedy string)
	}](err); ok {
		p.text, p.hint = e.Advice()
		return p
	}
	switch {
	case isConfig(err):
		p.kind, p.hint = tool.Invalid, "docs/configuration.md explains every key"
	case errors.Is(err, web.ErrBusy):
		p.kind = tool.Unavailable
		p.hint = "another gateway may be running there: use it with --gateway, or listen elsewhere with --listen 127.0.0.1:0"
	case errors.Is(err, web.ErrNotLoopback):
		p.kind = tool.Invalid
		p.hint = "make a key first (tenon keys create NAME), or trust an identity provider (auth.oidc in the configuration); " +
			"or listen on 127.0.0.1, and let others in through an SSH tunnel"
	case strings.HasPrefix(p.text, "listen on ") && (isAddress(err) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, fs.ErrPermission)):
		p.kind, p.hint = tool.Invalid, "the address is host:port, a host of this machine and a port up to 65535 that its user may take, such as 127.0.0.1:8400"
	case isAddress(err):
		p.kind = tool.Invalid
	case errors.Is(err, context.Canceled):
		p.kind, p.text = tool.Canceled, "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		p.kind, p.text = tool.Timeout, "the time given by --timeout has passed"
	case room.None(err):
		p.kind, p.hint = tool.Unavailable, "make room on that disk, or let it be another one"
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			p.hint = "make room in " + filepath.Dir(e.Path)
		}
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		p.kind = tool.Invalid
	}
	return p
}

// isAddress reports whether err is about an address that is none, or a host that
// nobody knows.
func isAddress(err error) bool {
	_, addr := errors.AsType[*net.AddrError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	return addr || dns
}

func isConfig(err error) bool {
	_, ok := errors.AsType[*tenon.ConfigError](err)
	return ok
}

// object is the JSON form of a problem.
func (p *problem) object() any {
	o := struct {
		Error    string          `json:"error"`
		Kind     tool.Kind       `json:"error_kind"`
		Hint     string          `json:"hint,omitempty"`
		Problems []configProblem `json:"problems,omitempty"`
	}{Error: p.text, Kind: p.kind, Hint: p.hint}
	if e, ok := errors.AsType[*tenon.ConfigError](p); ok {
		o.Problems = configProblems(e.Problems)
	}
	return o
}

// A configProblem is a mistake in the configuration as JSON shows it.
type configProblem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

func configProblems(problems []tenon.Problem) []configProblem {
	out := make([]configProblem, len(problems))
	for i, p := range problems {
		out[i] = configProblem{p.File, p.Line, p.Column, p.Text, p.Hint}
	}
	return out
}

// nearest returns the one of names that word most likely means, or nothing where
// none is near: at most a third of its letters wrong.
func nearest(word string, names []string) string {
	best, least := "", len(word)/3+1
	for _, n := range names {
		if strings.HasPrefix(n, word) && len(word) > 1 {
			return n
		}
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(n)); d < least || d == least && best == "" {
			best, least = n, d
		}
	}
	return best
}

package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/term"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/clients"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// world is this machine, as the clients on it see it.
func world(a *app) (clients.World, error) {
	dir, err := os.Getwd()
	if err != nil {
		return clients.World{}, err
	}
	return clients.World{OS: runtime.GOOS, Env: a.env, Project: dir}, nil
}

// backups is where the files are kept that were changed.
func backups(a *app) (clients.Store, error) {
	dir := tenon.StateDir(a.Env)
	if dir == "" {
		return clients.Store{}, &problem{kind: tool.Invalid, text: "there is no folder to keep a backup in", hint: "set HOME or XDG_STATE_HOME"}
	}
	return clients.Store{Dir: filepath.Join(dir, "clients")}, nil
}

// isSecret reports whether a value that is given under a name looks like a secret.
// Without a name only its form counts.
func isSecret() (func(name, value string) bool, func(string) string, error) {
	forms, err := redact.New(redact.Options{})
	if err != nil {
		return nil, nil, err
	}
	return func(name, value string) bool {
		if name == "" {
			return forms.Text(value) != value
		}
		return !redact.IsSetting(name, value)
	}, forms.Text, nil
}

// hider returns what hides the secrets of some values, and all that looks like one,
// in the texts of a change.
func hider(values []clients.Pair) (func(string) string, error) {
	secret, forms, err := isSecret()
	if err != nil {
		return nil, err
	}
	hidden := make(map[string]bool)
	for _, p := range values {
		if p.Value == "" || strings.HasPrefix(p.Value, "${") || !secret(p.Name, p.Value) {
			continue
		}
		hidden[p.Value] = true
		if _, rest, ok := strings.Cut(p.Value, " "); ok && len(rest) > 6 {
			hidden[rest] = true
		}
	}
	var pairs []string
	dots := tool.NewSecret("x").String()
	for _, v := range slices.SortedFunc(maps.Keys(hidden), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		if len(v) < 6 { // it stands within many words
			pairs = append(pairs, `"`+v+`"`, `"`+dots+`"`)
			continue
		}
		pairs = append(pairs, v, dots)
		if escaped, err := json.Marshal(v); err == nil {
			pairs = append(pairs, string(escaped[1:len(escaped)-1]), dots)
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(s string) string { return forms(known.Replace(s)) }, nil
}

// writeFlags say whether what is shown is done.
type writeFlags struct{ yes, dry bool }

// agreed asks the person whether what was shown is to be done. Without a person
// --yes says so.
func agreed(a *app, in writeFlags, question string) error {
	f, ok := a.Stdin.(*os.File)
	switch {
	case in.yes:
		return nil
	case a.json() || !ok || !term.IsTerminal(int(f.Fd())):
		return &problem{kind: tool.Invalid, text: "nothing was written: nobody can be asked here", hint: "--yes writes what --dry-run shows"}
	}
	fmt.Fprintf(a.Stderr, "%s (y/N) ", question)
	line, err := bufio.NewReader(io.LimitReader(f, 1024)).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(a.Stderr)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &problem{kind: tool.Canceled, text: "nothing was written"}
}

// settingsProblem turns the error of a file into what a person is told.
func settingsProblem(err error) error {
	if e, ok := errors.AsType[*clients.Error](err); ok {
		return &problem{kind: tool.Invalid, text: e.Error(), hint: e.Hint, err: err}
	}
	if errors.Is(err, clients.ErrChanged) {
		return &problem{kind: tool.Failed, text: err.Error(), hint: "close the program that writes it, and try again", err: err}
	}
	return err
}

// clientNamed returns the client of a name.
func clientNamed(name string) (*clients.Client, error) {
	if c := clients.Find(name); c != nil {
		return c, nil
	}
	hint := "there are " + strings.Join(clients.IDs(), ", ")
	if n := nearest(name, clients.IDs()); n != "" {
		hint = fmt.Sprintf("did you mean %q? %s", n, hint)
	}
	return nil, &problem{kind: tool.Invalid, text: fmt.Sprintf("there is no client %q", name), hint: hint}
}

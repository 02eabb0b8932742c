package tenon

import (
	"errors"

	"github.com/tenon-mcp/tenon/internal/browser"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/tool"
)

// playwright returns how the Playwright server of an entry is started, and what is
// declared of its tools. Which browser it
// takes is found out when the pool is made, and not while the configuration is read:
// that is the same on every machine.
func playwright(env []string, s *config.Server) (*proc.Command, map[string]tool.Meta, error) {
	b := s.Care.Browser
	c, err := browser.Options{
		Executable: b.Executable, Headless: b.Headless, Sandbox: b.Sandbox, Output: b.Output,
	}.Command(func(name string) string { return variable(env, name) })
	if err != nil {
		return nil, nil, noBrowser(err)
	}
	if s.Command != "" { // the server is installed already
		c.Path, c.Args = s.Command, c.Args[2:]
	}
	own := reveal(s.Env)
	for name, value := range c.Env {
		if own[name] != "" && name == "NODE_OPTIONS" {
			value = own[name] + " " + value
		}
		own[name] = value
	}
	cmd := &proc.Command{Path: c.Path, Args: append(c.Args, s.Args...), Dir: s.Cwd, Env: proc.Environ(env, own)}
	return cmd, browser.Meta(), nil
}

// noBrowser says what the operator can do where a browser cannot be had.
func noBrowser(err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, browser.ErrNone):
		text += ": install chromium or Google Chrome, or name one in browser.executable"
	case errors.Is(err, browser.ErrRoot):
		text += ": run Tenon as another user, or say browser: {sandbox: false}, which leaves what a page breaks out of with all that root may do"
	}
	return &tool.Error{Kind: tool.Unavailable, Text: text, Err: err}
}

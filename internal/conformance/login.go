package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// An Operator plays whoever runs Tenon before a server that wants a login: with the
// commands of a person, and with a browser that agrees to everything.
type Operator struct {
	// Tenon is the program, Browser one that takes an address; see Browse.
	Tenon, Browser string
	// URL is the server.
	URL string
	// Auth is the key auth of its entry, if it has one.
	Auth map[string]any
	// Log takes what was run and what came of it.
	Log io.Writer
}

const (
	// commandBound is how long one command of the operator may take.
	commandBound = 15 * time.Second
	// logins is how often the operator logs in: once, and once for more scopes.
	logins = 2
)

// Run calls a tool of the server, and logs in when it is told to. The error is that
// no call came through.
func (o Operator) Run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	entry := map[string]any{"url": o.URL, "retries": 0}
	if len(o.Auth) > 0 {
		entry["auth"] = o.Auth
	}
	config, err := json.Marshal(map[string]any{
		"version": 1, "servers": map[string]any{"suite": entry},
		"policy": map[string]any{"mode": "bypass", "block_high_risk": false},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tenon.yaml"), config, 0o600)
	}
	if err != nil {
		return err
	}
	for left := logins; ; left-- {
		said, err := o.call(ctx, dir)
		switch {
		case err == nil:
			return nil
		case !strings.Contains(said, "tenon login"):
			return fmt.Errorf("the call failed: %w", err)
		case left == 0:
			return errors.New("the server wants one login after the other")
		}
		if _, err := o.command(ctx, dir, "login", "suite"); err != nil {
			return fmt.Errorf("the login failed: %w", err)
		}
	}
}

// call calls the last tool that the server lists; any, where it lists none.
func (o Operator) call(ctx context.Context, dir string) (said string, err error) {
	name := "test-tool"
	listed, err := o.command(ctx, dir, "tools", "--server", "suite", "--output", "json")
	if err == nil {
		var list struct {
			Servers []struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(listed), &list); err != nil {
			return "", err
		}
		for _, s := range list.Servers {
			for _, t := range s.Tools {
				name = t.Name
			}
		}
	}
	return o.command(ctx, dir, "call", "suite", name)
}

// command runs one command of Tenon, and returns what it says: its answer, or where it
// failed what it told the person.
func (o Operator) command(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Tenon, append(args, "--config", filepath.Join(dir, "tenon.yaml"))...) // #nosec G204 G702 -- built by the lab
	cmd.Env = append(Private(dir), "TENON_KEYRING=off", "BROWSER="+o.Browser)
	cmd.WaitDelay = time.Second
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	fmt.Fprintf(o.Log, "tenon %s\n%s%s", strings.Join(args, " "), &out, &problems)
	if err != nil {
		return problems.String(), err
	}
	return out.String(), nil
}

// Browse is a person who opens address, and agrees: it follows wherever the page leads.
func Browse(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, commandBound)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req) // #nosec G704 -- what a person is shown
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return errors.Join(err, resp.Body.Close())
}

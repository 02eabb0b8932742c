package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/internal/clients"
	"github.com/tenon-mcp/tenon/tool"
)

// connectFlags are the flags of tenon connect.
type connectFlags struct {
	writeFlags
	url     string
	stdio   bool
	project bool
	undo    bool
	replace bool
}

// defaultURL is where tenon serve listens.
const defaultURL = "http://127.0.0.1:8400/mcp"

func connectCommand(a *app) *cobra.Command {
	var in connectFlags
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Write Tenon into the settings of a desktop client",
		Long: "Write Tenon into the settings of a client as one server, named tenon: the URL of the gateway, or, where the client\n" +
			"takes no URL and with --stdio, the command that starts one. Nothing else in the file changes, comments and\n" +
			"formatting included. The change is shown before it is written.\n\n" +
			"--undo puts back what was there before, to the byte. Where the file was changed since, it takes out the entry of\n" +
			"Tenon alone.\n\n" +
			"Clients: " + strings.Join(clients.IDs(), ", ") + ".",
		Example:   "  tenon connect cursor\n  tenon connect claude-desktop --replace\n  tenon connect vscode --project --stdio\n  tenon connect cursor --undo",
		Args:      exactly("CLIENT"),
		ValidArgs: clients.IDs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return settingsProblem(runConnect(cmd.Context(), a, args[0], in))
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.url, "url", "", "URL of the gateway (default "+defaultURL+")")
	f.BoolVar(&in.stdio, "stdio", false, "let the client start Tenon itself")
	f.BoolVar(&in.project, "project", false, "the client's settings of this folder instead of those for everything")
	f.BoolVar(&in.undo, "undo", false, "take back what connect wrote")
	f.BoolVar(&in.replace, "replace", false, "remove the servers that tenon.yaml has as well and can start")
	f.BoolVar(&in.yes, "yes", false, "write without asking")
	f.BoolVar(&in.dry, "dry-run", false, "show what would be written, and write nothing")
	return cmd
}

func runConnect(ctx context.Context, a *app, name string, in connectFlags) error {
	client, err := clientNamed(name)
	if err != nil {
		return err
	}
	switch {
	case in.url != "" && in.stdio:
		return &problem{kind: tool.Invalid, text: "--url and --stdio exclude each other"}
	case in.undo && (in.url != "" || in.stdio || in.replace):
		return &problem{kind: tool.Invalid, text: "--undo goes with neither --url, --stdio nor --replace"}
	case in.url != "" && !client.TakesURL():
		return &problem{kind: tool.Invalid, text: client.Name + " takes no URL in its settings", hint: "without --url it starts Tenon itself"}
	}
	w, err := world(a)
	if err != nil {
		return err
	}
	scope := clients.User
	if in.project {
		scope = clients.Project
	}
	settings, ok := client.Target(w, scope)
	switch {
	case !ok && in.project:
		return &problem{kind: tool.Invalid, text: client.Name + " has no settings of a folder"}
	case !ok:
		return &problem{kind: tool.Invalid, text: "the folder with the settings of " + client.Name + " cannot be told", hint: "set HOME"}
	}
	store, err := backups(a)
	if err != nil {
		return err
	}
	c := &connecting{app: a, in: in, settings: settings, store: store, out: connectOutput{
		Client: client.ID, Scope: string(scope), Path: settings.Path, Removed: []string{},
	}}
	if in.undo {
		return c.undo()
	}
	return c.connect(ctx)
}

// A connecting is one run of tenon connect.
type connecting struct {
	*app
	in       connectFlags
	settings clients.Settings
	store    clients.Store
	out      connectOutput
}

// connectOutput is the answer as JSON.
type connectOutput struct {
	Client  string       `json:"client"`
	Scope   string       `json:"scope"`
	Path    string       `json:"path"`
	State   string       `json:"state"` // connected, unchanged, undone, removed
	Written bool         `json:"written"`
	Backup  string       `json:"backup,omitempty"`
	Entry   *connectedTo `json:"entry,omitempty"`
	Removed []string     `json:"removed"`
	Kept    []keptServer `json:"kept,omitempty"`
	Diff    string       `json:"diff"`
}

// A keptServer is one that --replace leaves where it is: Tenon has it, and cannot start it.
type keptServer struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type connectedTo struct {
	URL     string   `json:"url,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// entry is what is to be written.
func (c *connecting) entry() (clients.Entry, error) {
	if c.settings.Client.TakesURL() && !c.in.stdio {
		u, err := url.Parse(cmp.Or(c.in.url, defaultURL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
			return clients.Entry{}, &problem{kind: tool.Invalid, text: "--url wants http://host… or https://host…, without a user and without #"}
		}
		return clients.Entry{URL: u.String()}, nil
	}
	program, err := c.lastingProgram()
	if err != nil {
		return clients.Entry{}, err
	}
	e := clients.Entry{Command: program, Args: []string{"serve", "--stdio"}}
	if path := c.configPath(); path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return clients.Entry{}, err
		}
		e.Args = append(e.Args, "--config", path)
	}
	return e, nil
}

// lastingProgram returns the path of this program, for settings that others will start it
// by.
func (a *app) lastingProgram() (string, error) {
	if a.Executable == "" {
		return "", &problem{kind: tool.Unavailable, text: "the path of this program is unknown"}
	}
	program, err := filepath.Abs(a.Executable)
	if err == nil && strings.Contains(program, string(filepath.Separator)+"go-build") {
		return "", &problem{kind: tool.Invalid, text: "this program is gone when go run ends", hint: "build it first: go build ./cmd/tenon"}
	}
	return program, err
}

// replaced finds out which servers go: those that tenon.yaml has as well, but for those
// that cannot work there, which would be gone for the client.
func (c *connecting) replaced(ctx context.Context) error {
	path := c.configPath()
	if path == "" {
		return &problem{kind: tool.Invalid, text: "--replace wants a tenon.yaml", hint: "tenon import makes one"}
	}
	servers, err := c.settings.Own()
	if err != nil {
		return err
	}
	had, err := clients.Imported(path, servers)
	if err != nil || len(had) == 0 {
		return err
	}
	gw, err := c.openGateway(ctx, c.logger(quiet))
	if err != nil {
		return err
	}
	defer gw.Close()
	failed := map[string]string{}
	for _, s := range gw.Status() {
		if s.State == tool.StateFailed {
			failed[s.Name] = s.Reason
		}
	}
	for _, h := range had {
		if why, ok := failed[h.Entry]; ok {
			c.out.Kept = append(c.out.Kept, keptServer{h.Name, why})
		} else {
			c.out.Removed = append(c.out.Removed, h.Name)
		}
	}
	return nil
}

func (c *connecting) connect(ctx context.Context) error {
	e, err := c.entry()
	if err != nil {
		return err
	}
	c.out.Entry = &connectedTo{URL: e.URL, Command: e.Command, Args: e.Args}
	if c.in.replace {
		if err := c.replaced(ctx); err != nil {
			return err
		}
	}
	change, err := c.settings.Connect(e, c.out.Removed)
	if err != nil {
		return err
	}
	c.out.State = "connected"
	return c.do(change, fmt.Sprintf("connect %s, by writing %s?", c.settings.Client.Name, c.out.Path), func() error {
		c.out.Backup, err = c.store.Keep(change)
		if err != nil {
			return err
		}
		return change.Write()
	})
}

func (c *connecting) undo() error {
	change, exact, err := c.store.Undo(c.settings)
	if err != nil {
		return err
	}
	c.out.State = "removed"
	if exact {
		c.out.State = "undone"
	}
	return c.do(change, fmt.Sprintf("take Tenon out of %s?", c.out.Path), func() error {
		if c.out.Backup, err = c.store.Backup(change); err != nil {
			return err
		}
		if err := change.Write(); err != nil {
			return err
		}
		return c.store.Forget(c.settings.Path)
	})
}

// do shows a change, asks, and makes it.
func (c *connecting) do(change clients.Change, question string, write func() error) error {
	hide, err := hider(change.Values)
	if err != nil {
		return err
	}
	c.out.Diff = change.Diff(hide)
	if change.Same() {
		c.noteKept()
		c.out.State = "unchanged"
		c.answer()
		return nil
	}
	if !c.json() {
		c.printText(c.out.Diff)
	}
	c.noteKept()
	if !c.in.dry {
		if err := agreed(c.app, c.in.writeFlags, question); err != nil {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		c.out.Written = true
	}
	c.answer()
	return nil
}

// noteKept says which servers stay, and why.
func (c *connecting) noteKept() {
	if c.json() {
		return
	}
	for _, k := range c.out.Kept {
		c.note("kept %s, which Tenon has but cannot start: %s", k.Name, k.Reason)
	}
}

// answer ends the run.
func (c *connecting) answer() {
	name := c.settings.Client.Name
	switch {
	case c.json():
		c.printJSON(c.out)
	case c.out.State == "unchanged" && c.in.undo:
		c.note("there is nothing of Tenon in %s", c.out.Path)
	case c.out.State == "unchanged":
		c.note("%s is connected already", name)
	case !c.out.Written:
	case c.out.State == "connected":
		where := ""
		if c.in.project {
			where = " --project"
		}
		c.note("wrote %s; restart %s to take it up, and tenon connect %s%s --undo to take it back", c.out.Path, name, c.out.Client, where)
		if c.out.Entry.URL != "" {
			c.note("the gateway must run: tenon serve")
		}
		for _, n := range c.out.Removed {
			c.note("removed %s, which Tenon has", n)
		}
	case c.out.State == "undone":
		c.note("%s is as it was before", c.out.Path)
	default:
		c.note("%s was changed since: the entry of Tenon was taken out, and the rest left", c.out.Path)
	}
}

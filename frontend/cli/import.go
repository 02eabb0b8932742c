package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/internal/clients"
	"github.com/tenon-mcp/tenon/internal/secrets"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// importFlags are the flags of tenon import.
type importFlags struct {
	writeFlags
	all      bool
	file     string
	secrets  string
	writeEnv bool
}

func importCommand(a *app) *cobra.Command {
	var in importFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT…]",
		Short: "Take the servers of desktop clients into tenon.yaml",
		Long: "Take the tool servers that are set up in other programs into tenon.yaml: those of the clients that are named, of\n" +
			"all of them, or of one file. The settings of the person and of this folder are read, and stay as they are.\n\n" +
			"What is there already is not added again. What tenon.yaml cannot say is told. A server that is switched off, or\n" +
			"of which only some tools are allowed, becomes a comment. The change is shown before anything is written.\n\n" +
			"Secrets do not go into tenon.yaml: they are named there, and go into .env with --write-env, or into the keyring\n" +
			"with --secrets keyring.\n\n" +
			"Clients: " + strings.Join(clients.IDs(), ", ") + ".",
		Example: "  tenon import --dry-run\n  tenon import cursor claude-code --write-env\n  tenon import --file servers.json --secrets keyring",
		RunE:    func(_ *cobra.Command, args []string) error { return runImport(a, args, in) },
	}
	cmd.ValidArgs = clients.IDs()
	f := cmd.Flags()
	f.BoolVar(&in.all, "all", false, "all clients that are found here (default where none is named)")
	f.StringVar(&in.file, "file", "", "a file of settings instead: mcpServers, servers, context_servers, or mcp_servers in TOML")
	f.BoolVar(&in.yes, "yes", false, "write without asking")
	f.BoolVar(&in.dry, "dry-run", false, "show what would be written, and write nothing")
	f.StringVar(&in.secrets, "secrets", string(clients.Env), "where literal secrets go: env, keyring or keep (they stay in tenon.yaml)")
	f.BoolVar(&in.writeEnv, "write-env", false, "write the secrets into the .env beside tenon.yaml, readable by its owner alone")
	return cmd
}

func runImport(a *app, names []string, in importFlags) error {
	switch {
	case !slices.Contains([]string{"env", "keyring", "keep"}, in.secrets):
		return &problem{kind: tool.Invalid, text: fmt.Sprintf("--secrets is env, keyring or keep, not %q", in.secrets)}
	case in.file != "" && (in.all || len(names) > 0), in.all && len(names) > 0:
		return &problem{kind: tool.Invalid, text: "clients, --all and --file exclude each other"}
	case in.writeEnv && in.secrets != "env":
		return &problem{kind: tool.Invalid, text: "--write-env goes with --secrets env alone"}
	case in.secrets == "keyring" && !secrets.HasKeyring(a.env["DBUS_SESSION_BUS_ADDRESS"]):
		return &problem{kind: tool.Unavailable, text: "there is no keyring service here", hint: "--secrets env keeps secrets in the environment or in .env"}
	}
	servers, read, err := found(a, names, in.file)
	if err != nil {
		return settingsProblem(err)
	}
	path := a.configPath()
	if path == "" {
		path = "tenon.yaml"
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tenon.yaml")
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	i := &importing{app: a, in: in, path: path, read: read}
	return settingsProblem(i.run(servers))
}

// found returns the servers of clients or of a file, and the files that were read.
func found(a *app, names []string, file string) ([]clients.Server, []string, error) {
	w, err := world(a)
	if err != nil {
		return nil, nil, err
	}
	var all []clients.Settings
	if file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return nil, nil, err
		}
		s, err := clients.File(w, file)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, s)
	}
	if len(names) == 0 && file == "" {
		names = clients.IDs()
	}
	for _, n := range names {
		c, err := clientNamed(n)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c.Settings(w)...)
	}
	var out []clients.Server
	var read []string
	for _, s := range all {
		if _, err := os.Stat(s.Path); err != nil && file == "" || slices.Contains(read, s.Path) {
			continue // not there, or the home folder is the project
		}
		more, err := s.Read()
		if err != nil {
			return nil, nil, err
		}
		out, read = append(out, more...), append(read, s.Path)
	}
	return out, read, nil
}

// An importing is one run of tenon import.
type importing struct {
	*app
	in   importFlags
	path string   // of tenon.yaml
	read []string // the files of settings

	env    string // .env beside it
	plan   clients.Plan
	change *clients.Change // of .env
}

func (i *importing) run(servers []clients.Server) error {
	secret, _, err := isSecret()
	if err != nil {
		return err
	}
	i.env = filepath.Join(filepath.Dir(i.path), ".env")
	there, err := i.taken()
	if err != nil {
		return err
	}
	i.plan, err = clients.Import(i.path, servers, clients.Options{Place: clients.Place(i.in.secrets), Secret: secret, Taken: there})
	if err != nil {
		return err
	}
	hide, err := hider(i.plan.Change.Values)
	if err != nil {
		return err
	}
	if i.in.writeEnv && len(i.plan.Secrets) > 0 {
		c, err := clients.AddEnv(i.env, i.plan.Secrets)
		if err != nil {
			return err
		}
		i.change = &c
	}
	out := importOutput{File: i.path, Read: append([]string{}, i.read...), Diff: i.plan.Change.Diff(hide), Servers: []importedServer{}, Secrets: []importedSecret{}}
	out.fill(i.plan, i.in)
	if !i.json() {
		i.show(out)
	}
	if i.plan.Change.Same() && (i.change == nil || i.change.Same()) || i.in.dry {
		i.answer(out)
		return nil
	}
	if err := agreed(i.app, i.in.writeFlags, "write "+i.path+"?"); err != nil {
		return err
	}
	if out.Backup, err = i.write(); err != nil {
		return err
	}
	out.Written = true
	i.answer(out)
	return nil
}

// taken returns what tells the value of a variable, or of an entry of the keyring.
func (i *importing) taken() (func(string) (string, bool), error) {
	if i.in.secrets == "keyring" {
		return func(name string) (string, bool) {
			v, err := secrets.Keyring(clients.Service, name)
			return v, err == nil
		}, nil
	}
	data, err := os.ReadFile(i.env)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	file, wrong := source.ParseDotenv(source.NewFile(i.env, 1), data)
	if len(wrong) > 0 {
		p := source.Problems(wrong)[0]
		return nil, &clients.Error{Path: i.env, Line: p.Line, Column: p.Column, Text: p.Text, Hint: p.Hint}
	}
	return func(name string) (string, bool) {
		if v, ok := i.app.env[name]; ok {
			return v, true
		}
		v, ok := file[name]
		return v, ok
	}, nil
}

// write does what was shown. Secrets come first: what tenon.yaml names is there when
// a gateway takes it.
func (i *importing) write() (backup string, err error) {
	store, err := backups(i.app)
	if err != nil {
		return "", err
	}
	if i.in.secrets == "keyring" {
		for _, s := range i.plan.Secrets {
			if err := secrets.Keep(clients.Service, s.Name, s.Value); err != nil {
				return "", &problem{kind: tool.Unavailable, text: err.Error(), hint: "--secrets env keeps secrets in the environment or in .env", err: err}
			}
		}
	}
	if i.change != nil && !i.change.Same() {
		if err := i.change.Write(); err != nil {
			return "", err
		}
	}
	if i.plan.Change.Same() {
		return "", nil
	}
	if backup, err = store.Backup(i.plan.Change); err != nil {
		return "", err
	}
	return backup, i.plan.Change.Write()
}

// importOutput is the answer as JSON.
type importOutput struct {
	File    string           `json:"file"`
	Read    []string         `json:"read"`
	Written bool             `json:"written"`
	Backup  string           `json:"backup,omitempty"`
	Diff    string           `json:"diff"`
	Servers []importedServer `json:"servers"`
	Secrets []importedSecret `json:"secrets"`
}

type importedServer struct {
	Name   string   `json:"name"`
	Client string   `json:"client,omitempty"`
	Found  string   `json:"found"` // its name in the client
	Path   string   `json:"path"`
	Scope  string   `json:"scope"` // user, or project: of this folder
	State  string   `json:"state"`
	Notes  []string `json:"notes,omitempty"`
}

type importedSecret struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	Key    string `json:"key"`
	Place  string `json:"place"`
}

func (o *importOutput) fill(p clients.Plan, in importFlags) {
	for _, r := range p.Results {
		s := importedServer{Name: r.Name, Found: r.Server.Name, Path: r.Server.Path, Scope: string(r.Server.Scope), State: string(r.State), Notes: r.Notes}
		if r.Server.From != nil {
			s.Client = r.Server.From.ID
		}
		o.Servers = append(o.Servers, s)
	}
	for _, s := range p.Secrets {
		place := in.secrets
		if in.writeEnv {
			place = ".env"
		}
		o.Secrets = append(o.Secrets, importedSecret{s.Name, s.Server, s.Key, place})
	}
}

// show tells a person what there is.
func (i *importing) show(o importOutput) {
	if len(o.Servers) == 0 {
		i.note("no servers were found; looked at %s", strings.Join(append(o.Read, "the settings of this folder"), ", "))
		return
	}
	i.printText(o.Diff)
	for _, s := range o.Servers {
		from := s.Client
		if from == "" {
			from = s.Path
		} else if s.Scope == string(clients.Project) {
			from += " (project)"
		}
		i.note("%s: %s, from %s", s.Name, s.State, from)
		for _, n := range s.Notes {
			i.note("  note: %s", n)
		}
	}
	for _, s := range o.Secrets {
		switch s.Place {
		case "env":
			i.note("secret: %s of %s; a line for .env: %s=%s", s.Key, s.Server, s.Name, tool.NewSecret("x"))
		default:
			i.note("secret: %s of %s goes to the %s as %s", s.Key, s.Server, map[string]string{".env": "file .env", "keyring": "keyring"}[s.Place], s.Name)
		}
	}
	if len(o.Secrets) > 0 && o.Secrets[0].Place == "env" {
		i.note("hint: --write-env writes those lines into %s", i.env)
	}
}

// answer ends the run.
func (i *importing) answer(o importOutput) {
	switch {
	case i.json():
		i.printJSON(o)
	case o.Written:
		i.note("wrote %s; tenon check --connect tries the servers", o.File)
		if o.Backup != "" {
			i.note("what it was is in %s", o.Backup)
		}
	case len(o.Servers) > 0 && o.Diff == "":
		i.note("there is nothing to add to %s", o.File)
	}
}

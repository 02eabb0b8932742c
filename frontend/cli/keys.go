package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/room"
	"github.com/tenon-mcp/tenon/tool"
)

// keysCommand manages the keys of callers.
func keysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list and end the API keys of callers",
		Long: "Make, list and end the API keys of callers. They are kept as hashes in the file of auth.keys, else in the user's\n" +
			"state folder. A gateway that runs takes a change within a second.\n\n" +
			"A caller sends its key as the header Authorization: Bearer KEY; the command line takes it from $TENON_TOKEN or\n" +
			"from --token-file.",
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreate(a), keysList(a), keysRevoke(a), keysRotate(a))
	return cmd
}

// keyFlags are what a key is to allow.
type keyFlags struct {
	scope    tenon.Scope
	mode     string
	expires  string
	noCaller bool
}

func keysCreate(a *app) *cobra.Command {
	var in keyFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print it, this once",
		Long: "Make a key and print it on standard output. Nothing can show it again: it is kept as a hash.\n\n" +
			"NAME is that of the caller: results, sessions and records of callers with different names are kept apart.",
		Example: "  tenon keys create agent --mode read_only --expires 30d\n" +
			"  tenon keys create nightly --skill host_resource_diagnosis --limits small > nightly.key\n" +
			"  tenon keys create alice --approver --no-caller",
		Args: exactly("NAME"),
		RunE: func(_ *cobra.Command, args []string) error { return runKeysCreate(a, args[0], in) },
	}
	f := cmd.Flags()
	f.StringVar(&in.mode, "mode", "", "laxest mode of the caller: bypass, normal, ask_destructive or read_only (default that of the configuration)")
	f.StringArrayVar(&in.scope.Skills, "skill", nil, "skill that the caller may choose; repeat it for more, the first is the usual one (default any)")
	f.StringVar(&in.expires, "expires", "", "how long the key counts, such as 12h or 30d (default for good)")
	f.StringVar(&in.scope.Limits, "limits", "", "name of the limits of the configuration that hold for the caller")
	f.BoolVar(&in.scope.Elicit, "elicit", false, "the caller's own program may ask its person for approvals")
	f.BoolVar(&in.scope.Approver, "approver", false, "the key may decide on calls that wait, and stop tools")
	f.BoolVar(&in.noCaller, "no-caller", false, "the key may not call tools; with --approver")
	return cmd
}

func runKeysCreate(a *app, name string, in keyFlags) error {
	ttl, err := lifetime(in.expires)
	if err != nil {
		return err
	}
	in.scope.Mode = tool.Mode(in.mode)
	in.scope.Caller = !in.noCaller
	keys, err := openKeys(a)
	if err != nil {
		return err
	}
	made, secret, err := keys.Create(name, in.scope, ttl)
	if err != nil {
		return keysProblem(keys, err)
	}
	printKey(a, keys, made, secret)
	return nil
}

func keysList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys, without showing any",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			keys, err := openKeys(a)
			if err != nil {
				return err
			}
			list, err := keys.List()
			if err != nil {
				return keysProblem(keys, err)
			}
			printKeys(a, keys, list)
			return nil
		},
	}
}

func keysRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a key, or all keys of a name",
		Args:  exactly("ID or NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := openKeys(a)
			if err != nil {
				return err
			}
			ended, err := keys.Revoke(args[0])
			if err != nil {
				return keysProblem(keys, err)
			}
			if a.json() {
				a.printJSON(map[string]any{"revoked": shownKeys(ended)})
				return nil
			}
			for _, k := range ended {
				a.note("revoked %s (%s); gateways that run refuse it within a second", k.ID, k.Name)
			}
			return nil
		},
	}
}

func keysRotate(a *app) *cobra.Command {
	var expires string
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "rotate ID|NAME",
		Short: "Make a key in the place of another, and print it",
		Long: "Make a key that allows what another does, under the same name, and print it. The old one ends at once, or with\n" +
			"--grace after that time, so that the new one can be handed out first.",
		Example: "  tenon keys rotate agent --grace 1h",
		Args:    exactly("ID or NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			ttl := time.Duration(-1)
			if expires != "" {
				var err error
				if ttl, err = lifetime(expires); err != nil {
					return err
				}
			}
			if grace < 0 {
				return &problem{kind: tool.Invalid, text: "--grace must not be below zero"}
			}
			keys, err := openKeys(a)
			if err != nil {
				return err
			}
			made, secret, err := keys.Rotate(args[0], ttl, grace)
			if err != nil {
				return keysProblem(keys, err)
			}
			printKey(a, keys, made, secret)
			return nil
		},
	}
	cmd.Flags().StringVar(&expires, "expires", "", "how long the new key counts, such as 30d (default as long as the old one did)")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the old key counts beside the new one")
	return cmd
}

// openKeys returns the file of keys that counts here.
func openKeys(a *app) (*tenon.Keys, error) {
	return tenon.OpenKeys(tenon.Options{Config: a.configPath(), Bundled: bundled(), Env: a.Env, StateDir: tenon.StateDir(a.Env), Logger: a.logger(quiet)})
}

// keysProblem says what to do about a file of keys that cannot be used.
func keysProblem(keys *tenon.Keys, err error) error {
	if tool.KindOf(err) != tool.Internal || room.None(err) {
		return err
	}
	return &problem{
		kind: tool.Invalid, text: err.Error(), err: err,
		hint: "mend or move away " + keys.Path() + ", or name another file as auth.keys in the configuration",
	}
}

// checkKeys adds to a report that the file of keys cannot be used: no key counts then.
func checkKeys(a *app, r *tenon.Report) {
	keys, err := openKeys(a)
	if err != nil {
		return // there is no place for keys, or what the configuration lacks was told
	}
	if _, err := keys.List(); err != nil {
		r.Broken = append(r.Broken, tenon.Problem{
			File: keys.Path(), Text: "no key counts: " + strings.TrimPrefix(err.Error(), keys.Path()+" "),
			Hint: "mend it or move it away, or name another file as auth.keys",
		})
	}
}

// lifetime reads how long a key counts: 12h, 30d. Nothing is for good.
func lifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	const day, longest = 24 * time.Hour, 100 * 365
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(n, longest)) * day
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < time.Second {
		return 0, &problem{kind: tool.Invalid, text: fmt.Sprintf("--expires is a time such as 12h or 30d, not %q", text)}
	}
	return d, nil
}

// shownKey is a key as the command line shows it.
type shownKey struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	State    string     `json:"state"` // live, expired, revoked
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
	Revoked  *time.Time `json:"revoked,omitempty"`
	Mode     tool.Mode  `json:"mode,omitempty"`
	Skills   []string   `json:"skills,omitempty"`
	Limits   string     `json:"limits,omitempty"`
	Elicit   bool       `json:"elicit"`
	Approver bool       `json:"approver"`
	Caller   bool       `json:"caller"`
	Key      string     `json:"key,omitempty"` // where it was just made
}

func shown(k tenon.Key) shownKey {
	state := "live"
	switch {
	case k.Revoked != nil:
		state = "revoked"
	case !k.Live(time.Now()):
		state = "expired"
	}
	return shownKey{
		ID: k.ID, Name: k.Name, State: state, Created: k.Created, Expires: k.Expires, Revoked: k.Revoked,
		Mode: k.Mode, Skills: k.Skills, Limits: k.Limits, Elicit: k.Elicit, Approver: k.Approver, Caller: k.Caller,
	}
}

func shownKeys(list []tenon.Key) []shownKey {
	out := make([]shownKey, len(list))
	for i, k := range list {
		out[i] = shown(k)
	}
	return out
}

// warnUnknown tells that a key names what the configuration does not have.
func warnUnknown(a *app, kind, name string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if len(known) > 0 {
		hint = "; it has: " + strings.Join(known[:min(len(known), 20)], ", ")
	}
	a.note("warning: the configuration has no %s %q, so calls that it would hold for are refused%s", kind, name, hint)
}

// laxKeys says how far keys reach where nobody needs one.
const laxKeys = "on this machine a caller that leaves its key out is the local user, whom the key does not hold; auth.required: true wants one of everybody"

// printKey prints a key that was just made: the key alone on standard output, so
// that it can go into a file or a secret store as it is.
func printKey(a *app, keys *tenon.Keys, made tenon.Key, secret tool.Secret) {
	for _, s := range made.Skills {
		warnUnknown(a, "skill", s, keys.Skills)
	}
	if made.Limits != "" {
		warnUnknown(a, "limits", made.Limits, keys.Limits)
	}
	if made.Caller && !keys.Required {
		a.note("note: %s", laxKeys)
	}
	if a.json() {
		s := shown(made)
		s.Key = secret.Reveal()
		a.printJSON(s)
		return
	}
	fmt.Fprintln(a.Stdout, secret.Reveal())
	until := "for good"
	if made.Expires != nil {
		until = "until " + made.Expires.Format(time.DateTime) + " UTC"
	}
	a.note("key %s of %s, %s, kept as a hash in %s; it is not shown again", made.ID, made.Name, until, keys.Path())
}

func printKeys(a *app, keys *tenon.Keys, list []tenon.Key) {
	if a.json() {
		a.printJSON(map[string]any{"file": keys.Path(), "keys": shownKeys(list)})
		return
	}
	if len(list) == 0 {
		a.note("no keys in %s; tenon keys create NAME makes one", keys.Path())
		return
	}
	rows := [][]string{{"ID", "NAME", "STATE", "EXPIRES", "MAY"}}
	for _, k := range shownKeys(list) {
		expires := "never"
		if k.Expires != nil {
			expires = k.Expires.Format(time.DateOnly)
		}
		rows = append(rows, []string{k.ID, k.Name, k.State, expires, k.may()})
	}
	a.printTable(rows)
}

// may says in words what a key allows.
func (k shownKey) may() string {
	var parts []string
	if k.Caller {
		parts = append(parts, "call")
	}
	if k.Approver {
		parts = append(parts, "decide")
	}
	if k.Elicit {
		parts = append(parts, "ask its person")
	}
	if k.Mode != "" {
		parts = append(parts, "mode "+string(k.Mode))
	}
	if len(k.Skills) > 0 {
		parts = append(parts, "skills "+strings.Join(k.Skills, " "))
	}
	if k.Limits != "" {
		parts = append(parts, "limits "+k.Limits)
	}
	return strings.Join(parts, ", ")
}

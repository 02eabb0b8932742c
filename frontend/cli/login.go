package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// maxPasted bounds the address that a person pastes.
const maxPasted = 32 << 10

type loginFlags struct {
	flow, caller string
	scopes       []string
	list         bool
}

// loginCommand logs in at a tool server.
func loginCommand(a *app) *cobra.Command {
	var in loginFlags
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a tool server that wants OAuth",
		Long: "Log in at a server of the configuration. Its tokens are kept encrypted in the user's state folder, and renewed\n" +
			"before their end; a gateway that runs takes them with the next call.\n\n" +
			"browser opens one, which comes back to a port of loopback. paste prints the address to open anywhere, and reads\n" +
			"from standard input the one that the browser ended at. device prints a code to enter on another device. Where\n" +
			"neither the command nor the configuration says, it is browser, or paste where there is none.",
		Example: "  tenon login docs\n  tenon login docs --flow paste --scope read --scope write\n  tenon login mail --caller ann\n  tenon login --list",
		Args: func(cmd *cobra.Command, args []string) error {
			if in.list {
				return exactly()(cmd, args)
			}
			return exactly("SERVER")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.list {
				return runLoginList(a)
			}
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			return runLogin(ctx, a, args[0], in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.flow, "flow", "", "browser, device, paste or client_credentials (default that of the configuration)")
	f.StringArrayVar(&in.scopes, "scope", nil, "scope to ask for; repeat it for more (default those of the configuration, else what the server asks for)")
	f.StringVar(&in.caller, "caller", "", "caller whose login it is, for a server with auth: {per: caller}")
	f.BoolVar(&in.list, "list", false, "list the logins, without their tokens")
	return cmd
}

// logoutCommand forgets a login.
func logoutCommand(a *app) *cobra.Command {
	var caller string
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Revoke and forget the login at a tool server",
		Args:  exactly("SERVER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			logins, err := tenon.OpenLogins(a.options(a.logger(quiet)))
			if err != nil {
				return err
			}
			defer logins.Close()
			k, err := logins.Logout(ctx, args[0], caller)
			switch {
			case k != nil && err != nil:
				a.note("warning: %s", safe(err.Error()))
			case err != nil:
				return err
			case k == nil:
				return &problem{kind: tool.NotFound, text: "there is no login at " + args[0], hint: "tenon login --list shows them"}
			}
			if a.json() {
				a.printJSON(map[string]any{"server": k.Server, "caller": k.Caller, "revoked": err == nil && k.Endpoints.Revoke != ""})
				return nil
			}
			a.note("logged out of %s", k.Server)
			return nil
		},
	}
	cmd.Flags().StringVar(&caller, "caller", "", "caller whose login it is")
	return cmd
}

func runLogin(ctx context.Context, a *app, server string, in loginFlags) error {
	if in.flow != "" && !slices.Contains(tenon.LoginFlows(), in.flow) {
		return &problem{kind: tool.Invalid, text: fmt.Sprintf("--flow is one of %s, not %q", strings.Join(tenon.LoginFlows(), ", "), in.flow)}
	}
	logins, err := tenon.OpenLogins(a.options(a.logger(quiet)))
	if err != nil {
		return err
	}
	defer logins.Close()
	flow := cmp.Or(tenon.LoginFlow(in.flow), logins.Flow(server))
	open := opener(a.env)
	if flow == "" && open == nil {
		a.note("note: there is no browser here; --flow paste")
		flow = tenon.LoginPaste
	}
	person := tenon.LoginPerson{Show: func(p tenon.LoginPrompt) { showLogin(a, p, open != nil) }, Paste: func(ctx context.Context) (string, error) { return readPasted(ctx, a.Stdin) }}
	if open != nil {
		person.Open = func(address string) error { return open(ctx, address) }
	}
	k, err := logins.Login(ctx, server, tenon.LoginRequest{Caller: in.caller, Flow: flow, Scopes: in.scopes, Person: person})
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(shownLogin(k))
		return nil
	}
	a.note("logged in at %s, by %s", server, safe(k.Issuer))
	return nil
}

// showLogin tells a person where to log in.
func showLogin(a *app, p tenon.LoginPrompt, opens bool) {
	switch {
	case p.Flow == tenon.LoginDevice:
		a.note("open %s and enter the code %s", safe(p.URL), safe(p.Code))
	case p.Flow == tenon.LoginPaste:
		a.note("open this address in any browser, and log in:\n\n  %s\n\nThe browser ends at an address that begins with http://127.0.0.1 and may show an error. Paste that address here:", p.URL)
	case opens:
		a.note("a browser opens for you to log in; if it does not, open\n\n  %s\n", p.URL)
	default:
		a.note("open this address in a browser on this machine, and log in:\n\n  %s\n", p.URL)
	}
}

// readPasted reads the address that a person brings. A read of a terminal cannot be
// interrupted: after Ctrl-C it ends with the process.
func readPasted(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	new(sync.WaitGroup).Go(func() {
		text, err := bufio.NewReader(io.LimitReader(in, maxPasted)).ReadString('\n')
		answers <- answer{text, err}
	})
	select {
	case got := <-answers:
		if got.text = strings.TrimSpace(got.text); got.text != "" {
			return got.text, nil
		}
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", got.err
		}
		return "", &problem{kind: tool.Invalid, text: "no address was pasted", hint: "standard input must hold the address that the browser ended at"}
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// opener returns what opens an address in the browser of the user, or nil where there
// is none.
func opener(env map[string]string) func(ctx context.Context, address string) error {
	var command []string
	switch {
	case env["BROWSER"] != "":
		command = []string{env["BROWSER"]}
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case env["DISPLAY"] == "" && env["WAYLAND_DISPLAY"] == "":
		return nil
	default:
		command = []string{"xdg-open"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil
	}
	return func(ctx context.Context, address string) error {
		// The browser outlives this command, and an address of http cannot be a flag.
		cmd := exec.CommandContext(context.WithoutCancel(ctx), path, append(command[1:], address)...) // #nosec G204 -- the user's own browser
		if err := cmd.Start(); err != nil {
			return err
		}
		return cmd.Process.Release()
	}
}

func runLoginList(a *app) error {
	logins, err := tenon.OpenLogins(a.options(a.logger(quiet)))
	if err != nil {
		return err
	}
	defer logins.Close()
	list, err := logins.List()
	if err != nil {
		a.note("warning: %s", safe(tool.Flatten(err)))
	}
	out := make([]loginShown, len(list))
	for i, k := range list {
		out[i] = shownLogin(k)
	}
	if a.json() {
		a.printJSON(map[string]any{"logins": out})
		return nil
	}
	if len(out) == 0 {
		a.note("no logins; tenon login SERVER makes one")
		return nil
	}
	rows := [][]string{{"SERVER", "CALLER", "STATE", "EXPIRES", "SCOPES", "ISSUER"}}
	for _, s := range out {
		expires := ""
		if s.Expires != nil {
			expires = s.Expires.Format(time.DateTime)
		}
		rows = append(rows, []string{s.Server, s.Caller, s.State, expires, safe(strings.Join(s.Scopes, " ")), safe(s.Issuer)})
	}
	a.printTable(rows)
	return nil
}

// loginShown is a login as it is shown.
type loginShown struct {
	Server  string     `json:"server"`
	URL     string     `json:"url"`
	Caller  string     `json:"caller,omitempty"`
	Issuer  string     `json:"issuer"`
	Scopes  []string   `json:"scopes"`
	Wanted  []string   `json:"wanted,omitempty"` // what the server asked for since
	State   string     `json:"state"`            // live, ended
	Expires *time.Time `json:"expires,omitempty"`
}

func shownLogin(k *tenon.Login) loginShown {
	s := loginShown{
		Server: k.Server, URL: k.URL, Caller: k.Caller, Issuer: k.Issuer,
		Scopes: append([]string{}, k.Scopes...), Wanted: k.Wanted, State: "ended",
	}
	if k.Live(time.Now()) {
		s.State = "live"
	}
	if !k.Expires.IsZero() && s.State == "live" {
		at := k.Expires.UTC().Truncate(time.Second)
		s.Expires = &at
	}
	return s
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// maxSecret bounds a value in bytes.
const maxSecret = 64 << 10

// vaultFlags say which file a command is about.
type vaultFlags struct{ file, identity string }

// secretsCommand keeps secrets in an encrypted file.
func secretsCommand(a *app) *cobra.Command {
	in := &vaultFlags{}
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Keep secrets in an encrypted file",
		Long: "Keep secrets in a file that is encrypted with age (age-encryption.org). The configuration names it,\n" +
			"\"secrets: {file: ./secrets.age}\", and takes a value with ${secret:NAME}. A gateway that runs takes a change\n" +
			"as it takes one of the configuration.\n\n" +
			"No command shows a value.",
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := cmd.PersistentFlags()
	f.StringVar(&in.file, "file", "", "the encrypted file (default that of the configuration, else secrets.age beside it)")
	f.StringVar(&in.identity, "identity", "", "file with the key that opens it (default that of the configuration, else tenon/identity.txt in the user's configuration folder)")
	cmd.AddCommand(secretsInit(a, in), secretsSet(a, in), secretsList(a, in), secretsRemove(a, in))
	return cmd
}

func secretsInit(a *app, in *vaultFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Create the key that opens the file, and print its public half",
		Long: "Create an identity, the key that opens the file, in a file that its owner alone can read, and print its public\n" +
			"half, the recipient. Who is to open the file as well gives you theirs: it goes under secrets.recipients.\n\n" +
			"Keep a copy of the identity: without it the secrets are lost.",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.vault(in)
			if err != nil {
				return err
			}
			if strings.HasPrefix(v.Identity, "AGE-SECRET-KEY-") {
				return &problem{kind: tool.Invalid, text: "the configuration takes the identity from a variable", hint: "name a file with --identity"}
			}
			recipient, err := tenon.NewIdentity(v.Identity)
			if err != nil {
				return vaultProblem(err)
			}
			a.note("note: the identity is in %s; keep a copy of it", v.Identity)
			if a.json() {
				a.printJSON(map[string]string{"identity": v.Identity, "recipient": recipient})
				return nil
			}
			a.printText(recipient + "\n")
			return nil
		},
	}
}

func secretsSet(a *app, in *vaultFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Keep a secret that is read from standard input",
		Long: "Keep a secret under a name, or another value under the same name. The value is read from standard input, without\n" +
			"its last line end; on a terminal it is asked for and not shown. It is never an argument: others see those.",
		Example: "  tenon secrets set GITHUB_TOKEN < token.txt\n  pass show github | tenon secrets set GITHUB_TOKEN",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 { // it is not repeated: it may be the value
				return &problem{
					kind: tool.Invalid, text: "the value of a secret is no argument, since others on this machine see those",
					hint: "give it on standard input: tenon secrets set NAME < FILE",
				}
			}
			return exactly("NAME")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.vault(in)
			if err != nil {
				return err
			}
			value, err := a.secretValue(args[0])
			if err != nil {
				return err
			}
			if err := v.Set(args[0], value); err != nil {
				return vaultProblem(err)
			}
			a.note("note: kept in %s; the configuration takes it with ${secret:%s}", v.File, args[0])
			return nil
		},
	}
}

func secretsList(a *app, in *vaultFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the names of the secrets",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.vault(in)
			if err != nil {
				return err
			}
			all, err := v.Read()
			if err != nil {
				return vaultProblem(err)
			}
			names := slices.Sorted(maps.Keys(all))
			if a.json() {
				a.printJSON(map[string]any{"file": v.File, "names": append([]string{}, names...)})
				return nil
			}
			for _, n := range names {
				a.printText(n + "\n")
			}
			return nil
		},
	}
}

func secretsRemove(a *app, in *vaultFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget a secret",
		Args:  exactly("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.vault(in)
			if err != nil {
				return err
			}
			return vaultProblem(v.Remove(args[0]))
		},
	}
}

// vault returns the file that a command is about.
func (a *app) vault(in *vaultFlags) (tenon.Vault, error) {
	v, err := tenon.OpenVault(tenon.Options{Config: a.configPath(), Env: a.Env})
	if err != nil {
		return v, err
	}
	v.File, v.Identity = cmp.Or(in.file, v.File), cmp.Or(in.identity, v.Identity)
	if v.File == "" {
		v.File = filepath.Join(a.ConfigDir, "tenon", "secrets.age")
	}
	return v, nil
}

// secretValue reads the value of a secret.
func (a *app) secretValue(name string) (string, error) {
	var text []byte
	var err error
	if f, ok := a.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(a.Stderr, "value of %s: ", name)
		text, err = term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.Stderr)
	} else {
		text, err = io.ReadAll(io.LimitReader(a.Stdin, maxSecret+1))
	}
	switch {
	case err != nil:
		return "", err
	case len(text) > maxSecret:
		return "", &problem{kind: tool.Invalid, text: fmt.Sprintf("the value is larger than %d KiB", maxSecret>>10)}
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// vaultProblem turns the error of a vault into what a person is told.
func vaultProblem(err error) error {
	if e, ok := errors.AsType[*tenon.VaultError](err); ok {
		p := &problem{kind: tool.Invalid, text: e.Text, hint: e.Hint, err: err}
		if p.hint == "" && errors.Is(err, fs.ErrNotExist) {
			p.hint = "tenon secrets set NAME begins it; secrets: {file: …} of the configuration names another one"
		}
		return p
	}
	return err
}

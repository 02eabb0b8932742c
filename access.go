package tenon

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/access"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// An Access tells callers apart by what they send.
type Access = access.Access

// A Refusal is the error of Access.Caller: what a front end answers with.
type Refusal = access.Refusal

// MetadataPath is where clients of MCP look for what they must know to get a token.
const MetadataPath = access.MetadataPath

// Access returns what tells the callers of front ends apart. It follows the
// configuration when that is read again.
func (g *Gateway) Access() *Access { return g.access }

// approverVariable holds the approver's token where the operator sets it.
const approverVariable = "TENON_APPROVER_TOKEN"

// OpenAccess returns who may call by the configuration of o, for a server that is
// no gateway. The caller must close it.
func OpenAccess(o Options) (*Access, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	a := accessOptions(cfg, o)
	a.Limits = nil // they are the gateway's
	return access.New(a), nil
}

// OpenKeys returns the file of keys that counts by the configuration of o.
func OpenKeys(o Options) (*Keys, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	path := keysPath(cfg, o.StateDir)
	if path == "" {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "there is no place for keys: set auth.keys in the configuration, or $HOME"}
	}
	keys := access.OpenKeys(path)
	keys.Limits, keys.Required = limitNames(cfg), cfg.Auth.Required
	for _, s := range skillsOf(cfg) {
		keys.Skills = append(keys.Skills, s.Name)
	}
	return keys, nil
}

// Keys is a file of API keys, for those who change it.
type Keys = access.Keys

// A Key is what is kept of an API key: all but the key.
type Key = access.Key

// A Scope is what a key allows.
type Scope = access.Scope

// shortest is the length from which on a secret is hidden: hiding each "true" would
// hide the log.
const shortest = 6

// guessable is how short an approver's token is that others may find by trying.
const guessable = 20

// openAccess returns who may call by a configuration. The approver's token is made
// where there is none yet and the gateway is there to stay.
func openAccess(cfg *config.Config, o Options, secrets *redact.Redactor) *access.Access {
	a := accessOptions(cfg, o)
	a.Approver = tool.NewSecret(strings.TrimSpace(variable(o.Env, approverVariable)))
	if o.Start {
		a.ApproverDir = o.StateDir
	}
	if n := len(a.Approver.Reveal()); o.Start && n > 0 && n < guessable {
		o.Logger.Warn("the approver's token in $" + approverVariable + " is so short that others may guess it: give it 20 characters of chance or more")
	}
	a.Learn = func(token tool.Secret) {
		if len(token.Reveal()) >= shortest {
			secrets.Learn([]tool.Secret{token})
		}
	}
	return access.New(a)
}

// follow makes a the access of another configuration.
func follow(a *access.Access, old, now *config.Config, o Options) {
	if !reflect.DeepEqual(old.Auth, now.Auth) || !slices.Equal(limitNames(old), limitNames(now)) {
		a.Configure(accessOptions(now, o))
	}
}

// accessOptions returns what a configuration says of who may call.
func accessOptions(cfg *config.Config, o Options) access.Options {
	out := access.Options{
		Keys: keysPath(cfg, o.StateDir), Required: cfg.Auth.Required, Limits: limitNames(cfg), Logger: o.Logger,
	}
	if p := cfg.Auth.OIDC; p != nil {
		grants := make([]access.ClaimGrant, len(p.Grants))
		for i, g := range p.Grants {
			grants[i] = access.ClaimGrant{Claim: g.Claim, Values: g.Values, Scope: access.Scope{
				Mode: g.Mode, Skills: g.Skills, Limits: g.Limits, Elicit: g.Elicit, Approver: g.Approver, Caller: g.Caller,
			}}
		}
		out.OIDC = &access.OIDC{
			Issuer: p.Issuer, Audience: p.Audience, Resource: p.Resource, Algorithms: p.Algorithms,
			ClockSkew: p.ClockSkew, Timeout: p.Timeout, Grants: grants,
		}
	}
	return out
}

// limitNames returns the names that the limits of a configuration have.
func limitNames(cfg *config.Config) []string {
	names := []string{}
	for _, l := range cfg.Policy.Limits {
		if l.Name != "" {
			names = append(names, l.Name)
		}
	}
	return names
}

// keysPath returns where the file of keys is; nothing where there is no place for it.
func keysPath(cfg *config.Config, stateDir string) string {
	if cfg.Auth.Keys != "" {
		return cfg.Auth.Keys
	}
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, "keys.json")
}

// ApproverToken returns the token that decides approvals, of the environment or of
// the state folder; the zero one where there is none.
func ApproverToken(o Options) (tool.Secret, error) {
	if token := strings.TrimSpace(variable(o.Env, approverVariable)); token != "" || o.StateDir == "" {
		return tool.NewSecret(token), nil
	}
	return access.ReadApprover(o.StateDir)
}

// StateDir returns the user's folder for Options.StateDir by an environment as
// os.Environ gives it, or nothing.
func StateDir(env []string) string {
	absolute := func(name string) string {
		if path := variable(env, name); filepath.IsAbs(path) {
			return path
		}
		return ""
	}
	home := absolute("HOME")
	switch {
	case absolute("XDG_STATE_HOME") != "":
		return filepath.Join(absolute("XDG_STATE_HOME"), "tenon")
	case runtime.GOOS == "windows" && absolute("LocalAppData") != "":
		return filepath.Join(absolute("LocalAppData"), "tenon", "state")
	case home == "" || runtime.GOOS == "windows":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "tenon")
	}
	return filepath.Join(home, ".local", "state", "tenon")
}

// variable returns a variable of an environment; of several the last one, which
// is what a process of its own would see.
func variable(env []string, name string) string {
	var value string
	for _, e := range env {
		key, v, _ := strings.Cut(e, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			value = v
		}
	}
	return value
}

package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Login is what `auth:` of a server entry says: how Tenon logs in there. It means
// nothing beside a header Authorization of the operator's own.
type Login struct {
	ClientID     string // of a client that is registered there, or the address of its metadata document
	ClientSecret tool.Secret
	ClientKey    tool.Secret // its private key in PEM, in place of the secret
	Scopes       []string
	RedirectPort int    // on loopback; 0 is any
	Flow         string // browser, device, paste, client_credentials; empty is browser
	PerCaller    bool   // each caller logs in, and has connections of its own
}

// login reads the key `auth` of a server.
func (e *entry) login(o *object) {
	n := o.key("auth")
	if n == nil || !e.strict && n.Kind != source.Map { // other programs have a key of this name too
		return
	}
	a := &Login{}
	e.server.Care.Login = a
	in := newObject(n, o.ex, o.to)
	in.text("client_id", &a.ClientID)
	for key, to := range map[string]*tool.Secret{"client_secret": &a.ClientSecret, "client_key": &a.ClientKey} {
		var secret string
		if at := in.seen[key]; at != nil {
			at.Hide()
		}
		in.text(key, &secret)
		*to = tool.NewSecret(secret)
	}
	someTexts(in, "scopes", &a.Scopes)
	for _, s := range a.Scopes {
		if strings.ContainsAny(s, " \"\\") {
			in.fail(in.seen["scopes"], fmt.Sprintf("%q is no scope", clip(s)), "write a list: [read, write]")
		}
	}
	in.integer("redirect_port", 0, 65535, &a.RedirectPort)
	flows := []string{"browser", "device", "paste", "client_credentials"}
	in.enum("flow", words(flows...), flows, &a.Flow)
	var per string
	in.enum("per", words("server", "caller"), []string{"server", "caller"}, &per)
	a.PerCaller = per == "caller"
	checkLogin(e, in, a)
	if e.strict {
		in.refuse()
	}
}

// checkLogin looks at what goes together.
func checkLogin(e *entry, in *object, a *Login) {
	machine := a.Flow == "client_credentials"
	switch {
	case machine && (a.ClientID == "" || a.ClientSecret.Reveal() == "" && a.ClientKey.Reveal() == ""):
		in.fail(in.at("flow"), "flow client_credentials wants client_id, and client_secret or client_key", "they are those of a client that is registered at the server")
	case a.ClientKey.Reveal() != "" && (!machine || a.ClientSecret.Reveal() != ""):
		in.fail(in.at("client_key"), "client_key goes with flow: client_credentials, and in place of client_secret", "")
	case machine && a.PerCaller:
		in.fail(in.at("per"), "per: caller means nothing with flow client_credentials", "its client is the same for all callers")
	case a.ClientSecret.Reveal() != "" && a.ClientID == "":
		in.fail(in.at("client_secret"), "client_secret means nothing without client_id", "")
	}
	if u, err := url.Parse(a.ClientID); err == nil && u.Scheme != "" && u.Host != "" && (u.Scheme != "https" || strings.Trim(u.Path, "/") == "") {
		in.fail(in.at("client_id"), "the address of a metadata document is https, and has a path", "")
	}
	for name := range e.server.Headers {
		if strings.EqualFold(name, "Authorization") {
			in.fail(in.n, "auth means nothing beside a header Authorization", "leave out one of them")
		}
	}
	if !a.PerCaller {
		return
	}
	switch {
	case e.places["isolation"] == nil:
		e.server.Isolation = IsolationSession
	case e.server.Isolation == IsolationShared:
		in.fail(in.at("per"), "per: caller does not go with isolation: shared", "callers with logins of their own share no connection: leave isolation out, or write session")
	}
}

// shown is what a file would say, with every secret as dots.
func (a *Login) shown() map[string]any {
	if a == nil {
		return nil
	}
	out := map[string]any{}
	for key, v := range map[string]string{"client_id": a.ClientID, "flow": a.Flow} {
		if v != "" {
			out[key] = v
		}
	}
	if a.ClientSecret.Reveal() != "" {
		out["client_secret"] = a.ClientSecret
	}
	if a.ClientKey.Reveal() != "" {
		out["client_key"] = a.ClientKey
	}
	if len(a.Scopes) > 0 {
		out["scopes"] = a.Scopes
	}
	if a.RedirectPort > 0 {
		out["redirect_port"] = a.RedirectPort
	}
	if a.PerCaller {
		out["per"] = "caller"
	}
	return out
}

package config

import (
	"net"
	"net/url"
	"time"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Approvals is the part `approvals:` of the section policy: how a person is asked.
// What is zero is left to those who ask.
type Approvals struct {
	Timeout     time.Duration `json:",omitzero"`
	MaxPending  int           `json:",omitzero"`
	Elicitation Elicitation   `json:",omitempty"`
	Webhook     *Webhook      `json:",omitempty"` // nil tells nobody
}

// Elicitation says whose own program may put a question to its person.
type Elicitation string

// Whose.
const (
	ElicitLocal Elicitation = "local" // callers without a credential, and those whose credential says so; the default
	ElicitOn    Elicitation = "on"
	ElicitOff   Elicitation = "off"
)

// A Webhook is told of each question.
type Webhook struct {
	URL    string
	Secret tool.Secret // signs what it is told
}

// shortestKey is how long the secret of a webhook is at least.
const shortestKey = 16

// approvals reads the part of that name.
func (s guards) approvals(o *object) {
	n := o.key("approvals")
	if n == nil {
		return
	}
	a := &s.cfg.Policy.Approvals
	in := newObject(n, o.ex, o.to)
	in.duration("timeout", time.Second, 24*time.Hour, &a.Timeout)
	in.integer("max_pending", 1, 10_000, &a.MaxPending)
	all := []string{string(ElicitLocal), string(ElicitOn), string(ElicitOff)}
	if at := in.seen["elicitation"]; at != nil && at.Kind == source.Bool { // YAML 1.1 reads on and off so
		in.key("elicitation")
		a.Elicitation = ElicitOn
		if isOff(at) {
			a.Elicitation = ElicitOff
		}
	} else {
		in.enum("elicitation", words(all...), all, (*string)(&a.Elicitation))
	}
	if at := in.key("webhook"); at != nil {
		a.Webhook = s.webhook(newObject(at, in.ex, in.to))
	}
	in.refuse()
}

// webhook reads the section of that name.
func (s guards) webhook(in *object) *Webhook {
	w := &Webhook{}
	if at := in.seen["url"]; at != nil {
		at.Hide() // many a webhook has its key in there
	}
	in.text("url", &w.URL)
	if at := in.seen["url"]; at != nil && w.URL != "" && !isSafeURL(w.URL) {
		in.fail(at, "url wants an address of https, or of this machine, without a user in it", "the arguments of calls are sent there")
	}
	var secret string
	if at := in.seen["secret"]; at != nil {
		at.Hide()
	}
	in.text("secret", &secret)
	w.Secret = tool.NewSecret(secret)
	s.secrets[secret] = true
	switch at := in.seen["secret"]; {
	case !in.has("url"):
		in.fail(in.n, "webhook wants url", "")
	case at == nil:
		in.fail(in.n, "webhook wants secret", "what it is told is signed with it, so that nobody else can tell it anything: ${env:TENON_WEBHOOK_SECRET}")
	case len(secret) < shortestKey:
		in.fail(at, "secret is shorter than 16 characters", "make one with: openssl rand -hex 32")
	}
	in.refuse()
	return w
}

// isSafeURL reports whether nobody on the way to an address can listen.
func isSafeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

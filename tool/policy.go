package tool

import "slices"

// Mode is how much a caller may do without asking.
type Mode string

// The modes, from the laxest to the strictest.
const (
	ModeBypass         Mode = "bypass"          // what no guard of its own forbids
	ModeNormal         Mode = "normal"          // all but what is high-risk, unless that block is off
	ModeAskDestructive Mode = "ask_destructive" // a person is asked for what may do harm
	ModeReadOnly       Mode = "read_only"       // only what reads
)

// Modes are all modes, from the laxest to the strictest.
func Modes() []Mode { return []Mode{ModeBypass, ModeNormal, ModeAskDestructive, ModeReadOnly} }

// Stricter returns whichever of two modes allows less. An empty one says nothing.
func (m Mode) Stricter(n Mode) Mode {
	all := Modes()
	if slices.Index(all, n) > slices.Index(all, m) {
		return n
	}
	return m
}

// Behavior is what is decided about a call.
type Behavior string

// The behaviours, from the laxest to the strictest.
const (
	Allow Behavior = "allow"
	Ask   Behavior = "ask" // a person decides
	Deny  Behavior = "deny"
)

// A Decision says what a caller may do with a tool, and why. It is immutable.
type Decision struct {
	Behavior Behavior `json:"behavior"`
	// ReasonType is the rule that decided: blacklist, stopped, definition,
	// skill_allowlist, rule_param, guardrail_high, guardrail_notify,
	// mode_read_only, mode_ask, mode_bypass, taint, content_rule, limit or ok.
	ReasonType  string   `json:"reason_type"`
	Reason      string   `json:"reason"` // for the model: a sentence that says what to do next
	Suggestions []string `json:"suggestions,omitempty"`
	// Chain holds every rule that was asked, in order, the last one being the one
	// that decided. It is kept where a call was not simply allowed, and by explain.
	Chain []Step `json:"chain,omitempty"`
}

// A Step is one rule of a Decision and what it said.
type Step struct {
	Rule    string   `json:"rule"`              // a reason type
	Verdict Behavior `json:"verdict,omitempty"` // empty where the rule left it to the next
	Text    string   `json:"text"`
}

// Label says what a tool does with data, for taint tracking.
type Label string

// The labels.
const (
	LabelPrivate   Label = "private"   // gives data that must not leave
	LabelUntrusted Label = "untrusted" // gives text that strangers wrote
	LabelEgress    Label = "egress"    // can send data out
)

// A Grant is what a credential allows, and holds its bearer to. It is immutable.
type Grant struct {
	Key      string   // its id, for records; never the credential
	Mode     Mode     // the laxest mode of the bearer; empty is that of the configuration
	Skills   []string // the skills that the bearer may choose; empty is any. With one, that is the default
	Limits   string   // name of the limits of the configuration that hold for the bearer; empty is none
	Elicit   bool     // the bearer's own client may put a question of approval to its person
	Approver bool     // may decide approvals and stop tools, and nothing else unless Caller too
	Caller   bool     // may call tools
}

// Package tool is the vocabulary that all parts of Tenon share: a tool and what
// is known of it, a call, its result, and the kinds of error. It is a leaf: it
// imports nothing else of the module, and holds no behaviour beyond reading and
// printing its own values.
//
// A tool keeps its server's JSON as it came. Stages read the few fields that
// they need; what they do not know passes through untouched.
package tool

import (
	"cmp"
	"encoding/json"
	"time"
)

// An ID names one tool of the pool: the configured name of its server and the
// tool's own name there.
type ID struct {
	Server string
	Name   string
}

// String returns "server/name".
func (id ID) String() string { return id.Server + "/" + id.Name }

// A Tool is one tool as its server listed it. It is immutable once it is part
// of a catalog. The raw fields alias Raw.
type Tool struct {
	ID
	Title       string
	Description string
	Schema      json.RawMessage // inputSchema as it came; nil where the server sent none
	Output      json.RawMessage // outputSchema, or nil
	Annotations json.RawMessage // annotations, or nil
	Raw         json.RawMessage // the whole tool object, byte for byte
	Meta        Meta
	// Held says why the tool may not be used although its server offers it: its
	// definition is not the one that was accepted. Empty for all others.
	Held string
	// Needs are the capabilities of a client, apart by spaces, without which the server
	// does not offer the tool to it. Empty is for all.
	Needs string
}

// SideEffect says where a tool acts beyond its answer.
type SideEffect string

// The side effects.
const (
	EffectNone       SideEffect = "none"
	EffectExternal   SideEffect = "external"
	EffectFilesystem SideEffect = "filesystem"
	EffectNetwork    SideEffect = "network"
)

// RiskLevel is how much harm a tool can do.
type RiskLevel string

// The risk levels.
const (
	RiskLow    RiskLevel = "low"
	RiskMedium RiskLevel = "medium"
	RiskHigh   RiskLevel = "high"
)

// Meta is what the operator, or Tenon for a bundled tool, declares of a tool.
// Its defaults fail closed: see DefaultMeta.
type Meta struct {
	// Registered is false where nobody declared anything, so all else is a default.
	Registered      bool       `json:"registered"`
	ReadOnly        bool       `json:"read_only"`
	ConcurrencySafe bool       `json:"concurrency_safe"`
	Destructive     bool       `json:"destructive"`
	Idempotent      bool       `json:"idempotent"`
	Notification    bool       `json:"is_notification"`
	SideEffect      SideEffect `json:"side_effect"`
	RiskLevel       RiskLevel  `json:"risk_level"`
	// MaxResultChars bounds the text of an answer, in runes; 0 is no limit.
	MaxResultChars int    `json:"max_result_chars"`
	SearchHint     string `json:"search_hint,omitempty"`
	// ReadOnlyFor is an expression (CEL) over `args` that is true for arguments with
	// which the tool only reads; empty where there are none. See ReadOnly for all.
	ReadOnlyFor string `json:"is_read_only_for_input,omitempty"`
	// Labels say what the tool does with data.
	Labels []Label `json:"labels,omitempty"`
	// Spend is what one call costs, in units of the operator's choice.
	Spend float64 `json:"spend,omitempty"`
	// AsksModels is set where calls may ask models that are paid for: budgets of models
	// hold for it.
	AsksModels bool `json:"-"`
	// Timeout bounds one call; 0 is the gateway's default.
	Timeout time.Duration `json:"-"`
	// Exclusive is set where somebody declared that the tool is not
	// concurrency-safe, which its default does not say: then two calls of it never
	// overlap within one session.
	Exclusive bool `json:"-"`
}

// DefaultMaxResultChars bounds the answer of a tool that declares nothing.
const DefaultMaxResultChars = 16_000

// DefaultMeta returns the metadata of a tool that nobody declared: not read-only,
// not concurrency-safe.
func DefaultMeta() Meta {
	return Meta{SideEffect: EffectNone, RiskLevel: RiskLow, MaxResultChars: DefaultMaxResultChars}
}

// RiskUnknown is the risk of a tool of which nobody has said anything.
const RiskUnknown RiskLevel = "unknown"

// Risk returns the risk that counts: a tool that destroys is a high one, whatever level
// was declared, and of one that nobody declared none is known.
func (m *Meta) Risk() RiskLevel {
	switch {
	case m.Destructive || m.RiskLevel == RiskHigh:
		return RiskHigh
	case !m.Registered:
		return RiskUnknown
	}
	return cmp.Or(m.RiskLevel, RiskLow)
}

// SaysItReads reports whether the server says of its tool that it only reads. Whether it
// is believed is in Meta.
func (t Tool) SaysItReads() bool {
	var says struct {
		ReadOnly any `json:"readOnlyHint"`
	}
	return json.Unmarshal(t.Annotations, &says) == nil && says.ReadOnly == true
}

// State is where a server is in its life.
type State string

// The states of a server.
const (
	StateReady      State = "ready"
	StateStarting   State = "starting"
	StateInstalling State = "installing" // first start of a package runner, which may download
	StateIdle       State = "idle"       // known, not running: started on its next use
	StateFailed     State = "failed"
	StateStopped    State = "stopped"
)

// A ServerStatus is the state of one server of the pool at one moment.
type ServerStatus struct {
	Name      string     `json:"name"`
	State     State      `json:"state"`
	Reason    string     `json:"reason,omitempty"` // why it failed, on one line
	Since     time.Time  `json:"since"`
	NextTry   *time.Time `json:"next_try,omitempty"`
	Tools     int        `json:"tools"`
	Restarts  int        `json:"restarts"`
	Transport string     `json:"transport"`         // stdio, streamable-http, sse, in-process, bundled
	Era       string     `json:"era"`               // legacy, modern, or empty while unknown
	Stderr    string     `json:"stderr,omitempty"`  // the last of it
	Running   int        `json:"running,omitempty"` // calls
	Queued    int        `json:"queued,omitempty"`  // calls that wait for their turn
	// RememberedAt is set while the tools are those of an earlier run.
	RememberedAt *time.Time `json:"remembered_at,omitempty"`
	// Concerns are what an operator should know of the definitions of its tools: that
	// they are not the accepted ones, or may hold hidden instructions.
	Concerns []string `json:"concerns,omitempty"`
}

// A Listing is what the pool offers to one caller, by server, in the order of
// the configuration.
type Listing struct {
	Servers []ServerTools `json:"servers"`
}

// ServerTools is one server of a Listing. A server that failed has an Error and
// keeps the tools that it last listed, if any.
type ServerTools struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Error string `json:"error,omitempty"`
	// RememberedAt is set while Tools are those of an earlier run: when the server
	// last gave them.
	RememberedAt *time.Time `json:"remembered_at,omitempty"`
	Tools        []Tool     `json:"tools"`
	// Withheld are tools that are kept from who looks. Only who decides on the policy
	// is told of them.
	Withheld []Withheld `json:"withheld,omitempty"`
}

// A Withheld is a tool that is not offered, and why.
type Withheld struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Rule is the one that decided.
	Rule string `json:"reason_type"`
	// Opens says what an operator can write so that it is not; empty where nothing does.
	Opens string `json:"opens,omitempty"`
}

// MarshalJSON prints the tool as the listing shows it; schemas as they came.
func (t Tool) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name        string          `json:"name"`
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Output      json.RawMessage `json:"output_schema,omitempty"`
		Annotations json.RawMessage `json:"annotations,omitempty"`
		Meta        Meta            `json:"meta"`
	}{t.Name, t.Title, t.Description, t.Schema, t.Output, t.Annotations, t.Meta})
}

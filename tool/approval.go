package tool

import (
	"context"
	"encoding/json"
	"time"
)

// ApprovalStatus is where a request for approval is in its life. It leaves
// pending once, and for good.
type ApprovalStatus string

// The statuses.
const (
	ApprovalPending  ApprovalStatus = "pending"
	ApprovalApproved ApprovalStatus = "approved"
	ApprovalDenied   ApprovalStatus = "denied"
	ApprovalTimeout  ApprovalStatus = "timeout"   // nobody decided in time
	ApprovalCanceled ApprovalStatus = "cancelled" // the call ended before
)

// ApprovalScope is how far an approval reaches.
type ApprovalScope string

// The scopes.
const (
	ScopeOnce    ApprovalScope = "once"    // this call with these arguments
	ScopeSession ApprovalScope = "session" // every call of this tool by the caller in this session
	ScopePattern ApprovalScope = "pattern" // every call of the session whose arguments match Approval.Pattern
)

// An Approval is a call that waits, or waited, for a person.
type Approval struct {
	ID        string          `json:"id"` // "apv_…"
	Status    ApprovalStatus  `json:"status"`
	CallID    string          `json:"call_id"`
	Caller    Caller          `json:"caller"`
	Session   string          `json:"session,omitempty"`
	Task      string          `json:"task_id,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Server    string          `json:"server_name"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`      // all of them, secrets masked
	Hash      string          `json:"arguments_hash"` // SHA-256 of the exact arguments
	Rule      string          `json:"reason_type"`    // the rule that wants a person: a reason type of a Decision
	Reason    string          `json:"reason"`
	Impact    string          `json:"impact"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`

	Scope     ApprovalScope   `json:"scope,omitempty"`
	Pattern   json.RawMessage `json:"pattern,omitempty"` // argument name → glob
	DecidedBy string          `json:"decided_by,omitempty"`
	DecidedAt *time.Time      `json:"decided_at,omitempty"`
	Why       string          `json:"decision_reason,omitempty"`
	UsedBy    string          `json:"used_by,omitempty"` // the call that ran on it; one for scope once
}

// A Verdict is what a person said.
type Verdict struct {
	Approved bool
	Scope    ApprovalScope // empty is once
	Pattern  json.RawMessage
	By       string // who; for the record
	Why      string
}

// A Person can be asked through the caller's own program.
type Person interface {
	// Ask puts the question and waits for the answer, at most until ctx ends. The
	// error says that there was none: the question stays open for others. A
	// *Deferred says that the answer comes with a repetition of the call, so that
	// this one need not wait.
	Ask(ctx context.Context, a Approval) (Verdict, error)
}

// Deferred is why a call ends that waits for a person: its caller has the question,
// and repeats the call with the answer. The question stays open.
type Deferred struct{ Approval Approval }

// Error says so.
func (d *Deferred) Error() string {
	return "the call waits for approval " + d.Approval.ID + ": repeat it with the answer"
}

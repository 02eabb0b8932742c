package tool

import (
	"encoding/json"
	"time"
)

// A Call asks for one execution of a tool. The zero value of a field means that
// the caller has no wish; Tool is the only one that must be set.
type Call struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object, or empty
	Session   string          `json:"session,omitempty"`   // at most 255 bytes that are printed
	Skill     string          `json:"skill,omitempty"`
	Task      string          `json:"task_id,omitempty"` // likewise
	// IdempotencyKey makes a call that is repeated with the same key and arguments
	// answer with what came of the first one, in place of running twice. At most
	// 255 bytes, of the caller's choice.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// Mode is a mode that this call asks for. It can only make the caller's own one
	// stricter.
	Mode    Mode          `json:"mode,omitempty"`
	Timeout time.Duration `json:"-"` // for the whole call; 0 is the default of the tool
	Caller  Caller        `json:"-"`

	// Params are the params of an MCP tools/call as the client sent them. What
	// the gateway need not rewrite reaches the server byte for byte. Where Params
	// is set, Arguments is the part of it with that name.
	Params json.RawMessage `json:"-"`
	// Progress receives the params of each progress notification, with the
	// caller's own token where Params had one. It must return quickly.
	Progress func(params json.RawMessage) `json:"-"`
	// Person reaches the person behind the caller, where the caller's program can
	// put a question to one. Nil cannot.
	Person Person `json:"-"`
	// Peer is the way back to the caller's program, where it is an MCP client. Nil is
	// none.
	Peer Peer `json:"-"`
	// Origin is what the gateway knows of that program; it is the gateway's to set. One
	// with a method TakesInterim that says so takes results that are not the end.
	Origin any `json:"-"`
}

// A Caller is who calls: the zero value is the local user.
type Caller struct {
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // go, cli, rest, mcp
	// Through is the gateway's own tool that the call was made with, if any; it is the
	// gateway's to set.
	Through string `json:"-"`
	// Grant is what the caller's credential allows; nil is the local user, whom the
	// configuration alone holds to something.
	Grant *Grant `json:"-"`
}

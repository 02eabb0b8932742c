package mcp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// elicitedBy is who decided, where a client put the question to its person.
const elicitedBy = "the person at the client"

// Words of the form.
const (
	allowOnce    = "allow once"
	allowSession = "allow for this session"
	deny         = "deny"
)

// maxShown is how long the arguments are that a client's form can be trusted to show.
// Who calls with more waits for somebody with another tool.
const maxShown = 16 << 10

var errTooLong = errors.New("the arguments are too long for a form")

// question returns the params of elicitation/create.
func question(a tool.Approval) ([]byte, error) {
	if len(a.Arguments) > maxShown {
		return nil, errTooLong
	}
	a = tenon.ShownApproval(a)
	args := bytes.NewBuffer(nil)
	if json.Indent(args, a.Arguments, "", "  ") != nil {
		args = bytes.NewBuffer(a.Arguments)
	}
	choices := []string{allowOnce, deny}
	if a.Session != "" {
		choices = []string{allowOnce, allowSession, deny}
	}
	who := "This client"
	if a.Caller.Name != "" {
		who = "The caller " + a.Caller.Name
	}
	return json.Marshal(map[string]any{
		"mode": "form",
		"message": fmt.Sprintf("%s asks to run %s of %s, and a person has to approve that.\n\nImpact: %s\nWhy you are asked: %s\nArguments:\n%s\n\n"+
			"This question ends at %s (approval %s).", who, a.Tool, a.Server, a.Impact, a.Reason, args, a.ExpiresAt.UTC().Format(time.RFC3339), a.ID),
		"requestedSchema": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"decision": map[string]any{"type": "string", "title": "Decision", "description": "Whether the call may run", "enum": choices},
				"reason":   map[string]any{"type": "string", "title": "Reason", "description": "Why; the model is told", "maxLength": 500},
			},
			"required": []string{"decision"},
		},
	})
}

// verdict reads what came of elicitation/create. Whoever dismisses a question has not
// approved the call.
func verdict(result []byte, a tool.Approval) (tool.Verdict, error) {
	var r struct {
		Action  string `json:"action"`
		Content struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"content"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return tool.Verdict{}, fmt.Errorf("answer to the question: %w", err)
	}
	v := tool.Verdict{By: elicitedBy, Why: r.Content.Reason}
	switch r.Action {
	case "decline":
		return v, nil
	case "cancel":
		v.Why = "the question was dismissed"
		return v, nil
	case "accept":
	default:
		return v, fmt.Errorf("answer to the question: there is no action %q", r.Action)
	}
	switch r.Content.Decision {
	case allowOnce:
		v.Approved = true
	case allowSession:
		if v.Approved = true; a.Session != "" {
			v.Scope = tool.ScopeSession
		}
	case deny:
	default:
		return v, fmt.Errorf("answer to the question: there is no decision %q", r.Content.Decision)
	}
	return v, nil
}

// asker is the person behind a legacy client.
type asker struct{ x *wire.Exchange }

// Ask implements tool.Person.
func (p asker) Ask(ctx context.Context, a tool.Approval) (tool.Verdict, error) {
	params, err := question(a)
	if err != nil {
		return tool.Verdict{}, err
	}
	result, err := p.x.Ask(ctx, "elicitation/create", params)
	if err != nil {
		return tool.Verdict{}, err
	}
	return verdict(result.Join(), a)
}

// elicits reports whether capabilities of a client say that it can show a form.
func elicits(capabilities []byte) bool {
	var c struct {
		Elicitation map[string]json.RawMessage `json:"elicitation"`
	}
	if json.Unmarshal(capabilities, &c) != nil || c.Elicitation == nil {
		return false
	}
	_, form := c.Elicitation["form"]
	return form || len(c.Elicitation) == 0 // before 2025-11-25 there was nothing else
}

// firstElicitation is the version that has elicitation.
const firstElicitation = "2025-06-18"

// answerKey is what the question has as its name in a modern result.
const answerKey = "approval"

// A state is what a modern client gives back with the answer. It is signed, and binds
// the answer to one question of one caller about one call.
type state struct {
	ID      string `json:"id"` // of the approval
	Caller  string `json:"caller"`
	Key     string `json:"key,omitempty"` // of the caller's credential
	Call    string `json:"call"`          // hash of the call as it was sent
	Hash    string `json:"hash"`          // of the arguments that were approved
	Expires int64  `json:"exp"`
}

// sign returns a state as text.
func (s *Server) sign(st state) (string, error) {
	body, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString(body) + "." + enc.EncodeToString(s.mac(body)), nil
}

func (s *Server) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	_, _ = h.Write(body) // a hash takes all
	return h.Sum(nil)
}

// opened returns the state of a text that this server has signed.
func (s *Server) opened(text string) (*state, bool) {
	enc := base64.RawURLEncoding.Strict()
	body, sum, ok := strings.Cut(text, ".")
	if !ok {
		return nil, false
	}
	raw, err := enc.DecodeString(body)
	if err != nil {
		return nil, false
	}
	mac, err := enc.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, s.mac(raw)) {
		return nil, false
	}
	var st state
	err = json.Unmarshal(raw, &st)
	return &st, err == nil
}

// hashOfCall returns the hash of a call as it was sent.
func hashOfCall(name string, args []byte) string {
	h := sha256.New()
	compact := bytes.NewBuffer(nil)
	if json.Compact(compact, args) != nil {
		compact = bytes.NewBuffer(args)
	}
	fmt.Fprintf(h, "%d:%s%s", len(name), name, compact.Bytes())
	return hex.EncodeToString(h.Sum(nil))
}

// A returning is the person behind a modern client, which takes the question with it
// and comes again with the answer.
type returning struct {
	state  *state // nil for the first time
	answer []byte // nil where the client has none yet
}

// Ask implements tool.Person.
func (p *returning) Ask(_ context.Context, a tool.Approval) (tool.Verdict, error) {
	if len(a.Arguments) > maxShown {
		return tool.Verdict{}, errTooLong
	}
	if p.state != nil && p.state.ID == a.ID && p.state.Hash == a.Hash && p.answer != nil {
		answer := p.answer
		p.answer = nil // it answers one question
		return verdict(answer, a)
	}
	return tool.Verdict{}, &tool.Deferred{Approval: a}
}

// inputRequired is the result of a call whose client is to come again.
func (s *Server) inputRequired(a tool.Approval, caller tool.Caller, call string) ([]byte, *jsonrpc.Error) {
	params, err := question(a)
	var text string
	if err == nil {
		st := state{ID: a.ID, Caller: caller.Name, Call: call, Hash: a.Hash, Expires: a.ExpiresAt.Unix()}
		if caller.Grant != nil {
			st.Key = caller.Grant.Key
		}
		text, err = s.sign(st)
	}
	if err != nil {
		s.o.Logger.Error("question cannot be put to a client", "approval", a.ID, "error", err)
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the question cannot be put")
	}
	out := append([]byte(`{"resultType":"input_required","inputRequests":{"`+answerKey+`":{"method":"elicitation/create","params":`), params...)
	return append(jsonrpc.Quote(append(out, `}},"requestState":`...), text), '}'), nil
}

// returned reads what a client has come again with, and makes the call what it was
// without that.
func (h *handler) returned(ctx context.Context, c *tool.Call, call string, requestState, responses []byte) (*returning, *jsonrpc.Error) {
	refuse := func(why string) (*returning, *jsonrpc.Error) {
		return nil, invalid(true, "requestState is refused: %s. Make the call anew, without requestState and inputResponses.", why)
	}
	text, _ := jsonrpc.String(requestState)
	st, ok := h.opened(text)
	switch {
	case !ok:
		return refuse("this gateway has not made it, or has started again since")
	case time.Now().Unix() >= st.Expires:
		return refuse("it has expired")
	case st.Caller != c.Caller.Name || c.Caller.Grant != nil && st.Key != c.Caller.Grant.Key || c.Caller.Grant == nil && st.Key != "":
		return refuse("it was given to another caller")
	case st.Call != call:
		return refuse("it belongs to another call, or to other arguments")
	}
	a, err := h.gw.Approvals().Get(ctx, st.ID)
	switch {
	case errors.Is(err, tenon.ErrNoApproval):
		return refuse("its approval is gone")
	case err != nil:
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
	case a.UsedBy != "":
		return refuse("its answer was used")
	case a.Status == tool.ApprovalTimeout || a.Status == tool.ApprovalCanceled:
		return refuse("its approval is over (" + string(a.Status) + ")")
	}
	var all map[string]json.RawMessage
	if len(responses) > 0 && json.Unmarshal(responses, &all) != nil {
		return nil, invalid(true, "inputResponses is no object")
	}
	return &returning{st, all[answerKey]}, nil
}

// modernElicits reports whether the _meta of a modern request says that its client can
// show a form.
func modernElicits(meta tool.Bytes) bool {
	raw := meta.Join()
	if !bytes.Contains(raw, []byte(`"elicitation"`)) { // most have none, and need not be read
		return false
	}
	var span [1]jsonrpc.Span
	b := tool.OneOf(raw)
	return jsonrpc.Members(b, []string{era.MetaCapabilities}, span[:]) == nil && span[0].Found() && elicits(span[0].In(b).Join())
}

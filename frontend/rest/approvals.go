package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

type approvalList struct {
	Items []tool.Approval `json:"items"`
}

const maxApprovals = 200

// approvals is the part of the API for the person who is asked.
type approvals struct{ gw *tenon.Gateway }

// list gives those that wait, or the last ones.
func (a approvals) list(r *http.Request, _ tool.Caller) (response, error) {
	q, err := query(r, "status", "limit")
	if err != nil {
		return response{}, err
	}
	n, err := limit(q, 100, maxApprovals)
	if err != nil {
		return response{}, err
	}
	var items []tool.Approval
	switch status := q.Get("status"); status {
	case "", "pending":
		items, err = a.gw.Approvals().Pending(r.Context(), n)
	case "recent":
		items, err = a.gw.Approvals().Recent(r.Context(), n)
	default:
		return response{}, &Error{Text: fmt.Sprintf("status: must be pending or recent, not %q", status), Kind: tool.Invalid}
	}
	if err != nil {
		return response{}, err
	}
	if items == nil {
		items = []tool.Approval{}
	}
	for i := range items {
		items[i] = tenon.ShownApproval(items[i])
	}
	b, err := marshal(approvalList{items})
	return response{contentType: typeJSON, body: b}, err
}

func (a approvals) get(r *http.Request, _ tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	p, err := a.gw.Approvals().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return response{}, undecided(err)
	}
	b, err := marshal(tenon.ShownApproval(p))
	return response{contentType: typeJSON, body: b}, err
}

// decide takes what a person said.
func (a approvals) decide(r *http.Request, caller tool.Caller) (response, error) {
	body, err := readBody(r)
	if err != nil {
		return response{}, err
	}
	v, err := decodeVerdict(body)
	if err != nil {
		return response{}, err
	}
	id := r.PathValue("id")
	p, err := a.gw.Approvals().Get(r.Context(), id)
	if err != nil {
		return response{}, undecided(err)
	}
	if p.Caller.Name != "" && p.Caller.Name == caller.Name {
		return response{}, a.gw.Access().Forbidden(r, "this credential has made the call itself: another one has to decide about it")
	}
	v.By = caller.Name
	if p, err = a.gw.Approvals().Decide(r.Context(), id, v); err != nil {
		return response{}, undecided(err)
	}
	b, err := marshal(tenon.ShownApproval(p))
	return response{contentType: typeJSON, body: b}, err
}

// undecided gives the errors of approvals their status.
func undecided(err error) error {
	e := &Error{Text: err.Error(), Kind: tool.KindOf(err)}
	switch {
	case errors.Is(err, tenon.ErrDecided):
		e.status = http.StatusConflict
	case errors.Is(err, tenon.ErrExpired):
		e.status = http.StatusGone
	case errors.Is(err, tenon.ErrNoApproval):
	case e.Kind == tool.Invalid:
		e.status = http.StatusUnprocessableEntity // its form is right, and it does not fit the call
	default:
		return err
	}
	return e
}

// decodeVerdict reads the JSON of a verdict: an object with decision, and where wanted
// scope, pattern and reason.
func decodeVerdict(body []byte) (tool.Verdict, error) {
	var members map[string]json.RawMessage
	if err := decodeObject(body, &members); err != nil {
		return tool.Verdict{}, err
	}
	var v tool.Verdict
	var decision string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		var err error
		switch key {
		case "decision":
			err = setString(&decision, members[key])
		case "scope":
			err = setString((*string)(&v.Scope), members[key])
		case "reason":
			err = setString(&v.Why, members[key])
		case "pattern":
			v.Pattern = members[key]
			var texts map[string]string
			if json.Unmarshal(v.Pattern, &texts) != nil || texts == nil {
				err = errors.New("must be an object of texts: names of arguments, and what they may be")
			}
		default:
			err = errors.New("is no member here; known: decision, scope, pattern, reason")
		}
		if err != nil {
			return tool.Verdict{}, invalid("/"+pointerToken(key), err)
		}
	}
	switch {
	case decision != "approved" && decision != "denied":
		return tool.Verdict{}, invalid("/decision", errors.New("must be approved or denied"))
	case !slices.Contains([]tool.ApprovalScope{"", tool.ScopeOnce, tool.ScopeSession, tool.ScopePattern}, v.Scope):
		return tool.Verdict{}, invalid("/scope", fmt.Errorf("must be once, session or pattern, not %q", v.Scope))
	case len(v.Why) > maxStopText:
		return tool.Verdict{}, invalid("/reason", fmt.Errorf("is longer than %d bytes", maxStopText))
	}
	v.Approved = decision == "approved"
	return v, nil
}

// Approvals is the part of a Client for the person who is asked. All of it needs an
// approver's credential.
type Approvals struct{ c *Client }

// Approvals returns the approvals of the gateway.
func (c *Client) Approvals() Approvals { return Approvals{c} }

// List returns those that wait, or with recent the last ones, newest first.
func (p Approvals) List(ctx context.Context, recent bool, limit int) ([]tool.Approval, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if recent {
		q.Set("status", "recent")
	}
	var out approvalList
	err := p.c.get(ctx, "/approvals", q, &out)
	return out.Items, err
}

// Get returns one.
func (p Approvals) Get(ctx context.Context, id string) (tool.Approval, error) {
	var out tool.Approval
	err := p.c.get(ctx, "/approvals/"+url.PathEscape(id), nil, &out)
	return out, err
}

// Decide decides one that waits. The gateway knows by the credential who does.
func (p Approvals) Decide(ctx context.Context, id string, v tool.Verdict) (tool.Approval, error) {
	in := verdict{Decision: "denied", Reason: v.Why}
	if v.Approved {
		in.Decision, in.Scope, in.Pattern = "approved", v.Scope, v.Pattern
	}
	var out tool.Approval
	err := p.c.post(ctx, 0, "/approvals/"+url.PathEscape(id)+"/decide", in, &out)
	return out, err
}

// verdict is a tool.Verdict as the API takes it.
type verdict struct {
	Decision string             `json:"decision"`
	Scope    tool.ApprovalScope `json:"scope,omitempty"`
	Pattern  json.RawMessage    `json:"pattern,omitempty"`
	Reason   string             `json:"reason,omitempty"`
}

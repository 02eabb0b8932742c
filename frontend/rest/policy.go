package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// A guide is the part of the API that tells callers what they may do.
type guide struct{ *api }

// explainPolicy says what would be decided about a call, and makes none.
func (a guide) explainPolicy(r *http.Request, caller tool.Caller) (response, error) {
	body, err := readBody(r)
	if err != nil {
		return response{}, err
	}
	c, name, err := decodeQuestion(body)
	if err != nil {
		return response{}, err
	}
	a.complete(&c, r, caller)
	if name != "" && name != caller.Name {
		if caller.Grant != nil && !caller.Grant.Approver {
			return response{}, &Error{Text: "caller: only an approver may ask for other callers", Kind: tool.Denied}
		}
		// What the other one's credential allows is not known here.
		c.Caller = tool.Caller{Name: name, Via: caller.Via}
	}
	e, err := a.gw.Policy().Explain(r.Context(), c)
	if err != nil {
		return response{}, err
	}
	b, err := marshal(e)
	return response{contentType: typeJSON, body: b}, err
}

// decodeQuestion reads a call, and the name of a caller beside it.
func decodeQuestion(body []byte) (tool.Call, string, error) {
	var members map[string]json.RawMessage
	if err := decodeObject(body, &members); err != nil {
		return tool.Call{}, "", err
	}
	var name string
	if raw, ok := members["caller"]; ok {
		if err := setString(&name, raw); err != nil {
			return tool.Call{}, "", invalid("/caller", err)
		}
		delete(members, "caller")
		var err error
		if body, err = json.Marshal(members); err != nil {
			return tool.Call{}, "", invalid("", errors.New("is no JSON"))
		}
	}
	c, err := DecodeCall(body, "")
	return c, name, err
}

// A Policy is the part of a client that asks what callers may do.
type Policy struct{ c *Client }

// PolicyOf returns the part of c that asks what callers may do.
func PolicyOf(c *Client) Policy { return Policy{c} }

// Explain says what the gateway would decide about a call, and makes none. The
// caller's name is that of c.Caller; empty is whoever the client is.
func (p Policy) Explain(ctx context.Context, q tool.Call) (*tenon.Explanation, error) {
	in := struct {
		tool.Call
		Caller string `json:"caller,omitempty"`
	}{q, q.Caller.Name}
	var out tenon.Explanation
	if err := p.c.post(ctx, 0, "/policy/explain", in, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

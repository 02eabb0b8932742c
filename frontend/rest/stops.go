package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

type stopList struct {
	Stops []tenon.Stop `json:"stops"`
}

func (a *api) stops(r *http.Request, _ tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	return jsonOf(stopList{a.gw.Stops().List()})
}

// stop stops tools that are there, or that a caller says will come, and answers with what is stopped then.
func (a *api) stop(r *http.Request, caller tool.Caller) (response, error) {
	o, force, err := readStop(r, "server", "tool", "reason", "force")
	if err != nil {
		return response{}, err
	}
	stop := tenon.Stop{Server: o["server"], Tool: o["tool"], Reason: o["reason"], By: caller.Name}
	if !force {
		if err := tenon.UnknownStop(a.gw, stop); err != nil {
			return response{}, err
		}
	}
	if err := a.gw.Stops().Stop(r.Context(), stop); err != nil {
		return response{}, err
	}
	return a.stops(r, caller)
}

// resume lifts a stop, and answers with what is stopped then.
func (a *api) resume(r *http.Request, caller tool.Caller) (response, error) {
	o, _, err := readStop(r, "server", "tool")
	if err != nil {
		return response{}, err
	}
	if err := a.gw.Stops().Resume(r.Context(), o["server"], o["tool"]); err != nil {
		return response{}, err
	}
	return a.stops(r, caller)
}

// maxStopText bounds each text of a stop.
const maxStopText = 2000

// readStop reads an object whose members are texts, and force, which is true or false. A
// server must be named: whoever forgets it must not stop, or resume, all. The name of a
// tool may stand behind it, as in server/tool.
func readStop(r *http.Request, known ...string) (o map[string]string, force bool, err error) {
	body, err := readBody(r)
	if err != nil {
		return nil, false, err
	}
	if slices.Contains(known, "force") {
		if body, force, err = forced(body); err != nil {
			return nil, false, err
		}
	}
	if o, err = textsOf(body, known); err != nil {
		return nil, false, err
	}
	if o["server"] == "" {
		return nil, false, &Error{Text: `the name of a server is missing; "*" is all servers`, Kind: tool.Invalid, Where: "/server"}
	}
	if server, name, ok := strings.Cut(o["server"], "/"); ok && o["tool"] == "" {
		o["server"], o["tool"] = server, name
	}
	return o, force, nil
}

// forced takes the member force out of an object.
func forced(body []byte) (rest []byte, force bool, err error) {
	var members map[string]json.RawMessage
	if err := decodeObject(body, &members); err != nil {
		return nil, false, err
	}
	switch said := string(members["force"]); said {
	case "true", "false", "null", "":
		force = said == "true"
	default:
		return nil, false, invalid("/force", errors.New("must be true or false"))
	}
	delete(members, "force")
	rest, err = json.Marshal(members)
	return rest, force, err
}

// textsOf reads an object of texts with these members.
func textsOf(body []byte, known []string) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := decodeObject(body, &members); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		at := "/" + pointerToken(key)
		if !slices.Contains(known, key) {
			return nil, invalid(at, fmt.Errorf("is no member here; known: %s", strings.Join(known, ", ")))
		}
		var text string
		if err := setString(&text, members[key]); err != nil {
			return nil, invalid(at, err)
		}
		if len(text) > maxStopText {
			return nil, invalid(at, fmt.Errorf("is longer than %d bytes", maxStopText))
		}
		out[key] = text
	}
	return out, nil
}

// Stops returns what is stopped on the gateway. It needs an approver's credential,
// as Stop and Resume do.
func (c *Client) Stops(ctx context.Context) ([]tenon.Stop, error) {
	var out stopList
	err := c.get(ctx, "/stops", nil, &out)
	return out.Stops, err
}

// Stop stops tools on the gateway, and returns what is stopped then. What the gateway
// does not have is refused unless force is set.
func (c *Client) Stop(ctx context.Context, s tenon.Stop, force bool) ([]tenon.Stop, error) {
	var out stopList
	err := c.post(ctx, 0, "/stops", map[string]any{"server": s.Server, "tool": s.Tool, "reason": s.Reason, "force": force}, &out)
	return out.Stops, err
}

// Resume lifts a stop on the gateway, and returns what is stopped then.
func (c *Client) Resume(ctx context.Context, server, name string) ([]tenon.Stop, error) {
	var out stopList
	err := c.post(ctx, 0, "/stops/resume", map[string]string{"server": server, "tool": name}, &out)
	return out.Stops, err
}

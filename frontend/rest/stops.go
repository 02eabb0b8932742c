package rest

import (
	"context"
	"encoding/json"
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

// stop stops tools, and answers with what is stopped then.
func (a *api) stop(r *http.Request, caller tool.Caller) (response, error) {
	o, err := readStop(r, "server", "tool", "reason")
	if err != nil {
		return response{}, err
	}
	if err := a.gw.Stops().Stop(r.Context(), tenon.Stop{Server: o["server"], Tool: o["tool"], Reason: o["reason"], By: caller.Name}); err != nil {
		return response{}, err
	}
	return a.stops(r, caller)
}

// resume lifts a stop, and answers with what is stopped then.
func (a *api) resume(r *http.Request, caller tool.Caller) (response, error) {
	o, err := readStop(r, "server", "tool")
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

// readStop reads an object whose members are texts. A server must be named: whoever
// forgets it must not stop, or resume, all.
func readStop(r *http.Request, known ...string) (map[string]string, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	out, err := textsOf(body, known)
	if err != nil {
		return nil, err
	}
	if out["server"] == "" {
		return nil, &Error{Text: `is missing; "*" is all servers`, Kind: tool.Invalid, Where: "/server"}
	}
	return out, nil
}

// textsOf reads an object of texts with these members.
func textsOf(body []byte, known []string) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := decodeObject(body, "", &members); err != nil {
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

// Stop stops tools on the gateway, and returns what is stopped then.
func (c *Client) Stop(ctx context.Context, s tenon.Stop) ([]tenon.Stop, error) {
	var out stopList
	err := c.post(ctx, "/stops", map[string]string{"server": s.Server, "tool": s.Tool, "reason": s.Reason}, &out)
	return out.Stops, err
}

// Resume lifts a stop on the gateway, and returns what is stopped then.
func (c *Client) Resume(ctx context.Context, server, name string) ([]tenon.Stop, error) {
	var out stopList
	err := c.post(ctx, "/stops/resume", map[string]string{"server": server, "tool": name}, &out)
	return out.Stops, err
}

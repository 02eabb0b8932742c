package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// handle reads a long result behind its handle.
func (a *api) handle(r *http.Request, caller tool.Caller) (response, error) {
	q, err := query(r, "offset", "limit", "page", "grep", "context", "jq")
	if err != nil {
		return response{}, err
	}
	o := tenon.ReadOptions{ID: r.PathValue("id"), Grep: q.Get("grep"), JQ: q.Get("jq")}
	for name, n := range map[string]*int{"offset": &o.Offset, "limit": &o.Limit, "page": &o.Page, "context": &o.Context} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		if *n, err = strconv.Atoi(text); err != nil || *n < 0 {
			return response{}, &Error{Text: fmt.Sprintf("%s: must be a number that is not below zero, not %q", name, text), Kind: tool.Invalid}
		}
	}
	reading, err := a.gw.ReadResult(r.Context(), caller, o)
	if err != nil {
		return response{}, err
	}
	b, err := marshal(reading)
	return response{contentType: typeJSON, body: b}, err
}

// ReadResult reads a long result behind its handle.
func (c *Client) ReadResult(ctx context.Context, o tenon.ReadOptions) (*tenon.Reading, error) {
	q := url.Values{"grep": one(o.Grep), "jq": one(o.JQ)}
	for name, n := range map[string]int{"offset": o.Offset, "limit": o.Limit, "page": o.Page, "context": o.Context} {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	var out tenon.Reading
	if err := c.get(ctx, "/handles/"+url.PathEscape(o.ID), q, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// MaxExpanded bounds in bytes what the handles among the arguments of one call may
// be replaced by.
const MaxExpanded = 64 << 20

// A Reference stands among arguments for what is behind a handle, or for a part of
// it: {"$handle": "h_…"}, with a path into JSON, or with a jq query.
type Reference struct {
	ID   string `json:"$handle"`
	Path string `json:"path"`
	JQ   string `json:"jq"`
}

var (
	handleKey    = []byte(`$handle`)
	handlePrefix = "h_"
)

// handles puts what is behind a handle in the place of a reference to it, with the
// rights of the caller. So a long result goes from one tool to another without
// passing through the model.
func handles(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if o.Keeper == nil || !bytes.Contains(r.Arguments, handleKey) {
			return next(ctx, r)
		}
		args, err := expand(ctx, o.Keeper, r)
		if err != nil {
			return failed(r, err)
		}
		if args == nil {
			return next(ctx, r)
		}
		// What was asked for stays as it is for the stages outside: a fallback
		// expands again, with other arguments, and nobody holds on to the long ones.
		asked, params := r.Arguments, r.Params
		defer func() { r.Arguments, r.Params = asked, params }()
		r.Arguments = args
		if len(params) > 0 {
			if r.Params, err = jsonrpc.Edit(params, jsonrpc.Field{Key: "arguments", Value: args}); err != nil {
				return r.fail(tool.Invalid, "The params of the call are not valid: %v.", err)
			}
		}
		return next(ctx, r)
	}
}

// expand returns the arguments with their references replaced, or nil where there
// are none.
func expand(ctx context.Context, k Keeper, r *Request) ([]byte, error) {
	found, err := references(r.Arguments)
	if err == nil && isReference(r.Arguments) {
		err = &tool.Error{Kind: tool.Invalid, Text: `A handle stands for the value of one argument, not for all arguments: write {"name": {"$handle": "h_…"}}.`}
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	edits := make([]edit, len(found))
	left := MaxExpanded
	for i, f := range found {
		v, err := k.Value(ctx, r.Caller, f.ref, left)
		if err != nil {
			return nil, err
		}
		left -= len(v)
		r.Opened = append(r.Opened, f.ref.ID)
		edits[i] = edit{f.at, v}
	}
	return replace(tool.OneOf(r.Arguments), edits...).Join(), nil
}

// isReference reports whether the arguments as a whole are a reference.
func isReference(args []byte) bool {
	var span [1]jsonrpc.Span
	if jsonrpc.Members(tool.OneOf(args), []string{string(handleKey)}, span[:]) != nil || !span[0].Found() {
		return false
	}
	id, ok := jsonrpc.String(span[0].In(tool.OneOf(args)).Join())
	return ok && strings.HasPrefix(id, handlePrefix)
}

// A foundReference is a reference with its place.
type foundReference struct {
	ref Reference
	at  jsonrpc.Span
}

// references finds all references among arguments, at any depth. The arguments
// themselves are none, and neither is an object whose $handle is something else
// than the id of a handle.
func references(args []byte) ([]foundReference, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	var out []foundReference
	var open []int // the offsets of the brackets that are open
	// It ends where the arguments end; what is no JSON is for later stages to refuse.
	for t, err := d.Token(); err == nil; t, err = d.Token() {
		switch t {
		case json.Delim('{'), json.Delim('['):
			open = append(open, int(d.InputOffset())-1)
			continue
		case json.Delim('}'):
		case json.Delim(']'):
			open = open[:len(open)-1]
			continue
		default:
			continue
		}
		at := jsonrpc.Span{Start: open[len(open)-1], End: int(d.InputOffset())}
		open = open[:len(open)-1]
		if len(open) == 0 || !bytes.Contains(args[at.Start:at.End], handleKey) {
			continue
		}
		ref, ok, err := readReference(args[at.Start:at.End])
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, foundReference{ref, at})
		}
	}
	return out, nil
}

// readReference reads an object as a reference, and reports whether it is one.
func readReference(object []byte) (Reference, bool, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return Reference{}, false, nil
	}
	id, ok := jsonrpc.String(members[string(handleKey)])
	if !ok || !strings.HasPrefix(id, handlePrefix) {
		return Reference{}, false, nil
	}
	var ref Reference
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(&ref); err != nil {
		return ref, false, &tool.Error{
			Kind: tool.Invalid, Err: err,
			Text: fmt.Sprintf(`The reference to handle %s is not valid: it is {"$handle": %q}, and may have "path" or "jq", both texts, beside it.`, id, id),
		}
	}
	return ref, true, nil
}

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

const (
	handleKey    = "$handle"
	handlePrefix = "h_"
)

var handleBytes = []byte(handleKey)

// handles puts what is behind a handle in the place of a reference to it, with the
// rights of the caller. So a long result goes from one tool to another without
// passing through the model.
func handles(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if o.Keeper == nil || !bytes.Contains(r.Arguments, handleBytes) {
			return next(ctx, r)
		}
		args, structured, err := expand(ctx, o.Keeper, r)
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
		res := next(ctx, r)
		if res.Kind == tool.Invalid && structured != "" {
			res.Message = sentence(res.Message) + fmt.Sprintf(` (Behind the handle %s is JSON, which is put in as the value that it is. Where the tool wants a text, write {"$handle": %q, "jq": "tojson"}.)`, structured, structured)
		}
		return res
	}
}

// expand returns the arguments with their references replaced, or nil where there
// are none, and the handle of a value among them that is an object or an array.
func expand(ctx context.Context, k Keeper, r *Request) (args []byte, structured string, err error) {
	found, err := references(ctx, r.Arguments)
	if err == nil && isReference(r.Arguments) {
		err = &tool.Error{Kind: tool.Invalid, Text: `A handle stands for the value of one argument, not for all arguments: write {"name": {"$handle": "h_…"}}.`}
	}
	if err != nil || len(found) == 0 {
		return nil, "", err
	}
	edits := make([]edit, len(found))
	left := MaxExpanded
	for i, f := range found {
		v, err := k.Value(ctx, r.Caller, f.ref, left)
		if err != nil {
			return nil, "", err
		}
		if len(v) > 0 && (v[0] == '{' || v[0] == '[') {
			structured = f.ref.ID
		}
		left -= len(v)
		r.Opened = append(r.Opened, f.ref.ID)
		edits[i] = edit{f.at, v}
	}
	return replace(tool.OneOf(r.Arguments), edits...).Join(), structured, nil
}

// isReference reports whether the arguments as a whole are a reference.
func isReference(args []byte) bool {
	var span [1]jsonrpc.Span
	if jsonrpc.Members(tool.OneOf(args), []string{handleKey}, span[:]) != nil || !span[0].Found() {
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

// Bounds of looking for references.
const (
	maxReferences = 1000
	maxNesting    = 10_000
	lookAround    = 4096 // so many tokens pass until somebody looks whether the call has ended
)

// A nest is an object or an array that is open.
type nest struct {
	at     int // of its bracket
	object bool
	key    bool   // the next token is a key
	named  bool   // the next token is the value of $handle
	id     string // that value
	holds  bool   // an object or an array, so it is no reference
}

// references finds all references among arguments, at any depth, in one pass. The
// arguments themselves are none, and neither is an object whose $handle is something
// else than the id of a handle.
func references(ctx context.Context, args []byte) ([]foundReference, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	var out []foundReference
	var open []nest
	// It ends where the arguments end; what is no JSON is for later stages to refuse.
	for n := 1; ; n++ {
		t, err := d.Token()
		if err != nil {
			return out, nil
		}
		if n%lookAround == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		delim, _ := t.(json.Delim)
		switch delim {
		case '{', '[':
			if len(open) == maxNesting {
				return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("The arguments are nested deeper than %d. Send flatter ones.", maxNesting)}
			}
			open = enter(open, int(d.InputOffset())-1, delim == '{')
		case '}', ']':
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if len(open) == 0 || !strings.HasPrefix(last.id, handlePrefix) {
				continue
			}
			at := jsonrpc.Span{Start: last.at, End: int(d.InputOffset())}
			if last.holds || len(out) == maxReferences {
				return nil, invalidReference(last.id, nil)
			}
			ref, err := readReference(args[at.Start:at.End], last.id)
			if err != nil {
				return nil, err
			}
			out = append(out, foundReference{ref, at})
		default:
			if len(open) > 0 {
				open[len(open)-1].take(t)
			}
		}
	}
}

// enter opens an object or an array within the last one.
func enter(open []nest, at int, object bool) []nest {
	if len(open) > 0 {
		outer := &open[len(open)-1]
		outer.holds, outer.named, outer.key = true, false, outer.object
	}
	return append(open, nest{at: at, object: object, key: object})
}

// take takes a key, or a value that is no object and no array.
func (n *nest) take(t json.Token) {
	text, isText := t.(string)
	switch {
	case !n.object:
	case n.key:
		n.key, n.named = false, text == handleKey
	default:
		if n.named && isText {
			n.id = text
		}
		n.key, n.named = true, false
	}
}

// readReference reads an object that has the id of a handle. It holds no other object
// and no array.
func readReference(object []byte, id string) (Reference, error) {
	var ref Reference
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(&ref); err != nil {
		return ref, invalidReference(id, err)
	}
	return ref, nil
}

func invalidReference(id string, err error) error {
	id = id[:min(len(id), 64)]
	return &tool.Error{
		Kind: tool.Invalid, Err: err,
		Text: fmt.Sprintf(`The reference to handle %s is not valid: it is {"$handle": %q}, and may have "path" or "jq", both texts, beside it; one call takes at most %d of them.`, id, id, maxReferences),
	}
}

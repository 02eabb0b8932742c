// Package typed registers the tools of bundled servers: from Go types, with schemas of
// what goes in and what comes out.
//
//	typed.Add(srv, typed.Spec{
//		Name: "check_port", Title: "Check a port", Description: "Says whether …",
//		Defaults: map[string]any{"timeout_sec": 3},
//	}, func(ctx context.Context, in portInput) (string, portOutput, error) { … })
//
// It differs from mcp.AddTool of the SDK in three ways. A schema is resolved at the
// first call, and that of the output never: a gateway builds each bundled server at
// every start to list its tools, and resolving was three quarters of that. Arguments
// that are null count as left out, with their defaults. And what is wrong with
// arguments is an answer for the model in one line, without control characters.
//
// An error that a rule stands behind (see Refuse) is told from one of bad luck in the
// _meta of the answer, under FailureKey.
package typed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Spec is what is said of a tool besides its types.
type Spec struct {
	Name, Title, Description string

	Defaults map[string]any   // of properties of the input
	Choices  map[string][]any // the values that a property of the input may have
	// Bounds are the least and the greatest number that a property of the input may
	// have. What a call gives beyond is brought to them, and the answer says so.
	Bounds map[string][2]int
	// Shape, where not nil, says more of the schemas: bounds, or what a type does not tell.
	Shape func(in, out *jsonschema.Schema)
	// Annotations are the hints; nil are those of a tool that reads what lies on this
	// side, and changes nothing. Title is set in them.
	Annotations *mcp.ToolAnnotations
	// MaxArguments bounds the arguments in bytes; 0 leaves that to who transports them.
	MaxArguments int
}

// ReadsHere are the annotations of a tool that changes nothing and reaches nothing
// outside of this machine.
func ReadsHere() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}
}

// Definition returns the tool that sp describes, with In as its input and Out as its
// output. It panics where a default or a choice names no property, as mcp.AddTool does
// on a bad tool.
func Definition[In, Out any](sp Spec) (*mcp.Tool, *jsonschema.Schema) {
	in, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err)
	}
	out, err := jsonschema.For[Out](nil)
	if err != nil {
		panic(err)
	}
	for name, value := range sp.Defaults {
		b, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		property(sp, in, name).Default = b
	}
	for name, list := range sp.Choices {
		property(sp, in, name).Enum = list
	}
	for name := range sp.Bounds {
		property(sp, in, name)
	}
	for _, p := range in.Properties {
		if len(p.Types) > 0 { // a list may be left out, but it is a list
			p.Type, p.Types = p.Types[len(p.Types)-1], nil
		}
	}
	slim(out)
	if sp.Shape != nil {
		sp.Shape(in, out)
	}
	a := sp.Annotations
	if a == nil {
		a = ReadsHere()
	}
	a.Title = sp.Title
	return &mcp.Tool{Name: sp.Name, Description: sp.Description, InputSchema: in, OutputSchema: out, Annotations: a}, in
}

// slim takes out of the schema of an output what no reader of it needs, for it is the
// larger part of a list of tools: that there is nothing more, and that a count is not
// below zero.
func slim(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if a := s.AdditionalProperties; a != nil && a.Not != nil {
		s.AdditionalProperties = nil
	}
	if s.Minimum != nil && *s.Minimum == 0 {
		s.Minimum = nil
	}
	slim(s.AdditionalProperties)
	slim(s.Items)
	for _, p := range s.Properties {
		slim(p)
	}
}

func property(sp Spec, schema *jsonschema.Schema, name string) *jsonschema.Schema {
	p := schema.Properties[name]
	if p == nil {
		panic(fmt.Sprintf("tool %s has no property %s", sp.Name, name))
	}
	return p
}

// Add registers a tool that answers with a text for the model, and the same as data.
func Add[In, Out any](srv *mcp.Server, sp Spec, answer func(context.Context, In) (string, Out, error)) {
	AddContent(srv, sp, func(ctx context.Context, _ *mcp.CallToolRequest, in In) ([]mcp.Content, Out, error) {
		s, out, err := answer(ctx, in)
		return Text(s), out, err
	})
}

// AddContent registers a tool that answers with any content, and with data. The error
// of answer is what the model reads: it says what to do.
func AddContent[In, Out any](srv *mcp.Server, sp Spec, answer func(context.Context, *mcp.CallToolRequest, In) ([]mcp.Content, Out, error)) {
	definition, schema := Definition[In, Out](sp)
	resolved := sync.OnceValues(func() (*jsonschema.Resolved, error) { return schema.Resolve(nil) })
	srv.AddTool(definition, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		schema, err := resolved()
		if err != nil {
			return nil, err
		}
		if n := len(req.Params.Arguments); sp.MaxArguments > 0 && n > sp.MaxArguments {
			res.SetError(fmt.Errorf("the arguments have %d bytes, at most %d are taken", n, sp.MaxArguments))
			return res, nil
		}
		var in In
		brought, err := decode(req.Params.Arguments, schema, sp.Bounds, &in)
		if err != nil {
			res.SetError(err)
			return res, nil
		}
		ctx, cancel := within(ctx, req)
		defer cancel()
		content, out, err := answer(ctx, req, in)
		if err != nil {
			res.SetError(err)
			switch {
			case isRefused(err):
				res.Meta = mcp.Meta{FailureKey: "denied"}
			case ctx.Err() == context.DeadlineExceeded:
				res.Meta = mcp.Meta{FailureKey: "timeout"}
			}
			return res, nil
		}
		if brought != "" {
			content = append(content, Text(brought)...)
		}
		res.Content, res.StructuredContent = content, out
		return res, nil
	})
}

// FailureKey is the member of a result's _meta that tells a gateway what kind of failure
// it is. With "timeout" the time was over. With "denied" a rule of the server stands behind it: nothing was done, another
// way to the same end is not to be looked for, and the call is not repeated.
const FailureKey = "tenon/error_kind"

// TimeoutKey is the member of a call's _meta that says in milliseconds how long its caller
// waits. The call ends a little earlier: who does it knows best what it hung on.
const TimeoutKey = "tenon/timeout_ms"

// within returns the context for a call.
func within(ctx context.Context, req *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
	ms, ok := req.Params.Meta[TimeoutKey].(float64)
	if !ok || ms <= 0 || ms > 1e9 {
		return ctx, func() {}
	}
	whole := time.Duration(ms * float64(time.Millisecond))
	return context.WithTimeout(ctx, whole-min(whole/10, time.Second))
}

// refused is an error that a rule of the server stands behind. Packages that know nothing
// of this one have it as a method of theirs.
type refused interface {
	error
	Refused() bool
}

// Refuse returns the error for what a rule of the server does not allow: a path outside
// of its folders, an address that must not be reached, a bound on calls.
func Refuse(format string, args ...any) error { return &refusal{fmt.Errorf(format, args...)} }

// Reword returns an error with a text in place of that of err, behind which a rule
// stands if one stands behind err.
func Reword(err error, text string) error {
	if isRefused(err) {
		return &refusal{errors.New(text)}
	}
	return errors.New(text)
}

func isRefused(err error) bool {
	r, ok := errors.AsType[refused](err)
	return ok && r.Refused()
}

type refusal struct{ error }

func (r *refusal) Refused() bool { return true }
func (r *refusal) Unwrap() error { return r.error }

// Text returns a text as content.
func Text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// decode reads the arguments of a call, checked against the schema and completed with
// its defaults. It also returns which numbers it brought to their bounds, as a
// sentence.
func decode(raw json.RawMessage, schema *jsonschema.Resolved, bounds map[string][2]int, in any) (brought string, err error) {
	values := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &values); err != nil {
			return "", errors.New("the arguments must be one JSON object")
		}
	}
	if values == nil { // null
		values = map[string]any{}
	}
	for name, v := range values {
		if v == nil {
			delete(values, name)
		}
	}
	brought = bring(values, bounds)
	if err = schema.ApplyDefaults(&values); err == nil {
		err = schema.Validate(values)
	}
	if err != nil {
		return "", misfit(err)
	}
	b, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(b, in); err != nil { // such as a number that no integer holds
		return "", misfit(err)
	}
	return brought, nil
}

// bring brings the numbers that a call gave to their bounds, and says which.
func bring(values map[string]any, bounds map[string][2]int) string {
	const exact = 1 << 53 // beyond, a number is a mistake of another kind
	var said []string
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		n, ok := values[name].(float64)
		to := min(max(n, float64(bounds[name][0])), float64(bounds[name][1]))
		if ok && n != to && n > -exact && n < exact {
			values[name] = to
			said = append(said, fmt.Sprintf("%s was brought from %s to %s", name, strconv.FormatFloat(n, 'f', -1, 64), strconv.FormatFloat(to, 'f', -1, 64)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "Note: " + strings.Join(said, ", ") + ".\n"
}

// misfit says what of the arguments does not fit.
func misfit(err error) error {
	text := strings.TrimPrefix(err.Error(), "validating root: ")
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text = fmt.Sprintf("%s must be of type %s, which %s is not", e.Field, e.Type, e.Value)
	}
	return errors.New("the arguments do not fit: " + line(text))
}

// line returns a message in one bounded line: it quotes what a model wrote.
func line(s string) string {
	const most = 600
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

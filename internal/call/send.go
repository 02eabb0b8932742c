package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// send carries out the call and reads the outcome.
func send(o *Options) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		params, err := params(r)
		if err != nil {
			return r.fail(tool.Invalid, "The arguments of %s are not valid: %v. Send a JSON object.", r.Target.Name, err)
		}
		if err := o.begin(ctx, r); err != nil {
			return failed(r, err)
		}
		r.Attempts++
		raw, err := o.Send(ctx, r, params)
		if err == nil {
			if o.Usage != nil {
				if u, ok := o.Usage(r, raw); ok {
					r.Spend(u)
				}
			}
			res := o.answered(r, raw)
			if res.Kind != "" && o.Secrets != nil && res.Raw.Len() > 0 {
				res.Raw = tool.OneOf(o.Secrets.Failure(res.Raw.Join()))
			}
			return res
		}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && o.Secrets != nil && e.Raw != nil {
			err = jsonrpc.ErrorOf(tool.OneOf(o.Secrets.Failure(e.Raw)))
		}
		res := failed(r, err)
		switch {
		case res.Kind == tool.OutcomeUnknown:
			res.Message += " " + o.howToCheck(r.Target)
		case res.Kind == tool.Timeout && !r.Target.Meta.ReadOnly:
			res.Message += " It may have taken effect all the same. " + o.howToCheck(r.Target)
		}
		return res
	}
}

// params returns the params of the tools/call to send: the caller's own, or new
// ones.
func params(r *Request) ([]byte, error) {
	args := bytes.TrimSpace(r.Arguments)
	if len(args) > 0 && args[0] != '{' && string(args) != "null" {
		return nil, errors.New("not a JSON object")
	}
	if len(r.Params) > 0 {
		return r.Params, nil
	}
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if err := jsonrpc.Members(tool.OneOf(args), nil, nil); err != nil {
		return nil, err
	}
	name := jsonrpc.Quote(nil, r.Target.Name)
	out := make([]byte, 0, len(name)+len(args)+32)
	out = append(append(out, `{"name":`...), name...)
	out = append(append(out, `,"arguments":`...), args...)
	return append(out, '}'), nil
}

// failureKey is how a server that comes with Tenon tells of what kind its failure is:
// that a rule of its own stands behind it, or that the time was over. Nothing else is its
// to say.
const failureKey = jsonrpc.OwnPrefix + "error_kind"

func failureOf(meta tool.Bytes) tool.Kind {
	var span [1]jsonrpc.Span
	if meta.Len() == 0 || jsonrpc.Members(meta, []string{failureKey}, span[:]) != nil || !span[0].Found() {
		return tool.Failed
	}
	kind, _ := jsonrpc.String(span[0].In(meta).Join())
	if k := tool.Kind(kind); k == tool.Denied || k == tool.Timeout {
		return k
	}
	return tool.Failed
}

// answered reads the result of a server.
func (o *Options) answered(r *Request, raw tool.Bytes) *tool.Result {
	res := r.result()
	a, err := jsonrpc.ReadAnswer(raw)
	if err != nil {
		res = r.fail(tool.Failed, "Server %s answered with something that is no result: %v.", r.Target.Server, err)
		if !r.Target.Meta.ReadOnly {
			res.Message += " What it did stays done. " + o.howToCheck(r.Target)
		}
		return res
	}
	res.Raw = raw
	if a.Own {
		res.Raw = WithoutOwn(raw, a.Meta, func(name string) bool { return o.believed(r.Target, name) })
	}
	if kind, _ := jsonrpc.String(a.ResultType.In(raw).Join()); kind != "" && kind != "complete" {
		if o, ok := r.Origin.(interface{ TakesInterim() bool }); ok && o.TakesInterim() {
			r.unfinished = true
			return res
		}
		return r.fail(tool.Failed, "Server %s answered with a result of type %q, which cannot be carried on here. The tool may want input that this gateway cannot ask for.", r.Target.Server, kind)
	}
	if string(a.IsError.In(raw).Join()) == "true" {
		res.Kind = tool.Failed
		if a.Own && o.believed(r.Target, failureKey) {
			res.Kind = failureOf(a.Meta.In(raw))
		}
	}
	return res
}

func (o *Options) believed(t *tool.Tool, name string) bool {
	return o.Believed != nil && o.Believed(t, name)
}

// WithoutOwn returns a result without those members of its _meta under Tenon's names that
// its server is not believed. Anybody is believed to be a stranger.
func WithoutOwn(raw tool.Bytes, meta jsonrpc.Span, believed func(name string) bool) tool.Bytes {
	return jsonrpc.DropOwn(raw, meta, func(name string, value []byte) bool {
		return believed(name) || name == UntrustedKey && string(value) == "true"
	})
}

// failed reads the error of a call that has no result.
func failed(r *Request, err error) *tool.Result {
	res := r.fail(tool.Internal, "")
	res.Err = err
	kind, text := reason(r, err)
	res.Kind, res.Message = kind, text
	return res
}

func reason(r *Request, err error) (tool.Kind, string) {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Kind, sentence(e.Text)
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		kind := tool.Failed
		if e.Code == jsonrpc.CodeInvalidParams {
			kind = tool.Invalid
		}
		return kind, fmt.Sprintf("Server %s refused the call: %s", r.Target.Server, e.Error())
	}
	if e, ok := errors.AsType[*jsonrpc.TooLargeError](err); ok {
		return tool.Failed, fmt.Sprintf("The answer of %s is too large: %v. Ask for less at once.", r.Target.Name, e)
	}
	if errors.Is(err, context.Canceled) {
		return tool.Canceled, "The call was canceled before it ended."
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Timeout, "The call did not end within the time that its caller set."
	}
	if e, ok := errors.AsType[answeredHTTP](err); ok && refuses(e.HTTPStatus()) {
		return tool.Unavailable, sentence(upper(tool.Flatten(err))) + " The server did not carry out the call."
	}
	if r.Target.Meta.ReadOnly || r.Target.Meta.Idempotent {
		return tool.Unavailable, sentence(upper(tool.Flatten(err))) + " The tool can be called again without harm."
	}
	return tool.OutcomeUnknown, sentence(upper(tool.Flatten(err))) + " Nobody knows whether it took effect."
}

// refuses reports whether an HTTP status says that the request is at fault, so that
// it was not carried out. Of one that timed out (408) that is not known.
func refuses(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unknownTool matches the ways in which servers say that they have no such tool:
// the protocol's example and FastMCP ("Unknown tool: x"), the Go SDK ("unknown
// tool "x""), the TypeScript SDK ("Tool x not found").
var unknownTool = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[\s:])(?:unknown tool:? ["'` + "`" + `]?([\w.\-/]+)|tool ["'` + "`" + `]?([\w.\-/]+)["'` + "`" + `]? not found)`)
})

// saysUnknown reports whether the server says that it does not know the tool.
// Only an error counts, never ordinary text.
func saysUnknown(res *tool.Result, name string) bool {
	var text string
	if e, ok := errors.AsType[*jsonrpc.Error](res.Err); ok {
		if e.Code != jsonrpc.CodeInvalidParams {
			return false
		}
		text = e.Message
	} else {
		if res.Kind != tool.Failed || res.Raw.Len() == 0 || res.Raw.Len() > 4096 {
			return false
		}
		text = res.Text()
	}
	m := unknownTool().FindStringSubmatch(text)
	return m != nil && (strings.TrimRight(m[1], ".") == name || m[2] == name)
}

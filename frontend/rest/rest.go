// Package rest is the HTTP API of the gateway under /api/v1, and the Go client of
// it: one package holds both ends of the protocol, so that they cannot drift.
//
// The server is an http.Handler:
//
//	api := rest.New(gw, rest.Options{Version: "1.0"})
//	http.Handle(rest.Prefix+"/", api)
//
// What it offers is described by the OpenAPI 3.1 document that it serves at
// /api/v1/openapi.json; the tests compare every answer with it. In short:
//
//	GET  /api/v1/servers                state of each server
//	GET  /api/v1/tools                  what the pool offers; ?format= see [Format]
//	GET  /api/v1/tools/search?q=        tool search
//	POST /api/v1/calls                  one call
//	POST /api/v1/calls/batch            many calls
//	GET  /api/v1/calls                  the calls, newest first; by server, kind, time, …
//	GET  /api/v1/calls/{id}             the record of one call
//	GET  /api/v1/record                 how the writing of the record goes
//	GET  /api/v1/handles/{id}           a part of a long result
//	GET  /api/v1/skills                 the skills that may be chosen
//	GET  /api/v1/skills/{name}          one of them, with its playbook
//	POST /api/v1/policy/explain         what would be decided about a call
//	GET  /api/v1/approvals              calls that wait for a person
//	GET  /api/v1/approvals/{id}         one of them
//	POST /api/v1/approvals/{id}/decide  what the person said
//	GET  /api/v1/events                 approvals as they come, as an event stream
//	GET  /api/v1/stops                  what is stopped
//	POST /api/v1/stops                  stop tools
//	POST /api/v1/stops/resume           lift a stop
//
// A call is answered with status 200 and the result object, whether it holds a
// result or an error: the error is the model's to read. Any other status says
// that there was no call to carry out: 400 for a body that is none, with the
// place of the mistake; 404 for what does not exist; 413 for a body too large.
// All errors are one JSON object {"error", "error_kind"}.
//
// Values pass as they came: arguments, schemas and content are never decoded, so
// integers above 2^53 and unknown fields survive.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// Prefix is where the API lies.
const Prefix = "/api/v1"

// Options configures the API.
type Options struct {
	Version string       // of the program, for the OpenAPI document
	Logger  *slog.Logger // takes faults of Tenon itself; nil discards
}

// New returns the API of a gateway. It is safe for concurrent use.
func New(gw *tenon.Gateway, o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &api{gw: gw, log: o.Logger, document: document(o.Version)}
	// Methods are told apart here and not by the mux, whose 405 is plain text.
	byPath := map[string]methods{}
	for _, op := range a.operations() {
		if byPath[op.path] == nil {
			byPath[op.path] = methods{}
		}
		byPath[op.path][op.method] = a.allowed(op)
	}
	mux := http.NewServeMux()
	for path, m := range byPath {
		mux.Handle(Prefix+path, a.handler(m.serve))
	}
	mux.Handle("/", a.handler(noSuchPath))
	return mux
}

// methods are the operations of one path.
type methods map[string]serveFunc

// A serveFunc carries out an operation for a caller.
type serveFunc func(r *http.Request, caller tool.Caller) (response, error)

func (m methods) serve(r *http.Request, caller tool.Caller) (response, error) {
	if serve, ok := m[r.Method]; ok {
		return serve(r, caller)
	}
	if serve, ok := m[http.MethodGet]; ok && r.Method == http.MethodHead {
		return serve(r, caller)
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	return response{}, &Error{
		Text: r.Method + " is not possible here; possible: " + allowed, Kind: tool.Invalid,
		status: http.StatusMethodNotAllowed, allow: allowed,
	}
}

// An api is the state behind the handlers.
type api struct {
	gw       *tenon.Gateway
	log      *slog.Logger
	document []byte
}

// An operation is one thing that the API does. The OpenAPI document has the same.
type operation struct {
	method, path string
	serve        serveFunc
	who          need // empty is who may call tools
}

func (a *api) operations() []operation {
	person := approvals{a.gw}
	return []operation{
		{http.MethodGet, "/servers", a.servers, ""},
		{http.MethodGet, "/tools", a.tools, ""},
		{http.MethodGet, "/tools/search", a.search, ""},
		{http.MethodPost, "/calls", a.call, ""},
		{http.MethodPost, "/calls/batch", a.batch, ""},
		{http.MethodGet, "/calls", a.calls, needsAny},
		{http.MethodGet, "/calls/{id}", a.record, needsAny},
		{http.MethodGet, "/usage", a.usage, needsAny},
		{http.MethodGet, "/record", a.recordStatus, needsAny},
		{http.MethodGet, "/handles/{id}", a.handle, ""},
		{http.MethodGet, "/skills", guide{a}.skills, ""},
		{http.MethodGet, "/skills/{name}", guide{a}.skill, ""},
		{http.MethodPost, "/policy/explain", guide{a}.explainPolicy, ""},
		{http.MethodGet, "/stops", a.stops, needsApprover},
		{http.MethodPost, "/stops", a.stop, needsApprover},
		{http.MethodPost, "/stops/resume", a.resume, needsApprover},
		{http.MethodGet, "/approvals", person.list, needsApprover},
		{http.MethodGet, "/approvals/{id}", person.get, needsApprover},
		{http.MethodPost, "/approvals/{id}/decide", person.decide, needsApprover},
		{http.MethodGet, "/events", person.events, needsApprover},
		{http.MethodGet, "/openapi.json", a.openapi, needsNothing},
	}
}

// A response is an answer of status 200.
type response struct {
	contentType string
	body        []byte
	// events gives the events of a stream until they end, in place of a body.
	events iter.Seq[event]
}

const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

func jsonOf(v any) (response, error) {
	b, err := json.Marshal(v)
	return response{contentType: typeJSON, body: b}, err
}

// handler serves an operation, and gives its error the form of the API.
func (a *api) handler(serve serveFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.gw.Access().Caller(r)
		var res response
		if err == nil {
			caller.Via = "rest"
			res, err = serve(r, caller)
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if res.events != nil {
			stream(w, whileKnown(a, r, res.events))
			return
		}
		write(w, http.StatusOK, res)
	})
}

func write(w http.ResponseWriter, status int, res response) {
	w.Header().Set("Content-Type", res.contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(res.body)))
	w.WriteHeader(status)
	_, _ = w.Write(res.body) // a client that is gone needs no answer
}

// An Error is what the API answers with where there is no other answer.
type Error struct {
	Text string    `json:"error"`
	Kind tool.Kind `json:"error_kind"`
	// Where is the place of a mistake in a body, as a JSON pointer such as
	// /calls/2/arguments; empty where there is no one place.
	Where string `json:"where,omitempty"`

	status int
	allow  string // the methods that are possible, for 405
}

// Error returns the text, after the place where there is one.
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Text
	}
	return e.Where + ": " + e.Text
}

// Unwrap gives the kind to tool.KindOf.
func (e *Error) Unwrap() error { return &tool.Error{Kind: e.Kind, Text: e.Error()} }

// statusOf maps the kinds of error to HTTP. It is not used for the outcome of a
// call, which is always 200.
var statusOf = map[tool.Kind]int{
	tool.Invalid:        http.StatusBadRequest,
	tool.NotFound:       http.StatusNotFound,
	tool.Denied:         http.StatusForbidden,
	tool.Unavailable:    http.StatusServiceUnavailable,
	tool.Timeout:        http.StatusGatewayTimeout,
	tool.Canceled:       http.StatusServiceUnavailable,
	tool.Failed:         http.StatusBadGateway,
	tool.OutcomeUnknown: http.StatusBadGateway,
	tool.Internal:       http.StatusInternalServerError,
}

func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	if refusal, ok := errors.AsType[*tenon.Refusal](err); ok {
		refusal.Tell(w.Header())
		err = &Error{Text: refusal.Text, Kind: tool.KindOf(refusal), status: refusal.Status}
	}
	e := a.explain(r, err)
	if e.status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not worth reading
	}
	if e.allow != "" {
		w.Header().Set("Allow", e.allow)
	}
	body, err := json.Marshal(e)
	if err != nil { // texts always marshal
		a.log.Error("error of the api cannot be written", "error", err)
	}
	write(w, e.status, response{contentType: typeJSON, body: body})
}

// explain gives err the form that the API shows. What is a fault of Tenon is
// logged and not shown.
func (a *api) explain(r *http.Request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.status == 0 {
			e.status = statusOf[e.Kind]
		}
		return e
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return &Error{Text: e.Text, Kind: e.Kind, status: statusOf[e.Kind]}
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{
			Text: "the body is larger than " + strconv.FormatInt(e.Limit, 10) + " bytes", Kind: tool.Invalid,
			status: http.StatusRequestEntityTooLarge,
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Text: "the request was given up", Kind: tool.Canceled, status: statusOf[tool.Canceled]}
	}
	a.log.Error("request of the api failed", "method", r.Method, "path", r.URL.Path, "error", err)
	return &Error{Text: "internal error; the log of the gateway says more", Kind: tool.Internal, status: statusOf[tool.Internal]}
}

func noSuchPath(r *http.Request, _ tool.Caller) (response, error) {
	return response{}, &Error{Text: "there is no path " + r.URL.Path + "; GET " + Prefix + "/openapi.json lists all", Kind: tool.NotFound}
}

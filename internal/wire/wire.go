// Package wire speaks JSON-RPC as the Model Context Protocol does: over byte
// streams with one message a line (stdio), over streamable HTTP, and over the
// HTTP+SSE transport of 2024-11-05; both ends of the first two, the client's end
// of the last.
//
// It reads envelopes only. Params and results are bytes that pass through: an
// integer above 2^53, a field nobody knows, the order of keys all survive, and a
// message costs one scan and one copy. What a message means is for others: this
// package knows ids, progress tokens, cancellation, sessions and frames.
//
// A Client calls a server. Its implementations are Stream, HTTP and SSE:
//
//	c := wire.NewStream(wire.StreamOptions{R: stdout, W: stdin})
//	result, err := c.Call(ctx, &wire.Request{Method: "tools/list"})
//
// A Handler answers what the other side asks. A Stream takes one, since either
// end of it may ask; a Server takes one for each session.
//
// The messages are those of https://modelcontextprotocol.io/specification.
package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// DefaultMaxMessage bounds one message in bytes where the options say nothing.
// Real servers list their tools in lines of a megabyte.
const DefaultMaxMessage = 64 << 20

// A Client is a connection to a server. It is safe for concurrent use.
type Client interface {
	// Call sends a request and waits for its answer. The error is an *Error where
	// the server answered with one, the cause of ctx where the caller gave up (the
	// server is told), a *SendError where the request provably never left, a
	// *RequestError where it never can, a *RedirectError where the server did not
	// carry it out, and anything else where the connection failed.
	Call(ctx context.Context, r *Request) (tool.Bytes, error)
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params []byte) error
	// Done is closed when the connection has ended.
	Done() <-chan struct{}
	// Err says why it ended, and is nil before.
	Err() error
	// Close ends the connection and waits for all that it started. Calls in
	// flight fail.
	Close() error
}

// A Request is a request to a server. The client chooses its id.
type Request struct {
	Method string
	Params []byte // JSON object, or empty
	// Set are members to set in Params, and Meta are members to set in the _meta of
	// Params: nothing of long params is copied for it.
	Set, Meta []jsonrpc.Field
	// Progress receives the params of each progress notification for this
	// request, in order. Where it is set, the client puts a progress token of its
	// own into params. It must return quickly.
	Progress func(params tool.Bytes)
	// Header goes along where the transport is HTTP.
	Header http.Header
	// Handler takes what the server asks and notifies on the stream of the answer,
	// where the transport is streamable HTTP. Nil leaves it to the client's handler.
	Handler Handler
}

// A Handler answers what the other side sends. Its methods are called
// concurrently, but for notifications, which come one after the other.
type Handler interface {
	// Request answers a request. ctx ends when the other side cancels it or is
	// gone; the answer is then dropped.
	Request(ctx context.Context, x *Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error)
	// Notification takes a notification. It must return quickly.
	Notification(x *Exchange, m *jsonrpc.Message)
}

// An Exchange is how a message came, and the way back beside its answer.
type Exchange struct {
	Session *Session    // nil for a request that belongs to none
	Header  http.Header // nil where the transport is not HTTP
	Caller  tool.Caller // who sends the request; see ServerOptions.Admit
	notify  func(method string, params []byte) error
	// ask sends a request to the other side of a stream. Over HTTP it is the session
	// of the legacy era that does, on the stream of the answer.
	ask    func(ctx context.Context, method string, params []byte) (tool.Bytes, error)
	http   *httpSession
	stream *eventStream
}

// Notify sends a notification that belongs to the request, progress for one.
// It must not be called after the request was answered.
func (x *Exchange) Notify(method string, params []byte) error { return x.notify(method, params) }

// A SendError wraps the failure of a request that never left this process, and
// so can be sent again without harm.
type SendError struct{ Err error }

// Error returns the text of the cause.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// A RequestError says that a request cannot be sent to any server as it is: its
// params are no JSON object, or have a member twice that is to be set.
type RequestError struct{ Err error }

// Error returns the text of the cause.
func (e *RequestError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// A RedirectError says that a server sent a request elsewhere, and did not carry
// it out; and why it was not followed.
type RedirectError struct{ Text string }

// Error returns the text.
func (e *RedirectError) Error() string { return e.Text }

// ErrClosed says that this side closed the connection.
var ErrClosed = errors.New("connection is closed")

// ErrSessionLost says that the server no longer knows the session (HTTP 404).
var ErrSessionLost = errors.New("server has lost the session")

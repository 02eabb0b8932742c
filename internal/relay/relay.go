// Package relay carries requests between clients and servers of the two eras of the
// Model Context Protocol, in the four ways in which they can meet, without reading
// more of them than it must.
//
// In the legacy era a server may ask its client something while it works: for an
// answer of a model, for an answer of the person, for the roots of the project. The
// client gets a link of its own to each such server, and is asked with a request. In
// the modern era a server answers that it needs input, and the client comes again
// with it. What a client is given to come again with is signed here, and bound to the
// caller, the server and the request.
//
//	r := relay.New()
//	c := r.Client(relay.Options{Capabilities: caps, Ask: ask, Notify: notify})
//	defer c.Close()
//	result, err := c.Do(ctx, server, relay.Request{Method: "prompts/get", Params: params})
//
// Where the eras differ, a legacy client is asked in the name of a modern server, and
// a legacy server that asks waits until its modern client has come again.
package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A Handler takes what a server sends by itself.
type Handler interface {
	// Asked answers a request of the server.
	Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error)
	// Heard takes a notification.
	Heard(method string, params tool.Bytes)
}

// A Greeting is what a server is told of the client that a link is for.
type Greeting struct {
	Caller                   string // whose client it is
	Capabilities, ClientInfo json.RawMessage
	Handler                  Handler
}

// A Link is a connection to a legacy server that belongs to one client alone.
type Link interface {
	Ended() bool
	Notify(ctx context.Context, method string, params []byte) error
	Close()
}

// ErrModernOnly says that a server does not speak the legacy era.
var ErrModernOnly = errors.New("the server speaks the modern era only")

// ErrNoPlace says that a server has as many links of single clients as it may, or this
// caller its share of them.
var ErrNoPlace = errors.New("no connection of the client's own")

// A Server is where requests go.
type Server interface {
	Name() string
	// Era returns the era in which the server is spoken to on the way that all share.
	Era(ctx context.Context) (era.Era, error)
	// Send sends a request, on its link or on the way that all share, and returns the
	// result. An error that the server answered with is a *jsonrpc.Error.
	Send(ctx context.Context, s *Sending) (tool.Bytes, error)
	// Open opens a link. It is nil where clients get none of their own, and the error
	// ErrModernOnly where the server does not speak the legacy era, or ErrNoPlace.
	Open(ctx context.Context, g Greeting) (Link, error)
}

// A Sending is a request on its way to a server.
type Sending struct {
	Method   string
	Params   []byte
	Link     Link            // nil is the way that all share
	Meta     []jsonrpc.Field // what a modern server is told of the client; nil is nothing
	Header   http.Header
	Progress func(params tool.Bytes)
	Stream   Handler // takes what comes on the stream of the answer
}

// A Request is a request of a client.
type Request struct {
	Method   string
	Params   []byte
	Peer     tool.Peer // the way back beside the answer
	Progress func(params tool.Bytes)
}

// A Relay is what all clients have in common. Close it.
type Relay struct {
	key     [32]byte
	parked  parked
	tasking taskStates
	leases  leases
	grants  grants
	held    allHeld
	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
}

// New returns a relay. What it signs is of no worth to another one.
func New(ctx context.Context) *Relay {
	r := &Relay{}
	_, _ = rand.Read(r.key[:]) // never fails; it ends the program instead
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Close gives up what waits for clients that have not come again.
func (r *Relay) Close() {
	r.cancel()
	r.tasks.Wait()
	r.leases.close()
}

// errorOf returns an error of a server as a client is to see it.
func errorOf(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
}

// toModern returns an error of a legacy server as the modern era has it.
func toModern(err error) error {
	return recode(err, jsonrpc.CodeResourceNotFound, jsonrpc.CodeInvalidParams)
}

// toLegacy returns an error of a modern server as the legacy era has it.
func toLegacy(method string, err error) error {
	if method != "resources/read" {
		return err
	}
	return recode(err, jsonrpc.CodeInvalidParams, jsonrpc.CodeResourceNotFound)
}

func recode(err error, from, to int) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != from {
		return err
	}
	return &jsonrpc.Error{Code: to, Message: e.Message, Data: e.Data}
}

// Package client is an MCP client that costs as little as it can: the
// benchmark's load generator runs on the same cores as the gateway that it
// measures. A request is built once, HTTP head and all, and sent again and
// again with another id of the same length; of an answer, only its two ends
// are kept.
//
//	s, err := client.DialHTTP(ctx, "http://127.0.0.1:8400/mcp")
//	call := s.Prepare("tools/call", `{"name":"echo","arguments":{"text":"x"}}`)
//	var answer client.Answer
//	for range calls {
//		err := s.Do(call, &answer)
//	}
//
// It speaks the legacy era alone: initialize, then Mcp-Session-Id and
// MCP-Protocol-Version with each request, and answers as JSON or as
// server-sent events. It understands just as much HTTP and JSON as a benchmark
// on a machine of its own needs: no redirects, no TLS, no reconnecting.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// protocol is the version that the client asks for.
	protocol = "2025-06-18"
	// firstID and the ids that follow it have one length, so that an id can be
	// written over the last one.
	firstID  = 100_000_000
	idDigits = 9
)

var (
	// ErrNoAnswer is returned where a response ended without the answer to the request.
	ErrNoAnswer = errors.New("no answer in the response")

	// ErrBroken is returned where the session's connection has failed, so that
	// no other request can be sent.
	ErrBroken = errors.New("connection is broken")
)

// broken marks an error of the connection itself.
func broken(err error) error { return fmt.Errorf("%w: %w", ErrBroken, err) }

// A Session is one MCP session over one connection. It is for one caller at a
// time; SetDeadline alone may be called from elsewhere.
type Session struct {
	conn     connection
	id       int64
	keep     int
	idMember []byte // `"id":100000000`, as the answer holds it
}

// A connection carries the messages of a session.
type connection interface {
	// frame returns a message as it is sent, and where in it the message stands.
	frame(msg []byte) (framed []byte, at int)
	// exchange sends a framed request and reads the answer that holds match.
	exchange(framed, match []byte, keep int, a *Answer) error
	// send sends a framed notification.
	send(framed []byte) error
	// agreed is told the protocol version, which later frames may have to name.
	agreed(version string)
	setDeadline(t time.Time) error
	close() error
}

// A Request is a request that was built once and is sent many times. It
// belongs to its session.
type Request struct {
	framed []byte
	idAt   int
}

// open begins the session on a new connection.
func open(conn connection) (*Session, error) {
	s := &Session{conn: conn, id: firstID, keep: KeepHead, idMember: fmt.Appendf(nil, `"id":%d`, firstID)}
	raw, err := s.Ask("initialize", `{"protocolVersion":"`+protocol+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err != nil {
		return nil, errors.Join(err, conn.close())
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, errors.Join(fmt.Errorf("initialize: %w", err), conn.close())
	}
	conn.agreed(result.ProtocolVersion)
	framed, _ := conn.frame([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err := conn.send(framed); err != nil {
		return nil, errors.Join(fmt.Errorf("notifications/initialized: %w", err), conn.close())
	}
	return s, nil
}

// Prepare builds a request. The params are JSON.
func (s *Session) Prepare(method, params string) *Request {
	const before = `{"jsonrpc":"2.0","id":`
	msg := fmt.Appendf(nil, before+`%d,"method":%q,"params":%s}`, firstID, method, params)
	framed, at := s.conn.frame(msg)
	return &Request{framed: framed, idAt: at + len(before)}
}

// Do sends the request and reads the answer to it. An answer that tells of an
// error, of JSON-RPC or of the tool, is an error here too. After ErrBroken the
// session is of no more use.
func (s *Session) Do(r *Request, a *Answer) error {
	s.id++
	digits := s.idMember[len(s.idMember)-idDigits:]
	for n, i := s.id, idDigits-1; i >= 0; n, i = n/10, i-1 {
		digits[i] = byte('0' + n%10)
	}
	copy(r.framed[r.idAt:], digits)
	if err := s.conn.exchange(r.framed, s.idMember, s.keep, a); err != nil {
		return err
	}
	if !a.Holds(s.idMember) {
		return fmt.Errorf("%w: %.200q", ErrNoAnswer, a.Head)
	}
	if a.Holds([]byte(`"error":{`)) || a.Holds([]byte(`"isError":true`)) {
		return fmt.Errorf("answered with an error: %.300s", a.Head)
	}
	return nil
}

// Ask sends one request and returns its result whole. It costs more than Do
// and is for what is not measured.
func (s *Session) Ask(method, params string) (json.RawMessage, error) {
	defer func(keep int) { s.keep = keep }(s.keep)
	s.keep = math.MaxInt
	var a Answer
	if err := s.Do(s.Prepare(method, params), &a); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(a.Head, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return answer.Result, nil
}

// A Listing is the tools that a server lists, over all pages.
type Listing struct {
	Names []string
	Pages []string // the params that asked for each page
}

// List asks for all tools.
func (s *Session) List() (Listing, error) {
	l := Listing{}
	params := "{}"
	for {
		raw, err := s.Ask("tools/list", params)
		if err != nil {
			return l, err
		}
		var page struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return l, fmt.Errorf("tools/list: %w", err)
		}
		l.Pages = append(l.Pages, params)
		for _, t := range page.Tools {
			l.Names = append(l.Names, t.Name)
		}
		if page.NextCursor == "" {
			return l, nil
		}
		cursor, err := json.Marshal(page.NextCursor)
		if err != nil {
			return l, err
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
}

// SetDeadline makes exchanges fail that have not ended by then; one in the
// past ends those under way. It does nothing on stdio, where the end of the
// context that the session was started with ends the server. It may be called
// while another goroutine uses the session.
func (s *Session) SetDeadline(t time.Time) error { return s.conn.setDeadline(t) }

// Close ends the session and its connection.
func (s *Session) Close() error { return s.conn.close() }

// DialHTTP begins a session with a server that speaks streamable HTTP. The
// context bounds the beginning of the session.
func DialHTTP(ctx context.Context, url string) (*Session, error) {
	c, err := dial(ctx, url)
	if err != nil {
		return nil, err
	}
	// Without a deadline in the context this clears the connection's.
	begun, _ := ctx.Deadline()
	if err := c.setDeadline(begun); err != nil {
		return nil, errors.Join(err, c.close())
	}
	stop := context.AfterFunc(ctx, func() { _ = c.setDeadline(time.Unix(1, 0)) })
	s, err := open(c)
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return s, c.setDeadline(time.Time{})
}

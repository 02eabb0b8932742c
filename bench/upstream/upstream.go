// Package upstream is the least that an MCP server can do: it scans a JSON-RPC
// message by hand, writes the answer, and speaks stdio or streamable HTTP with
// plain JSON answers. A benchmark puts it behind a gateway so that what is
// measured is the gateway: a server on an SDK would cost several times what
// the gateway does, and hide it.
//
// It is a legacy server without sessions. It knows initialize, ping,
// tools/list and tools/call, and answers every other request, server/discover
// among them, with "method not found". Its tools:
//
//	echo     {"text": string}   answers with the text
//	payload  {"size": integer}  answers with a text of that many bytes
//	dummy_N                     as many as asked for, each of DummySize bytes in the list; answers like echo
//
// It trusts its caller. It checks nothing that it does not need, so it is of
// no use as a server for anything else.
package upstream

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	// DummySize is the size in bytes of each dummy tool in the list: that of
	// a tool with a paragraph of description and one documented parameter.
	DummySize = 735

	// MaxPayload is the largest text in bytes that payload answers with.
	MaxPayload = 64 << 20

	// newest is the protocol version offered to a client that asks for a later one.
	newest = "2025-11-25"

	echoTool = `{"name":"echo","description":"Returns the text.",` +
		`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`
	payloadTool = `{"name":"payload","description":"Returns a text of the given size.",` +
		`"inputSchema":{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}}`
)

// Options say what the server offers.
type Options struct {
	Tools int // dummy tools beside echo and payload
}

// A Server answers MCP messages. It is safe for concurrent use.
type Server struct {
	list    []byte // the result of tools/list and the end of the message
	payload atomic.Pointer[payload]
}

// A payload is the text that was last asked for, kept because making 20 MiB
// anew for each call would be the larger part of the call.
type payload struct {
	size int64
	rest []byte // the text, quoted, and the end of the message
}

// New returns a server.
func New(o Options) *Server {
	list := make([]byte, 0, 1024+o.Tools*(DummySize+1))
	list = append(list, `{"tools":[`+echoTool+","+payloadTool...)
	for i := range o.Tools {
		list = append(list, ',')
		list = appendDummy(list, i)
	}
	return &Server{list: append(list, "]}}"...)}
}

// appendDummy appends the definition of a dummy tool, padded to DummySize.
func appendDummy(dst []byte, i int) []byte {
	const words = "Looks up the records that match the query and returns them in order. "
	head := fmt.Sprintf(`{"name":"dummy_%05d","description":"`, i)
	middle := `","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"`
	const end = `"}},"required":["query"]}}`
	pad := DummySize - len(head) - len(middle) - len(end)
	text := strings.Repeat(words, pad/len(words)+1)[:pad]
	dst = append(dst, head...)
	dst = append(dst, text[:pad/2]...)
	dst = append(dst, middle...)
	dst = append(dst, text[pad/2:]...)
	return append(dst, end...)
}

// An Answer is one JSON-RPC message in two parts, written one after the other.
// Both are empty where no answer is due.
type Answer struct {
	Own    []byte // the caller's buffer, grown
	Shared []byte // part of the server: not to be changed
}

// Answer answers one message, appending to dst what is made for this answer.
func (s *Server) Answer(dst, msg []byte) Answer {
	m, ok := Scan(msg)
	if !ok {
		return Answer{Own: append(dst, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`...)}
	}
	if m.ID == nil {
		return Answer{Own: dst}
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, m.ID...)
	switch string(m.Method) {
	case "initialize":
		dst = append(dst, `,"result":{"protocolVersion":"`...)
		dst = append(dst, version(m.Params)...)
		return Answer{Own: append(dst, `","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`...)}
	case "ping":
		return Answer{Own: append(dst, `,"result":{}}`...)}
	case "tools/list":
		return Answer{Own: append(dst, `,"result":`...), Shared: s.list}
	case "tools/call":
		return s.call(dst, m.Params)
	}
	return Answer{Own: append(dst, `,"error":{"code":-32601,"message":"method not found"}}`...)}
}

// call appends the rest of the answer to a tools/call.
func (s *Server) call(dst, params []byte) Answer {
	const begin = `,"result":{"content":[{"type":"text","text":`
	name, arguments := unquoted(member(params, "name")), member(params, "arguments")
	switch {
	case string(name) == "payload":
		size, err := strconv.ParseInt(string(member(arguments, "size")), 10, 64)
		if err != nil || size < 0 || size > MaxPayload {
			return Answer{Own: append(dst, `,"error":{"code":-32602,"message":"size is out of range"}}`...)}
		}
		return Answer{Own: append(dst, begin...), Shared: s.text(size)}
	case string(name) == "echo" || bytes.HasPrefix(name, []byte("dummy_")):
		text := member(arguments, "text")
		if unquoted(text) == nil {
			text = []byte(`""`)
		}
		dst = append(dst, begin...)
		dst = append(dst, text...)
		return Answer{Own: append(dst, `}]}}`...)}
	}
	return Answer{Own: append(dst, `,"error":{"code":-32602,"message":"no such tool"}}`...)}
}

// text returns a quoted text of size bytes and the end of the message.
func (s *Server) text(size int64) []byte {
	if p := s.payload.Load(); p != nil && p.size == size {
		return p.rest
	}
	rest := make([]byte, 0, size+8)
	rest = append(rest, '"')
	rest = append(rest, Text(int(size))...)
	rest = append(rest, `"}]}}`...)
	s.payload.Store(&payload{size: size, rest: rest})
	return rest
}

// Text returns the text of size bytes that payload answers with: letters,
// digits and spaces, none of which JSON escapes.
func Text(size int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return bytes.Repeat([]byte(letters), size/len(letters)+1)[:size]
}

// version returns the protocol version to answer an initialize with: the
// client's own where it is one of the legacy era.
func version(params []byte) string {
	asked := string(unquoted(member(params, "protocolVersion")))
	if len(asked) != len(newest) || asked > newest {
		return newest
	}
	return asked
}

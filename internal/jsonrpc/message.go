// Package jsonrpc reads and writes JSON-RPC 2.0 messages whose params, results
// and errors stay the bytes that they are, and edits such bytes where a member
// has to be another one. It knows nothing of connections.
//
//	m, err := jsonrpc.Parse(tool.OneOf(line))
//	…
//	params, err := jsonrpc.Edit(m.Params.Join(), jsonrpc.Field{Key: "name", Value: []byte(`"echo"`)})
//
// One scan checks the structure of a text and finds the members that are wanted.
// All else survives: integers above 2^53, unknown members, the order of keys.
//
// See https://www.jsonrpc.org/specification, and RFC 8259 for JSON.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/tool"
)

// A Message is one JSON-RPC 2.0 message. Only its envelope is read: the values
// are the bytes that came, in as many pieces as they came in.
type Message struct {
	ID     []byte // a JSON number or string as it came; nil where there is none
	Method string // empty in an answer
	Params tool.Bytes
	Result tool.Bytes
	Error  tool.Bytes
}

// IsRequest reports whether an answer is due.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether m is a notification.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// Value returns what an answer gives: its result, or its error as an *Error.
func (m *Message) Value() (tool.Bytes, error) {
	if m.Error != nil {
		return nil, ErrorOf(m.Error)
	}
	return m.Result, nil
}

// IsAnswer reports whether m answers a request.
func (m *Message) IsAnswer() bool { return m.Method == "" }

// Order matters: a Scan remembers the value of the first.
var envelope = []string{"id", "jsonrpc", "method", "params", "result", "error"}

// Parse reads the envelope of one message. It refuses what is not a JSON object,
// what is not JSON-RPC 2.0, and an envelope that has one of its members twice.
func Parse(b tool.Bytes) (*Message, error) {
	s := Scan{scanner{keys: envelope}}
	for _, p := range b {
		if err := s.Feed(p); err != nil {
			return nil, err
		}
	}
	return s.Message(b)
}

// A Scan reads the envelope of one message that comes in pieces.
type Scan struct{ scanner }

// NewScan returns a scan that also remembers the message's id by itself, so that
// it is known even where the text is dropped for its length.
func NewScan() *Scan { return &Scan{scanner{keys: envelope, capture: true}} }

// Feed reads the next piece. After an error there is nothing more to read.
func (s *Scan) Feed(p []byte) error { return s.feed(p) }

// ID returns the id, of a scan that remembers it, or nil where none was found.
func (s *Scan) ID() []byte {
	if string(s.scalar) == "null" {
		return nil
	}
	return s.scalar
}

// IsCall reports whether the message names a method, as far as it was read.
func (s *Scan) IsCall() bool { return s.spans[2].Found() }

// IsAnswer reports whether the message has a result or an error, and names no
// method, as far as it was read.
func (s *Scan) IsAnswer() bool {
	return !s.IsCall() && (s.spans[4].Found() || s.spans[5].Found())
}

// beginsAnswer reports whether the scan stands within the result or the error of a
// message that names no method.
func (s *Scan) beginsAnswer() bool {
	return !s.IsCall() && s.depth >= 1 && (s.member == 4 || s.member == 5)
}

// Message returns the message, whose whole text is b: the pieces that were fed.
func (s *Scan) Message(b tool.Bytes) (*Message, error) {
	if err := s.finish(); err != nil {
		return nil, err
	}
	if v := s.spans[1].In(b).Join(); string(v) != `"2.0"` {
		return nil, errors.New("not a JSON-RPC 2.0 message")
	}
	m := &Message{
		Params: s.spans[3].In(b),
		Result: s.spans[4].In(b),
		Error:  s.spans[5].In(b),
	}
	if id := s.spans[0].In(b).Join(); string(id) != "null" {
		m.ID = id
	}
	if m.ID != nil && m.ID[0] != '"' && m.ID[0] != '-' && (m.ID[0] < '0' || m.ID[0] > '9') {
		return nil, errors.New("id of the message is neither a number nor a string")
	}
	if s.spans[2].Found() {
		if s.spans[0].Found() && m.ID == nil {
			return nil, errors.New("id of a request must not be null") // MCP, "Requests"
		}
		method := s.spans[2].In(b).Join()
		if method[0] != '"' || len(method) < 3 {
			return nil, errors.New("method of the message is not a name")
		}
		m.Method = internMethod(unquote(method[1 : len(method)-1]))
		return m, nil
	}
	if (m.Result == nil) == (m.Error == nil) {
		return nil, errors.New("message has neither a method nor one of result and error")
	}
	return m, nil
}

// internMethod saves an allocation for the names that come with every call.
func internMethod(b []byte) string {
	switch string(b) {
	case "tools/call":
		return "tools/call"
	case "tools/list":
		return "tools/list"
	case "notifications/progress":
		return "notifications/progress"
	case "notifications/cancelled":
		return "notifications/cancelled"
	case "ping":
		return "ping"
	}
	return string(b)
}

// unquote undoes the escapes of the inside of a JSON string.
func unquote(b []byte) []byte {
	for _, c := range b {
		if c != '\\' {
			continue
		}
		quoted := make([]byte, 0, len(b)+2)
		quoted = append(append(append(quoted, '"'), b...), '"')
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			return b
		}
		return []byte(s)
	}
	return b
}

// String returns the text of the JSON string b, and whether it is one.
func String(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	return string(unquote(b[1 : len(b)-1])), true
}

// Quote appends s to dst as a JSON string.
func Quote(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			b, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...) // cannot happen: a string always marshals
			}
			return append(dst, b...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// Codes of JSON-RPC errors, by JSON-RPC 2.0 section 5.1 and MCP 2026-07-28.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeResourceNotFound   = -32002 // up to 2025-11-25
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// An Error is the error of a JSON-RPC answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Raw is the whole error object as it came from the other side; nil where
	// this side made it.
	Raw json.RawMessage `json:"-"`
	// Status is the HTTP status to answer with; 0 is 200.
	Status int `json:"-"`
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Errorf returns an error answer with a formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// JSON returns the error object: as it came, where it came from another side.
func (e *Error) JSON() []byte {
	if e.Raw != nil {
		return e.Raw
	}
	b, err := json.Marshal(e)
	if err != nil { // Data is not JSON
		b, _ = json.Marshal(&Error{Code: e.Code, Message: e.Message})
	}
	return b
}

// Refuse returns the error to answer a text with that is no message, for a reason
// that Parse gave: it is no JSON, or it is JSON and no request.
func Refuse(text tool.Bytes, reason error) *Error {
	b := bytes.TrimSpace(text.Join())
	switch {
	case len(b) > 0 && b[0] == '[' && json.Valid(b):
		return Errorf(CodeInvalidRequest, "batches were removed from MCP in 2025-06-18: send one message at a time")
	case json.Valid(b):
		return Errorf(CodeInvalidRequest, "%v", reason)
	}
	return Errorf(CodeParse, "%v", reason)
}

// ErrorOf reads the error of an answer. Of one that two readers could read differently,
// all is the message.
func ErrorOf(b tool.Bytes) *Error {
	e := &Error{Raw: b.Join()}
	var spans [3]Span
	err := OwnMembers(b, []string{"code", "message", "data"}, spans[:])
	twofold := err != nil
	if err == nil && spans[0].Found() {
		err = json.Unmarshal(spans[0].In(b).Join(), &e.Code)
	}
	if err == nil && spans[1].Found() {
		err = json.Unmarshal(spans[1].In(b).Join(), &e.Message)
	}
	e.Data = spans[2].In(b).Join()
	if err != nil {
		// A code that is no integer, or a bare string: show what came.
		e.Code, e.Message = CodeInternal, string(e.Raw)
	}
	if e.Message == "" {
		e.Message = "the other side gave no reason"
	}
	if twofold && json.Valid(e.Raw) && e.Raw[0] == '{' {
		e.Raw = (&Error{Code: e.Code, Message: e.Message}).JSON()
	}
	return e
}

// AppendRequest appends a request, or a notification where id is 0.
func AppendRequest(dst []byte, id int64, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id != 0 {
		dst = append(dst, `,"id":`...)
		dst = strconv.AppendInt(dst, id, 10)
	}
	dst = append(dst, `,"method":`...)
	dst = Quote(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendAnswerHead appends what stands before the value of an answer.
func AppendAnswerHead(dst, id []byte, failed bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		id = []byte("null")
	}
	dst = append(dst, id...)
	if failed {
		return append(dst, `,"error":`...)
	}
	return append(dst, `,"result":`...)
}

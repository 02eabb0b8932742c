package client

import "bytes"

// dataField begins the lines of an event that make up its message.
const dataField = "data:"

// An eventStream splits server-sent events and keeps the first message that
// holds match. It is given the stream in pieces of any size, and stores
// nothing but that message, so a message of 20 MiB costs a search for its end.
type eventStream struct {
	match  []byte
	keep   int
	answer *Answer
	found  bool

	state  lineState
	field  int  // bytes of dataField that the current line began with
	filled bool // the current event has data
}

// A lineState says where in a line the stream is.
type lineState int

const (
	lineStart lineState = iota // nothing of the line seen but perhaps a part of dataField
	afterData                  // behind dataField, where one space does not count
	inData
	otherField
)

// write takes the next piece of the stream.
func (e *eventStream) write(p []byte) {
	for len(p) > 0 && !e.found {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			e.part(p)
			return
		}
		e.part(bytes.TrimSuffix(p[:end], []byte("\r")))
		e.lineEnd()
		p = p[end+1:]
	}
}

// part takes a piece of a line. A carriage return that ends a piece ends up in
// the message, where JSON allows it between tokens.
func (e *eventStream) part(p []byte) {
	for len(p) > 0 && e.state == lineStart {
		switch {
		case p[0] == '\r':
		case p[0] != dataField[e.field]:
			e.state = otherField
		case e.field == len(dataField)-1:
			e.state = afterData
		default:
			e.field++
		}
		p = p[1:]
	}
	if len(p) > 0 && e.state == afterData {
		e.begin()
		if p[0] == ' ' {
			p = p[1:]
		}
	}
	if e.state == inData {
		e.answer.write(p, e.keep)
	}
}

// begin begins a line of data.
func (e *eventStream) begin() {
	e.state = inData
	if e.filled {
		e.answer.write([]byte("\n"), e.keep)
	}
	e.filled = true
}

// lineEnd ends a line; an empty one ends the event.
func (e *eventStream) lineEnd() {
	empty := e.state == lineStart && e.field == 0
	e.state, e.field = lineStart, 0
	if !empty {
		return
	}
	if e.filled && e.answer.Holds(e.match) {
		e.found = true
		return
	}
	e.filled = false
	e.answer.reset()
}

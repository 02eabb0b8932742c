package wire

import (
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
)

// A streamReader takes what the other side sends on a stream.
type streamReader struct {
	*Stream
	garbage int64 // bytes since the last message
}

// run reads to the end, and returns its reason.
func (s *streamReader) run() error {
	r := jsonrpc.NewLineReader(s.o.R, s.o.MaxMessage)
	for {
		ln, err := r.Next()
		switch {
		case err != nil:
			return err
		case ln.Err != nil:
			if s.garbage += s.unreadable(ln); isFlood(s.garbage, s.o.MaxMessage) {
				return ErrGarbage
			}
			continue
		case ln.Message.IsAnswer():
			s.answered(ln.Message)
		default:
			s.asked(ln)
		}
		s.garbage = 0
	}
}

// asked takes a request or a notification. What clients send goes to servers, who would
// not answer what they cannot read.
func (s *streamReader) asked(ln jsonrpc.Line) {
	if s.o.Serving {
		if err := jsonrpc.CheckText(ln.Text); err != nil {
			s.answer(ln.Message.ID, nil, jsonrpc.Errorf(jsonrpc.CodeParse, "%v", err))
			return
		}
	}
	s.dispatch(ln.Message)
}

// takeRaw returns the call that an answer with this id is for, or nil.
func (s *streamReader) takeRaw(raw []byte) *pending {
	id, ok := parseID(raw)
	if !ok {
		return nil
	}
	return s.take(id)
}

func (s *streamReader) answered(m *jsonrpc.Message) {
	if p := s.takeRaw(m.ID); p != nil {
		p.answer <- m
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = max(s.late-1, 0) // it came after its caller gave up, or it came twice
}

// ErrGarbage ends a connection that brings what is no message, and nothing else,
// longer than any message may be: it would go on, and keep a processor busy with it.
var ErrGarbage = errors.New("the other side sends what is no message, without end")

// isFlood reports whether so many bytes in a row that are no message are too much.
func isFlood(bytes, limit int64) bool { return bytes > max(limit, 1<<20) }

// unreadable takes a line that is no message, and returns how much of it counts
// as garbage. Where it is an answer all the same, one that is too large, for one,
// its call fails.
func (s *streamReader) unreadable(ln jsonrpc.Line) int64 {
	head := ln.Text.Join()
	s.o.Garbage(head[:min(len(head), 256)], ln.Err)
	large, isLarge := errors.AsType[*jsonrpc.TooLargeError](ln.Err)
	if s.o.Serving {
		if isLarge {
			s.answer(ln.Message.ID, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%v", ln.Err))
		} else {
			s.answer(nil, nil, jsonrpc.Refuse(ln.Text, ln.Err))
		}
		return 0
	}
	id, maybe := ln.Answers()
	var p *pending
	switch {
	case maybe && id != nil:
		p = s.takeRaw(id)
	case maybe && isLarge:
		p = s.takeOnly()
	}
	switch {
	case p == nil && isLarge:
		return s.o.MaxMessage / 2
	case p == nil:
		return int64(ln.Text.Len())
	case isLarge:
		p.err = large
	default:
		p.err = fmt.Errorf("the answer is no message: %w", ln.Err)
	}
	p.answer <- nil
	return 0
}

// takeOnly takes the call out that an answer without an id must be for, or
// returns nil where it may be for another one.
func (s *streamReader) takeOnly() *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 || s.late > 0 {
		return nil
	}
	for id, p := range s.calls {
		delete(s.calls, id)
		return p
	}
	return nil
}

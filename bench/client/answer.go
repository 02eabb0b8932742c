package client

import "bytes"

const (
	// KeepHead is how many of an answer's first bytes are kept unless a session is told otherwise.
	KeepHead = 512
	// keepTail is how many of its last bytes are kept: an "id" may stand there.
	keepTail = 256
)

// An Answer is one JSON-RPC message as it was received, or its two ends where
// it is large: to load a gateway with answers of 20 MiB, the client must not
// spend its time on storing them. An Answer is used again and again; its
// bytes are good until then. The zero value is ready.
type Answer struct {
	Head []byte // its first bytes, as many as are kept
	Tail []byte // its last bytes, which Head may hold too
	Size int64  // length in bytes
}

// reset empties the answer for the next message.
func (a *Answer) reset() { a.Head, a.Tail, a.Size = a.Head[:0], a.Tail[:0], 0 }

// write adds bytes to the answer, of which at most keep are stored at the head.
func (a *Answer) write(p []byte, keep int) {
	a.Size += int64(len(p))
	if room := keep - len(a.Head); room > 0 {
		a.Head = append(a.Head, p[:min(room, len(p))]...)
	}
	if len(p) >= keepTail {
		a.Tail = append(a.Tail[:0], p[len(p)-keepTail:]...)
		return
	}
	if over := len(a.Tail) + len(p) - keepTail; over > 0 {
		a.Tail = a.Tail[:copy(a.Tail, a.Tail[over:])]
	}
	a.Tail = append(a.Tail, p...)
}

// Whole reports whether Head holds all of the message.
func (a *Answer) Whole() bool { return int64(len(a.Head)) == a.Size }

// Holds reports whether the kept part of the message contains the bytes.
func (a *Answer) Holds(part []byte) bool {
	return bytes.Contains(a.Head, part) || !a.Whole() && bytes.Contains(a.Tail, part)
}

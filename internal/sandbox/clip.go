package sandbox

import (
	"strings"
	"sync"
)

// A Clip keeps the beginning and the end of what is written to it, and counts the
// rest. It may be written to concurrently.
type Clip struct {
	keep int
	mu   sync.Mutex
	head []byte
	tail []byte
	left int64
}

// NewClip returns one that keeps about n bytes; 0 is DefaultKeep.
func NewClip(n int) *Clip {
	if n <= 0 {
		n = DefaultKeep
	}
	return &Clip{keep: n}
}

// Write keeps of b what has room. It never fails.
func (c *Clip) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	if room := c.keep/2 - len(c.head); room > 0 && len(c.tail) == 0 {
		take := min(room, len(b))
		c.head = append(c.head, b[:take]...)
		b = b[take:]
	}
	half := c.keep - c.keep/2
	c.tail = append(c.tail, b...)
	if len(c.tail) > 2*half {
		over := len(c.tail) - half
		c.left += int64(over)
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

// Resize lets it keep about n bytes from here on, as NewClip does.
func (c *Clip) Resize(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := NewClip(n)
	if c.left == 0 { // it is whole, so that it may be cut elsewhere
		_, _ = next.Write(c.head)
		_, _ = next.Write(c.tail)
		c.head, c.tail, c.left = next.head, next.tail, next.left
	}
	c.keep = next.keep
}

// Text returns what was kept, as valid UTF-8, and how many bytes were left out of its
// middle, where a line says so.
func (c *Clip) Text() (text string, left int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half := c.keep - c.keep/2
	tail, left := c.tail, c.left
	if over := len(tail) - half; over > 0 {
		tail, left = tail[over:], left+int64(over)
	}
	between := ""
	if left > 0 {
		between = "\n[… the middle is left out …]\n"
	}
	return strings.ToValidUTF8(string(c.head)+between+string(tail), "\uFFFD"), left
}

package lane

import "sync"

// buffers are what a connection reads into. It has none while it rests.
type buffers struct {
	buf   []byte  // what was read and not used
	box   *[]byte // of the pool, whose bytes are in buf, or in small
	large *[]byte // of the pool, where buf is that
	small []byte  // of the box, meanwhile
}

var (
	boxes = sync.Pool{New: func() any { b := make([]byte, 0, readSize); return &b }}
	// larges has buffers for the largest request that is plain.
	larges = sync.Pool{New: func() any { b := make([]byte, 0, maxHead+maxBody); return &b }}
)

// equip gets a buffer where there is none.
func (b *buffers) equip() {
	if b.box == nil {
		b.box, _ = boxes.Get().(*[]byte)
		b.buf = (*b.box)[:0]
	}
}

// strip gives it back. Nothing is in it that anybody needs.
func (b *buffers) strip() {
	if b.large == nil {
		boxes.Put(b.box)
		b.box, b.buf = nil, nil
	}
}

// grow makes room for more.
func (b *buffers) grow() {
	if len(b.buf) == cap(b.buf) {
		b.large, _ = larges.Get().(*[]byte)
		b.small, b.buf = b.buf, append((*b.large)[:0], b.buf...)
	}
}

// use drops what was read of a request that is served.
func (b *buffers) use(size int) {
	rest := b.buf[size:]
	if b.large == nil || len(rest) >= readSize {
		b.buf = append(b.buf[:0], rest...)
		return
	}
	b.buf = append(b.small[:0], rest...)
	larges.Put(b.large)
	b.large, b.small = nil, nil
}

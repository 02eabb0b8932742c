package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	pageSize = 16 << 10
	pagesMax = 48
)

// Pages are the parts of a file that were read last. Objects that belong together
// stand near each other, so few are enough, however large the file is.
type pages struct {
	r    io.ReaderAt
	size uint64
	held map[uint64]*page
	used uint64 // counts up with every look at a page
	err  error  // why nothing more can be read
}

type page struct {
	b    []byte
	used uint64
}

func newPages(r io.ReaderAt, size uint64) *pages {
	return &pages{r: r, size: size, held: map[uint64]*page{}}
}

// ReadAt fills b from an offset. It returns an error where less is there.
func (p *pages) ReadAt(b []byte, at uint64) (n int, err error) {
	for n < len(b) {
		pg, err := p.page((at + uint64(n)) / pageSize)
		if err != nil {
			return n, err
		}
		inside := int((at + uint64(n)) % pageSize)
		if inside >= len(pg.b) {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(b[n:], pg.b[inside:])
	}
	return n, nil
}

func (p *pages) page(number uint64) (*page, error) {
	p.used++
	if pg := p.held[number]; pg != nil {
		pg.used = p.used
		return pg, nil
	}
	if number*pageSize >= p.size {
		return nil, io.ErrUnexpectedEOF
	}
	pg := p.place()
	n, err := p.r.ReadAt(pg.b[:min(pageSize, p.size-number*pageSize)], int64(number*pageSize))
	if n == 0 && err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			p.err = err
		}
		return nil, err
	}
	pg.b, pg.used = pg.b[:n], p.used
	p.held[number] = pg
	return pg, nil
}

// zeros returns how many bytes of zero there are from an offset on, in words of eight
// and up to the end of the page; at least one word.
func (p *pages) zeros(at uint64) uint64 {
	pg, err := p.page(at / pageSize)
	if err != nil {
		return 8
	}
	rest := pg.b[min(at%pageSize, uint64(len(pg.b))):]
	return max(8, uint64(len(rest)-len(bytes.TrimLeft(rest, "\x00")))&^7)
}

// place returns a page to read into: a new one, or the one that was used longest ago.
func (p *pages) place() *page {
	if len(p.held) < pagesMax {
		return &page{b: make([]byte, pageSize)}
	}
	var oldest uint64
	var found *page
	for number, pg := range p.held {
		if found == nil || pg.used < found.used {
			oldest, found = number, pg
		}
	}
	delete(p.held, oldest)
	found.b = found.b[:pageSize]
	return found
}

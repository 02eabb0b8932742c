package pdf

import "github.com/tetratelabs/wazero/experimental"

// A reserve is memory that grows in its place. Grown by copies, as it is otherwise, it
// costs some times as much.
type reserve int64

func (r reserve) Allocate(_, _ uint64) experimental.LinearMemory {
	b, free := anew(int(r))
	return &piece{b, free}
}

type piece struct {
	whole []byte
	free  func()
}

func (p *piece) Reallocate(size uint64) []byte {
	if size > uint64(len(p.whole)) {
		return nil
	}
	return p.whole[:size]
}

func (p *piece) Free() { p.free() }

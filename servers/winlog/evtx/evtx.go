// Package evtx reads Windows event logs, the files named *.evtx.
//
// A log is a header and chunks of 64 KiB. A chunk stands for itself: it holds
// records, and the names and templates that these share. So a Reader holds one
// chunk in memory, whatever the size of the file:
//
//	r, err := evtx.NewReader(file, size)
//	…
//	for record, err := range r.Records(ctx) {
//		event, err := record.Event()
//		fmt.Fprintln(out, event.System.EventID, event.XML())
//	}
//	fmt.Fprintln(out, r.Report()) // what could not be read, and where
//
// Files come from machines that crashed, disks that failed and people who mean
// harm. Damage costs what it hit and nothing else: a checksum that does not fit is
// told and the chunk is read all the same, a record that cannot be read gives what
// was understood of it, and after bytes that are no record the next one is looked
// for. Nothing that a file says is taken for a size to allocate; depth, number of
// nodes and text of one record are bounded.
package evtx

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"
)

const (
	chunkSize       = 65536
	headerBlock     = 4096
	chunkHeaderSize = 512
	maxChunks       = 1 << 20 // 64 GiB; Windows itself stops at far less

	// MaxInChunk is more records than a chunk can hold.
	MaxInChunk = chunkSize / 28
)

const (
	flagDirty      = 1 // of the file: it was not closed
	flagNoChecksum = 4 // of the file or a chunk
)

// ErrFormat says that a file is no Windows event log.
var ErrFormat = errors.New("no Windows event log (.evtx)")

// A Header is what the file says of itself. A file that was not closed says what was
// true before.
type Header struct {
	Major, Minor uint16
	Chunks       uint16 // in use
	NextRecord   uint64
	Dirty        bool // was not closed
}

// A Reader reads one file. It is for one goroutine.
type Reader struct {
	Header Header

	src        io.ReaderAt
	size       int64
	first      int64 // of the first chunk
	noChecksum bool
	report     Report
	index      []ChunkInfo
	loaded     map[int]bool // chunks whose faults are in the report
}

// A ChunkInfo says where a chunk is and what it claims to hold.
type ChunkInfo struct {
	Number   int // in the file, from 0
	Offset   int64
	FirstID  uint64 // record ids
	LastID   uint64
	headless bool // its header is damaged
}

// NewReader returns a reader of a file of that size. It reads the header alone. The
// error is ErrFormat where it is no event log at all.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, size: size, first: headerBlock}
	var h [128]byte
	n, err := src.ReadAt(h[:], 0)
	if n < len(h) {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: it has %d bytes", ErrFormat, n)
	}
	if string(h[:8]) != "ElfFile\x00" {
		var magic [8]byte
		if _, err := src.ReadAt(magic[:], headerBlock); err != nil || string(magic[:]) != chunkMagic {
			return nil, ErrFormat
		}
		r.report.add(Problem{Chunk: -1, What: "the header of the file is damaged"})
		r.Header.Dirty = true
		return r, nil
	}
	u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	flags := u32(h[120:])
	r.Header = Header{
		Minor: u16(h[36:]), Major: u16(h[38:]), Chunks: u16(h[42:]),
		NextRecord: binary.LittleEndian.Uint64(h[24:]), Dirty: flags&flagDirty != 0,
	}
	r.noChecksum = flags&flagNoChecksum != 0
	if block := int64(u16(h[40:])); block >= 128 {
		r.first = block
	}
	if !r.noChecksum && crc32.ChecksumIEEE(h[:120]) != u32(h[124:]) {
		r.report.BadChecksums++
		r.report.add(Problem{Chunk: -1, What: "the checksum of the file's header does not fit"})
	}
	if r.Header.Major != 3 {
		r.report.add(Problem{Chunk: -1, What: fmt.Sprintf("version %d.%d of the format is not known; it is read as 3.1", r.Header.Major, r.Header.Minor)})
	}
	return r, nil
}

// Report returns what was read so far and what could not be.
func (r *Reader) Report() *Report { return &r.report }

// Chunks returns the chunks that hold records, those with the oldest records first.
// A log is a ring, so that this is not their order in the file.
func (r *Reader) Chunks(ctx context.Context) ([]ChunkInfo, error) {
	if r.index != nil {
		return r.index, nil
	}
	list := []ChunkInfo{}
	for n := 0; ; n++ {
		offset := r.first + int64(n)*chunkSize
		if offset >= r.size {
			break
		}
		if n >= maxChunks {
			r.report.add(Problem{Chunk: n, Offset: offset, What: fmt.Sprintf("more than %d chunks; the rest is not read", maxChunks)})
			break
		}
		if n%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if info, ok := r.look(n, offset); ok {
			list = append(list, info)
		}
	}
	slices.SortStableFunc(list, func(a, b ChunkInfo) int { return cmp.Compare(a.LastID, b.LastID) })
	r.index = list
	return list, nil
}

// look reads the head of a chunk. It returns false for one that was never used, or
// cannot be read.
func (r *Reader) look(n int, offset int64) (ChunkInfo, bool) {
	var head [chunkHeaderSize + recordHeader]byte
	got, err := r.src.ReadAt(head[:], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		r.report.BadChunks++
		r.report.add(Problem{Chunk: n, Offset: offset, What: "cannot be read: " + err.Error()})
		return ChunkInfo{}, false
	}
	info := ChunkInfo{Number: n, Offset: offset}
	if got >= 128 && string(head[:8]) == chunkMagic {
		info.FirstID, info.LastID = binary.LittleEndian.Uint64(head[24:]), binary.LittleEndian.Uint64(head[32:])
		if info.LastID == ^uint64(0) || info.FirstID > info.LastID { // an empty chunk says so
			info.LastID = 0
		}
		return info, true
	}
	info.headless = true
	if got == len(head) && plausible(head[chunkHeaderSize:], chunkSize-chunkHeaderSize) {
		info.FirstID = binary.LittleEndian.Uint64(head[chunkHeaderSize+8:])
		info.LastID = info.FirstID
		return info, true
	}
	if allZero(head[:got]) && (r.Header.Dirty || n >= int(r.Header.Chunks)) {
		return info, false // never used
	}
	if n >= int(r.Header.Chunks) && !r.Header.Dirty {
		return info, false // what lay on the disk before
	}
	return info, true
}

// Load reads a chunk into c, which may have held another one.
func (r *Reader) Load(info ChunkInfo, c *Chunk) error {
	if c.buf == nil {
		c.buf = make([]byte, chunkSize)
	}
	c.info, c.records, c.names = info, c.records[:0], nil
	report := &r.report
	if r.loaded[info.Number] {
		report = &Report{} // told already
	} else if r.loaded == nil {
		r.loaded = map[int]bool{}
	}
	r.loaded[info.Number] = true
	n, err := r.src.ReadAt(c.buf[:cap(c.buf)][:chunkSize], info.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		report.BadChunks++
		report.add(Problem{Chunk: info.Number, Offset: info.Offset, What: "cannot be read: " + err.Error()})
		c.buf = c.buf[:0]
		return nil // it is told in the report
	}
	c.buf = c.buf[:n]
	report.Chunks++
	c.scan(report, r.noChecksum)
	return nil
}

// Records returns all records, the oldest first. What cannot be read is in the
// Report. The error is that of ctx. A record is valid until the next one is asked
// for.
func (r *Reader) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		chunks, err := r.Chunks(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		var c Chunk
		for _, info := range chunks {
			if err := errors.Join(ctx.Err(), r.Load(info, &c)); err != nil {
				yield(Record{}, err)
				return
			}
			for _, record := range c.Records() {
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

package evtx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

const (
	chunkMagic   = "ElfChnk\x00"
	recordHeader = 24
	minRecord    = recordHeader + 4 // and the copy of its size
)

var recordMagic = []byte{0x2a, 0x2a, 0, 0}

// A Chunk is 64 KiB of a log. Its zero value is ready for Reader.Load.
type Chunk struct {
	buf     []byte
	info    ChunkInfo
	records []Record
	names   map[uint32]string
	report  *Report
}

// A Record is one event, not yet read.
type Record struct {
	ID      uint64    // in this file; the one in the event is that of the first log
	Written time.Time // when it was written to the log, which may be after the event
	Offset  int64     // in the file

	chunk      *Chunk
	start, end int
}

// Records returns the records of the chunk, the oldest first. They are valid until
// the next Load.
func (c *Chunk) Records() []Record { return c.records }

// scan finds the records and verifies the checksums.
func (c *Chunk) scan(report *Report, noChecksum bool) {
	c.report = report
	if len(c.buf) < chunkHeaderSize {
		report.BadChunks++
		c.problem(0, "the file ends in the header of the chunk")
		return
	}
	u32 := binary.LittleEndian.Uint32
	free := int(u32(c.buf[48:]))
	if c.info.headless {
		report.BadChunks++
		c.problem(0, "the header of the chunk is damaged; records are looked for")
		c.walk(len(c.buf), 0)
		return
	}
	if len(c.buf) < chunkSize {
		report.BadChunks++
		c.problem(int64(len(c.buf)), "the file ends in this chunk")
	}
	if free < chunkHeaderSize || free > chunkSize {
		c.problem(48, "the chunk says that its free space begins outside of it")
		free = len(c.buf)
	}
	if !noChecksum && u32(c.buf[120:])&flagNoChecksum == 0 {
		sum := crc32.Update(crc32.ChecksumIEEE(c.buf[:120]), crc32.IEEETable, c.buf[128:chunkHeaderSize])
		if sum != u32(c.buf[124:]) {
			report.BadChecksums++
			c.problem(124, "the checksum of the chunk's header does not fit")
		}
		if free <= len(c.buf) && crc32.ChecksumIEEE(c.buf[chunkHeaderSize:free]) != u32(c.buf[52:]) {
			report.BadChecksums++
			c.problem(52, "the checksum of the chunk's records does not fit")
		}
	}
	c.walk(min(free, len(c.buf)), c.info.LastID)
}

// walk finds records up to free, where the chunk says that they end, and those
// behind that continue the row: a log that was not closed has them. lastID is what
// the header names as the last one, 0 where it is not known.
func (c *Chunk) walk(free int, lastID uint64) {
	var previous uint64
	pos := chunkHeaderSize
	for pos+minRecord <= len(c.buf) {
		head := c.buf[pos:]
		id := binary.LittleEndian.Uint64(head[8:])
		if pos >= free && (previous == 0 || id != previous+1) {
			break
		}
		size := int(binary.LittleEndian.Uint32(head[4:]))
		if bytes.Equal(head[:4], recordMagic) && size >= minRecord && size <= len(head) {
			if int(binary.LittleEndian.Uint32(head[size-4:])) != size {
				c.report.BadRecords++
				c.problem(int64(pos), fmt.Sprintf("record %d was not written to its end: its two sizes differ", id))
			}
			c.keep(pos, size, id)
			previous, pos = id, pos+size
			continue
		}
		if pos >= free {
			break
		}
		next := c.resync(pos, free, previous, lastID)
		if next < 0 {
			c.lost(pos, free, previous, lastID)
			return
		}
		found := binary.LittleEndian.Uint64(c.buf[next+8:])
		c.lost(pos, next, previous, found-1)
		pos = next
	}
	if lastID > 0 && previous < lastID {
		c.lost(pos, pos, previous, lastID)
	}
}

// lost tells of bytes that are no record, and of the records that should be there.
func (c *Chunk) lost(from, to int, previous, last uint64) {
	missing, known := 0, previous > 0
	if !known && c.info.FirstID > 0 {
		previous, known = c.info.FirstID-1, true
	}
	if known && last > previous && last-previous < chunkSize/minRecord {
		missing = int(last - previous)
	}
	zero := from >= to || allZero(c.buf[from:to])
	switch {
	case missing > 0:
		c.report.Missing += missing
		c.problem(int64(from), fmt.Sprintf("records %d to %d are not there", previous+1, last))
	case !zero && !c.info.headless:
		c.report.BadRecords++
		c.problem(int64(from), fmt.Sprintf("%d bytes that are no record", to-from))
	}
}

// resync finds the next record behind pos: one that is whole, and whose id fits.
func (c *Chunk) resync(pos, limit int, previous, lastID uint64) int {
	for from := pos + 1; from+minRecord <= limit; {
		i := bytes.Index(c.buf[from:limit], recordMagic)
		if i < 0 {
			return -1
		}
		at := from + i
		from = at + 1
		if at+minRecord > limit || !plausible(c.buf[at:], len(c.buf)-at) {
			continue
		}
		size := int(binary.LittleEndian.Uint32(c.buf[at+4:]))
		id := binary.LittleEndian.Uint64(c.buf[at+8:])
		if int(binary.LittleEndian.Uint32(c.buf[at+size-4:])) == size && id > previous && (lastID == 0 || id <= lastID) {
			return at
		}
	}
	return -1
}

// plausible reports whether b begins with the head of a record that has room.
func plausible(b []byte, room int) bool {
	if len(b) < recordHeader || !bytes.Equal(b[:4], recordMagic) {
		return false
	}
	size, id := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	return size >= minRecord && int64(size) <= int64(room) && id > 0 && id < 1<<48
}

func (c *Chunk) keep(pos, size int, id uint64) {
	c.report.Records++
	c.records = append(c.records, Record{
		ID: id, Written: fileTime(binary.LittleEndian.Uint64(c.buf[pos+16:])), Offset: c.info.Offset + int64(pos),
		chunk: c, start: pos + recordHeader, end: pos + size - 4,
	})
}

func (c *Chunk) problem(at int64, what string) {
	c.report.add(Problem{Chunk: c.info.Number, Offset: c.info.Offset + at, What: what})
}

// System reads what all events have, and no more of the record: that takes half the
// time. It returns false where it cannot, and Event says why.
func (r Record) System() (System, bool) {
	p := parser{c: r.chunk, brief: true}
	root := &Node{}
	if err := p.fragment(p.from(r.start, r.end), root, nil, false); !errors.Is(err, errBrief) {
		return System{}, false
	}
	s := systemOf(root.child("Event").child("System"))
	r.complete(&s)
	return s, true
}

// complete gives an event what its record knows, where it does not say so itself.
func (r Record) complete(s *System) {
	if s.Time.Year() <= 1601 {
		s.Time = r.Written
	}
	if s.RecordID == 0 {
		s.RecordID = r.ID
	}
}

// Event reads the record. Beside an error it returns what was understood before,
// which may be next to nothing but is never nil.
func (r Record) Event() (*Event, error) {
	p := parser{c: r.chunk}
	root := &Node{}
	err := p.fragment(p.from(r.start, r.end), root, nil, false)
	if err == nil && root.child("Event") == nil {
		err = errNoEvent
	}
	e := eventOf(root)
	e.RecordID = r.ID
	r.complete(&e.System)
	if err != nil {
		err = fmt.Errorf("record %d: %w", r.ID, err)
		r.chunk.report.BadRecords++
		r.chunk.report.add(Problem{Chunk: r.chunk.info.Number, Offset: r.Offset, What: err.Error()})
	}
	return e, err
}

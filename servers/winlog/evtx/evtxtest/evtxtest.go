// Package evtxtest writes Windows event logs for tests, from tokens up.
//
//	log := evtxtest.File(evtxtest.Chunk(1, evtxtest.Record{Write: func(b *evtxtest.Builder) {
//		b.Element("Event", nil, func() { b.Value("hello") })
//	}}))
//
// Log writes events of the usual form, through a template as Windows does.
package evtxtest

import (
	"encoding/binary"
	"hash/crc32"
	"time"
	"unicode/utf16"
)

const chunkSize = 65536

var le = binary.LittleEndian

// UTF16 returns s as Windows writes it.
func UTF16(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = le.AppendUint16(b, u)
	}
	return b
}

// FileTime returns t in steps of 100 ns since 1601.
func FileTime(t time.Time) uint64 {
	return uint64(t.Unix()+11_644_473_600)*10_000_000 + uint64(t.Nanosecond()/100)
}

// A Record is one record of a chunk.
type Record struct {
	ID    uint64 // 0: the one after that before it
	Time  time.Time
	Write func(*Builder)
}

// Chunk returns a chunk with these records, the first of which has that id unless it
// says another one. It panics where they do not fit.
func Chunk(first uint64, records ...Record) []byte {
	b := &Builder{names: map[string]uint32{}, templates: map[string]uint32{}, buf: make([]byte, 512)}
	id, last := first, 0
	for i, r := range records {
		if r.ID != 0 {
			id = r.ID
		}
		last = len(b.buf)
		b.buf = append(b.buf, 0x2a, 0x2a, 0, 0)
		b.u32(0)
		b.u64(id)
		b.u64(FileTime(r.Time))
		b.buf = append(b.buf, 0x0f, 1, 1, 0)
		r.Write(b)
		b.buf = append(b.buf, 0)
		for len(b.buf)%8 != 4 {
			b.buf = append(b.buf, 0)
		}
		size := uint32(len(b.buf) - last + 4)
		b.u32(size)
		le.PutUint32(b.buf[last+4:], size)
		if i < len(records)-1 {
			id++
		}
	}
	if len(b.buf) > chunkSize {
		panic("evtxtest: the records do not fit into a chunk")
	}
	c := make([]byte, chunkSize)
	free := copy(c, b.buf)
	copy(c, "ElfChnk\x00")
	le.PutUint64(c[8:], first)
	le.PutUint64(c[16:], id)
	le.PutUint64(c[24:], first)
	le.PutUint64(c[32:], id)
	le.PutUint32(c[40:], 128)
	le.PutUint32(c[44:], uint32(last))
	le.PutUint32(c[48:], uint32(free))
	Seal(c)
	return c
}

// Seal writes the checksums of a chunk.
func Seal(c []byte) {
	free := le.Uint32(c[48:])
	le.PutUint32(c[52:], crc32.ChecksumIEEE(c[512:free]))
	le.PutUint32(c[124:], crc32.Update(crc32.ChecksumIEEE(c[:120]), crc32.IEEETable, c[128:512]))
}

// File returns a log with these chunks.
func File(chunks ...[]byte) []byte {
	f := make([]byte, 4096)
	copy(f, "ElfFile\x00")
	next := uint64(1)
	if n := len(chunks); n > 0 {
		le.PutUint64(f[16:], uint64(n-1))
		next = le.Uint64(chunks[n-1][32:]) + 1
	}
	le.PutUint64(f[24:], next)
	le.PutUint32(f[32:], 128)
	le.PutUint16(f[36:], 1)
	le.PutUint16(f[38:], 3)
	le.PutUint16(f[40:], 4096)
	le.PutUint16(f[42:], uint16(len(chunks)))
	le.PutUint32(f[124:], crc32.ChecksumIEEE(f[:120]))
	for _, c := range chunks {
		f = append(f, c...)
	}
	return f
}

// An Event is an event of the usual form.
type Event struct {
	ID       uint64
	Time     time.Time
	Provider string
	EventID  uint16
	Level    uint8
	Keywords uint64
	Channel  string
	Computer string
	Data     []string // name, value, name, value
}

// Log returns a log with these events, as many in each chunk as fit for certain.
func Log(events ...Event) []byte {
	const perChunk = 40
	var chunks [][]byte
	next := uint64(1)
	for len(events) > 0 {
		n := min(perChunk, len(events))
		var records []Record
		for _, e := range events[:n] {
			if e.ID == 0 {
				e.ID = next
			}
			records = append(records, Record{ID: e.ID, Time: e.Time, Write: e.write})
			next = e.ID + 1
		}
		chunks = append(chunks, Chunk(records[0].ID, records...))
		events = events[n:]
	}
	return File(chunks...)
}

// Values of an event that all have.
const (
	subProvider = iota
	subEventID
	subLevel
	subKeywords
	subTime
	subRecord
	subChannel
	subComputer
	subUser
	subFirst // the first of its data
)

func (e Event) write(b *Builder) {
	values := []Value{
		{Kind: 1, Data: UTF16(e.Provider)},
		{Kind: 6, Data: le.AppendUint16(nil, e.EventID)},
		{Kind: 4, Data: []byte{e.Level}},
		{Kind: 0x15, Data: le.AppendUint64(nil, e.Keywords)},
		{Kind: 0x11, Data: le.AppendUint64(nil, FileTime(e.Time))},
		{Kind: 0x0a, Data: le.AppendUint64(nil, e.ID)},
		{Kind: 1, Data: UTF16(e.Channel)},
		{Kind: 1, Data: UTF16(e.Computer)},
		{Kind: 0},
	}
	shape := []byte("event")
	for i := 0; i+1 < len(e.Data); i += 2 {
		shape = append(append(shape, 0), e.Data[i]...)
		values = append(values, Value{Kind: 1, Data: UTF16(e.Data[i+1])})
	}
	b.Template(string(shape), values, func() { e.definition(b) })
}

func (e Event) definition(b *Builder) {
	leaf := func(name string, id int, kind byte) {
		b.Element(name, nil, func() { b.Substitution(id, kind, false) })
	}
	b.Element("Event", func() { b.Attr("xmlns", func() { b.Value("http://schemas.microsoft.com/win/2004/08/events/event") }) }, func() {
		b.Element("System", nil, func() {
			b.Element("Provider", func() { b.Attr("Name", func() { b.Substitution(subProvider, 1, false) }) }, nil)
			leaf("EventID", subEventID, 6)
			leaf("Level", subLevel, 4)
			leaf("Keywords", subKeywords, 0x15)
			b.Element("TimeCreated", func() { b.Attr("SystemTime", func() { b.Substitution(subTime, 0x11, false) }) }, nil)
			leaf("EventRecordID", subRecord, 0x0a)
			leaf("Channel", subChannel, 1)
			leaf("Computer", subComputer, 1)
			b.Element("Security", func() { b.Attr("UserID", func() { b.Substitution(subUser, 0x13, true) }) }, nil)
		})
		b.Element("EventData", nil, func() {
			for i := 0; i+1 < len(e.Data); i += 2 {
				b.Element("Data", func() { b.Attr("Name", func() { b.Value(e.Data[i]) }) }, func() { b.Substitution(subFirst+i/2, 1, false) })
			}
		})
	})
}

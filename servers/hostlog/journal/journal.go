// Package journal reads the files of the systemd journal, on any system and
// without any part of systemd. It reads the newest entries first, and of a large
// file only the pages that these stand on:
//
//	f, err := journal.Open(file, size)  // anything that can be read at an offset
//	chain := f.Entries()
//	chain.Seek(time.Now())
//	for {
//		e, ok := chain.Prev()
//		if !ok {
//			break
//		}
//		fmt.Println(e.Time, e.Fields["MESSAGE"])
//	}
//	fmt.Println(f.Damage()) // what could not be read
//
// A file is one header and then objects one behind the other, each at a multiple of
// eight bytes. An entry is a list of offsets of its fields, and fields that are the
// same are kept once. All entries hang on one chain of arrays of their offsets, each
// about twice as long as the one before, and so do the entries that share a field:
// the chain of _SYSTEMD_UNIT=ssh.service is found by a hash and leads to these
// entries alone (Matching).
//
// A file is foreign: every offset is checked before it is followed, chains must
// climb, so that they end, and what is unpacked is bounded. What is damaged is left
// out and counted. A file may be written to while it is read; entries that are not
// yet linked up are not seen.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Flags of a header that a reader must understand.
const (
	flagXZ = 1 << iota
	flagLZ4
	flagKeyed
	flagZSTD
	flagCompact

	flagsKnown = flagXZ | flagLZ4 | flagKeyed | flagZSTD | flagCompact
)

// Types of objects.
const (
	typeData       = 1
	typeField      = 2
	typeEntry      = 3
	typeEntryArray = 6
)

// Sizes of the fixed parts of objects.
const (
	headerMin   = 208 // of the first releases
	headerMax   = 4096
	objectSize  = 16
	dataSize    = 64
	fieldSize   = 40
	entrySize   = 64
	arraySize   = 24
	maxArrays   = 1 << 12
	maxFields   = 1 << 10 // of an entry
	maxChainLen = 1 << 16 // of values behind one hash, or below one field
)

// A State says whether a file is being written.
type State uint8

// The states of a file.
const (
	Offline  State = 0 // closed
	Online   State = 1 // open for writing, or its writer died
	Archived State = 2 // full, and followed by another file
)

// Info is what the header of a file says.
type Info struct {
	State         State
	FileID        [16]byte
	MachineID     [16]byte
	Entries       uint64
	First, Last   time.Time // of its entries; zero where it has none
	Compact       bool
	Keyed, Sealed bool
}

// A File is an open file of the journal. It is not safe for concurrent use.
type File struct {
	pages  *pages
	info   Info
	size   uint64
	begin  uint64 // of the first object
	shape  shape
	data   table
	fields table
	first  uint64 // array of the chain of all entries
	cache  map[uint64]field
	unpack unpacker
	damage Damage
}

// A shape is what differs between a compact file and one that is not.
type shape struct {
	item    uint64 // bytes of an offset in an array
	ref     uint64 // bytes of a reference in an entry
	payload uint64 // offset of the payload in a data object
}

// A table is one of the two hash tables.
type table struct{ offset, buckets uint64 }

// A Damage says what of a file could not be read.
type Damage struct {
	Entries int    // left out whole
	Fields  int    // left out of entries
	Chain   string // where a chain of entries ended too soon, and why; else empty
}

// Any reports whether anything was damaged.
func (d Damage) Any() bool { return d != Damage{} }

// ErrNoJournal is returned for what is not a file of the journal.
var ErrNoJournal = errors.New("this is no journal file")

// Open reads the header of a file of that size.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if size < headerMin {
		return nil, fmt.Errorf("%w: it is only %d bytes long", ErrNoJournal, max(size, 0))
	}
	f := &File{pages: newPages(r, uint64(size)), size: uint64(size), cache: map[uint64]field{}}
	h := make([]byte, 272)
	n, err := f.pages.ReadAt(h, 0)
	if n < headerMin {
		return nil, fmt.Errorf("the header cannot be read: %w", err)
	}
	if string(h[:8]) != "LPKSHHRH" {
		return nil, ErrNoJournal
	}
	compatible, incompatible := binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
	if unknown := incompatible &^ flagsKnown; unknown != 0 {
		return nil, fmt.Errorf("the file uses a feature of a newer journal (flags %#x) that is not known here", unknown)
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(h[at:]) }
	f.begin = word(88)
	if f.begin < headerMin || f.begin > headerMax || f.begin%8 != 0 {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrNoJournal, f.begin)
	}
	f.info = Info{
		State: State(h[16]), FileID: [16]byte(h[24:40]), MachineID: [16]byte(h[40:56]), Entries: word(152),
		First: stamp(word(184)), Last: stamp(word(192)),
		Compact: incompatible&flagCompact != 0, Keyed: incompatible&flagKeyed != 0, Sealed: compatible&1 != 0,
	}
	f.data = table{word(104), word(112) / 16}
	f.fields = table{word(120), word(128) / 16}
	f.first = word(176)
	f.shape = shape{item: 8, ref: 16, payload: dataSize}
	if f.info.Compact {
		f.shape = shape{item: 4, ref: 4, payload: dataSize + 8}
	}
	if used := f.begin + word(96); used > f.size {
		f.damaged(fmt.Sprintf("the file is cut off: %d of %d bytes are there", f.size, used))
	}
	return f, nil
}

// Info returns what the header says.
func (f *File) Info() Info { return f.info }

// Damage returns what could not be read so far.
func (f *File) Damage() Damage { return f.damage }

func (f *File) damaged(why string) {
	if f.damage.Chain == "" {
		f.damage.Chain = why
	}
}

// stamp returns the time of a number of microseconds; zero is no time.
func stamp(us uint64) time.Time {
	if us == 0 || us > 1<<60 {
		return time.Time{}
	}
	return time.UnixMicro(int64(us))
}

// object reads the head of the object at an offset into b and returns its flags
// and its whole size. The error says what is wrong with it.
func (f *File) object(at uint64, kind byte, b []byte) (flags byte, size uint64, err error) {
	if at < f.begin || at%8 != 0 || at > f.size-uint64(len(b)) || uint64(len(b)) > f.size {
		return 0, 0, fmt.Errorf("no object can be at %d", at)
	}
	if _, err := f.pages.ReadAt(b, at); err != nil {
		return 0, 0, err
	}
	size = binary.LittleEndian.Uint64(b[8:])
	switch {
	case b[0] != kind:
		return 0, 0, fmt.Errorf("object of type %d at %d, not %d", b[0], at, kind)
	case size < uint64(len(b)) || size > f.size-at:
		return 0, 0, fmt.Errorf("object of %d bytes at %d", size, at)
	}
	return b[1], size, nil
}

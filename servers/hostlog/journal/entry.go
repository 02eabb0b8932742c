package journal

import (
	"bytes"
	"encoding/binary"
	"time"
)

// Bounds on what is read of one entry.
const (
	maxValue  = 64 << 10 // bytes of a value; the rest is cut off
	maxTotal  = 1 << 20  // bytes of all values
	cacheable = 256      // bytes of a value that is kept, for many entries share it
	cacheMax  = 4096     // values that are kept
)

// An Entry is one message with all that is known of it.
type Entry struct {
	Time      time.Time
	Monotonic time.Duration // since the boot
	Seqnum    uint64
	BootID    [16]byte
	Fields    map[string]string // the first value of each; it may be of any bytes
	Cut       bool              // some value was too long and is not whole
}

// A field is a name and a value as a data object holds them.
type field struct {
	name, value string
	cut         bool
}

// timeAt returns the time of the entry at an offset.
func (f *File) timeAt(at uint64) (time.Time, bool) {
	var b [entrySize]byte
	if _, _, err := f.object(at, typeEntry, b[:]); err != nil {
		return time.Time{}, false
	}
	t := stamp(binary.LittleEndian.Uint64(b[24:]))
	return t, !t.IsZero()
}

// entry reads the entry at an offset. It reports false where that is none.
func (f *File) entry(at uint64) (*Entry, bool) {
	var b [entrySize]byte
	_, size, err := f.object(at, typeEntry, b[:])
	if err != nil {
		return nil, false
	}
	e := &Entry{
		Seqnum: binary.LittleEndian.Uint64(b[16:]), Time: stamp(binary.LittleEndian.Uint64(b[24:])),
		Monotonic: time.Duration(binary.LittleEndian.Uint64(b[32:])) * time.Microsecond, BootID: [16]byte(b[40:56]),
	}
	if e.Time.IsZero() {
		return nil, false
	}
	n := min((size-entrySize)/f.shape.ref, maxFields)
	e.Fields = make(map[string]string, n)
	total := 0
	for i := range n {
		var ref [8]byte
		if _, err := f.pages.ReadAt(ref[:min(8, f.shape.ref)], at+entrySize+i*f.shape.ref); err != nil {
			f.damage.Fields++
			break
		}
		d, ok := f.field(binary.LittleEndian.Uint64(ref[:]))
		switch total += len(d.value); {
		case !ok:
			f.damage.Fields++
		case total > maxTotal:
			e.Cut = true
			return e, true
		default:
			e.Cut = e.Cut || d.cut
			if _, there := e.Fields[d.name]; !there {
				e.Fields[d.name] = d.value
			}
		}
	}
	return e, len(e.Fields) > 0
}

// field reads the data object at an offset.
func (f *File) field(at uint64) (field, bool) {
	if d, ok := f.cache[at]; ok {
		return d, true
	}
	payload, whole, err := f.payload(at, maxValue)
	if err != nil {
		return field{}, false
	}
	name, value, ok := bytes.Cut(payload, []byte("="))
	if !ok || len(name) == 0 {
		return field{}, false
	}
	d := field{name: string(name), value: string(value), cut: !whole}
	if len(payload) <= cacheable {
		if len(f.cache) >= cacheMax {
			clear(f.cache)
		}
		f.cache[at] = d
	}
	return d, true
}

// payload returns the unpacked payload of a data object, of which it reads at most
// limit bytes, and whether that is all of it.
func (f *File) payload(at uint64, limit int) (b []byte, whole bool, err error) {
	var head [dataSize]byte
	flags, size, err := f.object(at, typeData, head[:])
	if err != nil {
		return nil, false, err
	}
	if size < f.shape.payload {
		return nil, false, errDamaged
	}
	n := size - f.shape.payload
	packed := flags & (packedXZ | packedLZ4 | packedZSTD)
	if packed == 0 {
		b = make([]byte, min(n, uint64(limit)))
		_, err := f.pages.ReadAt(b, at+f.shape.payload)
		return b, n <= uint64(limit), err
	}
	if n > maxPacked {
		return nil, false, errDamaged
	}
	b = make([]byte, n)
	if _, err := f.pages.ReadAt(b, at+f.shape.payload); err != nil {
		return nil, false, err
	}
	return f.unpack.unpack(packed, b, limit)
}

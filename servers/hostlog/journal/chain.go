package journal

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"time"
)

// A Chain is a list of entries in the order in which they were written, which is
// read from its end.
type Chain struct {
	f      *File
	arrays []array
	before uint64 // offset of an entry that belongs before all arrays, or 0
	length int
	next   int      // entries before which the next one is returned
	listed []uint64 // in place of arrays, where these were broken
}

// An array is one part of a chain: count offsets that begin at an offset.
type array struct {
	at    uint64
	first int // number of its first entry in the chain
	count int
}

// Entries returns the chain of all entries. Where it is broken, the entries are
// searched for in the whole file.
func (f *File) Entries() *Chain {
	c := &Chain{f: f}
	broken := c.load(f.first, f.info.Entries)
	if f.first == 0 && f.info.Entries > 0 {
		f.damaged("the list of entries is not there")
		broken = true
	}
	if broken {
		if found := f.scan(); len(found) > c.length {
			c.arrays, c.listed, c.length = nil, found, len(found)
		}
	}
	c.next = c.length
	return c
}

// Matching returns the chain of the entries that hold a field with exactly that
// value. It is empty where there are none.
func (f *File) Matching(name, value string) *Chain {
	c := &Chain{f: f}
	at := f.find(name + "=" + value)
	if at == 0 {
		return c
	}
	var b [dataSize]byte
	if _, _, err := f.object(at, typeData, b[:]); err != nil {
		return c
	}
	n := binary.LittleEndian.Uint64(b[56:])
	c.before = binary.LittleEndian.Uint64(b[40:])
	if c.before != 0 && n > 0 {
		c.length, n = 1, n-1
	}
	c.load(binary.LittleEndian.Uint64(b[48:]), n)
	c.next = c.length
	return c
}

// load reads where the arrays of a chain of n entries stand, and reports whether
// the chain is broken.
func (c *Chain) load(at, n uint64) (broken bool) {
	f, last := c.f, uint64(0)
	for at != 0 {
		var b [arraySize]byte
		_, size, err := f.object(at, typeEntryArray, b[:])
		if err == nil && (at <= last || len(c.arrays) == maxArrays) {
			err = fmt.Errorf("its arrays do not climb at %d", at)
		}
		if err != nil {
			f.damaged("the list of entries is broken: " + err.Error())
			return true
		}
		count := (size - arraySize) / f.shape.item
		// What the header counts is there; more may have been linked up since it was read.
		used := min(count, n)
		n -= used
		a := array{at: at + arraySize, first: c.length, count: int(used)}
		if n == 0 {
			for uint64(a.count) < count {
				if offset, err := c.f.item(a, a.count); err != nil || offset == 0 {
					break
				}
				a.count++
			}
		}
		c.arrays, c.length = append(c.arrays, a), c.length+a.count
		last, at = at, binary.LittleEndian.Uint64(b[16:])
		if uint64(a.count) < count {
			return false
		}
	}
	return n > 0
}

func (f *File) item(a array, i int) (uint64, error) {
	var b [8]byte
	if _, err := f.pages.ReadAt(b[:f.shape.item], a.at+uint64(i)*f.shape.item); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil // a short offset has zeros behind it
}

// Len returns the number of entries.
func (c *Chain) Len() int { return c.length }

// offset returns where the entry with that number stands; 0 if that cannot be read.
func (c *Chain) offset(number int) uint64 {
	if c.listed != nil {
		return c.listed[number]
	}
	if number == 0 && c.before != 0 {
		return c.before
	}
	i := sort.Search(len(c.arrays), func(i int) bool { return c.arrays[i].first > number }) - 1
	if i < 0 {
		return 0
	}
	at, err := c.f.item(c.arrays[i], number-c.arrays[i].first)
	if err != nil {
		return 0
	}
	return at
}

// Seek goes behind the last entry that is not later than t. Entries that cannot be
// read count as late, so that it errs towards the beginning by no more than these.
func (c *Chain) Seek(t time.Time) {
	c.next = sort.Search(c.length, func(i int) bool {
		at, ok := c.f.timeAt(c.offset(i))
		return !ok || at.After(t)
	})
}

// Prev returns the entry before the last one that was returned, at first the last one.
func (c *Chain) Prev() (*Entry, bool) {
	for bad := 0; c.next > 0; bad++ {
		if c.f.lost(bad) {
			return nil, false
		}
		c.next--
		if e, ok := c.f.entry(c.offset(c.next)); ok {
			return e, true
		}
		c.f.damage.Entries++
	}
	return nil, false
}

// peek returns the offset of the entry that Prev would read.
func (c *Chain) peek() uint64 {
	if c.next == 0 {
		return 0
	}
	return c.offset(c.next - 1)
}

// A Union is several chains of one file as one: the entries that are in any of
// them, each once.
type Union struct{ chains []*Chain }

// Join returns the union of chains.
func Join(chains ...*Chain) *Union {
	return &Union{slices.DeleteFunc(chains, func(c *Chain) bool { return c.length == 0 })}
}

// Seek goes behind the last entries that are not later than t.
func (u *Union) Seek(t time.Time) {
	for _, c := range u.chains {
		c.Seek(t)
	}
}

// Prev returns the entry that stands before the last one that was returned.
func (u *Union) Prev() (*Entry, bool) {
	for bad := 0; ; bad++ {
		var last uint64
		var f *File
		for _, c := range u.chains {
			last = max(last, c.peek())
		}
		for _, c := range u.chains {
			// Where no chain can tell what is next (last is 0), each of them goes on.
			if c.next > 0 && c.peek() == last {
				c.next--
				f = c.f
			}
		}
		if f == nil || f.lost(bad) {
			return nil, false
		}
		if e, ok := f.entry(last); ok {
			return e, true
		}
		f.damage.Entries++
	}
}

// What is tried of a file that is broken.
const (
	maxBad   = 1 << 18  // entries in a row that cannot be read
	maxGap   = 64 << 20 // bytes between objects, in all
	maxFound = 4 << 20  // entries
)

// lost reports whether to give up, for so many entries in a row could not be read or
// because the call is over.
func (f *File) lost(bad int) bool {
	if bad == maxBad {
		f.damaged(fmt.Sprintf("%d entries in a row cannot be read", bad))
	}
	return bad >= maxBad || f.pages.err != nil
}

// scan returns the offsets of all entries by going through the objects of the file.
// Where no object is, it looks for the next one, but not through large holes.
func (f *File) scan() []uint64 {
	var found []uint64
	gap := 0
	for at := f.begin; at+objectSize <= f.size && gap < maxGap && len(found) < maxFound; {
		var b [objectSize]byte
		if _, err := f.pages.ReadAt(b[:], at); err != nil {
			break
		}
		size := binary.LittleEndian.Uint64(b[8:])
		if b[0] == 0 || b[0] > 7 || [6]byte(b[2:8]) != [6]byte{} || size < objectSize || size > f.size-at {
			n := uint64(8)
			if b == [objectSize]byte{} {
				n = f.pages.zeros(at)
			}
			at += n
			gap += int(n)
			continue
		}
		if b[0] == typeEntry && size >= entrySize+f.shape.ref {
			found = append(found, at)
		}
		at += (size + 7) &^ 7
	}
	return found
}

package ppt97

import (
	"encoding/binary"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// Kinds of records.
const (
	recSlide       = 1006
	recSlideAtom   = 1007
	recNotes       = 1008
	recNotesAtom   = 1009
	recPersist     = 1011
	recDrawing     = 1036
	recOutlineRef  = 3998
	recTextHeader  = 3999
	recWide        = 4000
	recStyle       = 4001
	recNarrow      = 4008
	recPlaceholder = 3011
	recSlideList   = 4080
	recEdit        = 4085
	recPlaces      = 6002
	recGroup       = 0xf003
	recShape       = 0xf004
	recTextbox     = 0xf00d
	recChildAnchor = 0xf00f
	recClientData  = 0xf011
	recMore        = 0xf122
)

const (
	maxDepth  = 40
	maxEdits  = 1000
	maxPlaces = 1 << 20
)

// A record is a part of the stream, which may have parts itself.
type record struct {
	kind     int
	instance int
	parts    bool
	body     []byte
}

// records calls f with each record, until it returns false.
func records(b []byte, f func(r record) bool) {
	for len(b) >= 8 {
		head := int(binary.LittleEndian.Uint16(b))
		r := record{kind: int(binary.LittleEndian.Uint16(b[2:])), instance: head >> 4, parts: head&15 == 15}
		n := min(int64(binary.LittleEndian.Uint32(b[4:])), int64(len(b)-8))
		r.body = b[8 : 8+n]
		if !f(r) {
			return
		}
		b = b[8+n:]
	}
}

// child returns the first record of a kind.
func child(b []byte, kind int) (found record, ok bool) {
	records(b, func(r record) bool {
		if r.kind == kind {
			found, ok = r, true
		}
		return !ok
	})
	return found, ok
}

func u32(b []byte, at int64) int64 {
	if at < 0 || at+4 > int64(len(b)) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(b[at:]))
}

func u16(b []byte, at int64) int {
	if at < 0 || at+2 > int64(len(b)) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

// A file is a presentation, whose objects lie where the last one who wrote it says.
type file struct {
	stream   []byte
	places   map[int64]int64
	document int64
}

func open(src draft.Source, out *draft.Out) (*file, error) {
	c, err := ole.Open(src, "PowerPoint Document", "Current User")
	if err != nil {
		return nil, err
	}
	f := &file{stream: c.Streams["PowerPoint Document"], places: map[int64]int64{}}
	user := c.Streams["Current User"]
	if len(f.stream) == 0 || len(user) < 20 {
		return nil, draft.Damage(nil, "the file holds no presentation: it is cut off or damaged")
	}
	if u32(user, 12) == 0xf3d1c4df {
		return nil, draft.Locked("presentation")
	}
	at := u32(user, 16)
	for range maxEdits {
		edit, ok := f.at(at)
		if !ok || edit.kind != recEdit {
			break
		}
		if f.document == 0 {
			f.document = u32(edit.body, 16)
		}
		f.readPlaces(u32(edit.body, 12))
		before := u32(edit.body, 8)
		if before == 0 || before >= at {
			break
		}
		at = before
	}
	if f.document == 0 {
		return nil, draft.Damage(nil, "the presentation does not say where its slides are: it is cut off or damaged")
	}
	c.Properties(out)
	return f, nil
}

// at returns the record at a place.
func (f *file) at(place int64) (found record, ok bool) {
	if place < 0 || place >= int64(len(f.stream)) {
		return found, false
	}
	records(f.stream[place:], func(r record) bool {
		found, ok = r, true
		return false
	})
	return found, ok
}

// readPlaces reads where objects lie. What is known already was written later.
func (f *file) readPlaces(at int64) {
	r, ok := f.at(at)
	if !ok || r.kind != recPlaces {
		return
	}
	b := r.body
	for len(b) >= 4 && len(f.places) < maxPlaces {
		head := u32(b, 0)
		b = b[4:]
		for i := range head >> 20 {
			if len(b) < 4 {
				return
			}
			id := head&0xfffff + i
			if _, known := f.places[id]; !known {
				f.places[id] = u32(b, 0)
			}
			b = b[4:]
		}
	}
}

// object returns a part of the presentation by its number.
func (f *file) object(id int64) (record, bool) {
	place, ok := f.places[id]
	if !ok {
		return record{}, false
	}
	return f.at(place)
}

package word97

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// Bounds of what a document claims.
const (
	maxPieces = 1 << 20
	maxRuns   = 1 << 20
)

// Places in the head of a document, each of a position and a length in the table stream.
const (
	fibStyles   = 0x9a + 8*1
	fibFootRefs = 0x9a + 8*2
	fibFootText = 0x9a + 8*3
	fibNoteRefs = 0x9a + 8*4
	fibNoteText = 0x9a + 8*5
	fibChars    = 0x9a + 8*12
	fibParas    = 0x9a + 8*13
	fibPieces   = 0x9a + 8*33
	fibEndRefs  = 0x9a + 8*46
	fibEndText  = 0x9a + 8*47
	fibLists    = 0x9a + 8*73
	fibOverride = 0x9a + 8*74
)

// A piece is a part of the text, in characters from its first one on.
type piece struct {
	from, to int
	at       int64 // where it lies in the main stream
	narrow   bool
}

// A run is a part of the main stream and how it is formatted.
type run struct {
	from, to int64
	style    int
	sprms    []byte
}

// A file is a document with what is known of its text.
type file struct {
	main, table  []byte
	data         []byte // of pictures
	counts       [6]int // characters of the text, footnotes, headers, comments, endnotes, boxes
	pieces       []piece
	paras, chars []run
	levels       map[int]int // of headings, by style
	lists        map[int]list
	override     []int // ids of lists, by their number
}

// A list says of each level whether it counts.
type list struct{ counts [9]bool }

func u16(b []byte, at int64) int {
	if at < 0 || at+2 > int64(len(b)) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

func u32(b []byte, at int64) int64 {
	if at < 0 || at+4 > int64(len(b)) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(b[at:]))
}

// open reads the head of a document and the tables that it names.
func open(src draft.Source, out *draft.Out) (*file, error) {
	c, err := ole.Open(src, "WordDocument", "0Table", "1Table", "Data")
	if err != nil {
		return nil, err
	}
	f := &file{main: c.Streams["WordDocument"], levels: map[int]int{}, lists: map[int]list{}}
	if len(f.main) < 0x1aa || u16(f.main, 0) != 0xa5ec {
		return nil, draft.Damage(nil, "the file holds no document of Word 97 or later: it is older, cut off or damaged")
	}
	f.data = c.Streams["Data"]
	flags := u16(f.main, 0xa)
	if flags&0x100 != 0 {
		return nil, draft.Locked("document")
	}
	f.table = c.Streams["0Table"]
	if flags&0x200 != 0 {
		f.table = c.Streams["1Table"]
	}
	for i, at := range []int64{0x4c, 0x50, 0x54, 0x5c, 0x60, 0x64} {
		f.counts[i] = int(min(u32(f.main, at), 1<<28))
	}
	if err := f.readPieces(); err != nil {
		return nil, err
	}
	f.paras = f.runs(fibParas, true)
	f.chars = f.runs(fibChars, false)
	f.readStyles()
	f.readLists()
	c.Properties(out)
	return f, nil
}

// part returns what a place in the head names.
func (f *file) part(place int64) []byte {
	at, n := u32(f.main, place), u32(f.main, place+4)
	if n == 0 || at >= int64(len(f.table)) || place+8 > int64(len(f.main)) {
		return nil
	}
	return f.table[at:min(at+n, int64(len(f.table)))]
}

// readPieces reads where the text lies.
func (f *file) readPieces() error {
	clx := f.part(fibPieces)
	for len(clx) >= 5 && clx[0] == 1 {
		clx = clx[min(3+u16(clx, 1), len(clx)):]
	}
	if len(clx) < 5 || clx[0] != 2 {
		return draft.Damage(nil, "the document does not say where its text is: it is cut off or damaged")
	}
	plc := clx[5:min(5+u32(clx, 1), int64(len(clx)))]
	n := (len(plc) - 4) / 12
	if n <= 0 || n > maxPieces {
		return draft.Damage(nil, "the document has no text that can be found: it is cut off or damaged")
	}
	end := 0
	for i := range n {
		p := piece{from: int(u32(plc, int64(4*i))), to: int(u32(plc, int64(4*i+4)))}
		at := u32(plc, int64(4*(n+1)+8*i+2))
		if p.narrow = at&0x40000000 != 0; p.narrow {
			at = (at &^ 0x40000000) / 2
		}
		p.at = at
		if p.from != end || p.to < p.from || at > int64(len(f.main)) {
			break // what follows is damaged
		}
		width := int64(2)
		if p.narrow {
			width = 1
		}
		p.to = min(p.to, p.from+int((int64(len(f.main))-at)/width))
		if end = p.to; end > 2*len(f.main) {
			break // more than the file can hold
		}
		f.pieces = append(f.pieces, p)
	}
	return nil
}

// runs reads how parts of the main stream are formatted, which pages of 512 bytes say.
func (f *file) runs(place int64, paragraphs bool) []run {
	plc := f.part(place)
	n := (len(plc) - 4) / 8
	var all []run
	for i := range max(n, 0) {
		page := (u32(plc, int64(4*(n+1)+4*i)) & 0x3fffff) * 512
		if page+512 > int64(len(f.main)) || len(all) > maxRuns {
			break
		}
		all = append(all, pageRuns(f.main[page:page+512], paragraphs)...)
	}
	slices.SortStableFunc(all, func(a, b run) int { return int(max(min(a.from-b.from, 1), -1)) })
	return all
}

func pageRuns(page []byte, paragraphs bool) []run {
	count := int64(page[511])
	size := int64(1)
	if paragraphs {
		size = 13
	}
	var all []run
	for i := range count {
		where := 4*(count+1) + i*size
		if where >= 511 {
			break
		}
		r := run{from: u32(page, 4*i), to: u32(page, 4*i+4)}
		at := 2 * int64(page[where])
		if at > 0 {
			n := int64(page[at])
			body := at + 1
			switch {
			case !paragraphs:
			case n == 0 && at+1 < 511:
				n, body = 2*int64(page[at+1]), at+2
			default:
				n = 2*n - 1
			}
			r.sprms = page[min(body, 511):min(max(body+n, body), 511)]
			if paragraphs {
				r.style = u16(r.sprms, 0)
				r.sprms = r.sprms[min(2, len(r.sprms)):]
			}
		}
		all = append(all, r)
	}
	return all
}

// at returns the run that holds a place of the main stream.
func at(runs []run, place int64) *run {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].to > place })
	if i < len(runs) && runs[i].from <= place {
		return &runs[i]
	}
	return nil
}

// each calls f with each property and its operand.
func each(sprms []byte, f func(op int, operand []byte)) {
	for len(sprms) >= 3 {
		op := u16(sprms, 0)
		sprms = sprms[2:]
		n := []int{1, 1, 2, 4, 2, 2, 0, 3}[op>>13]
		if op>>13 == 6 {
			n = 1 + int(sprms[0])
			if op == 0xd608 {
				n = 1 + u16(sprms, 0)
			}
		}
		if n > len(sprms) {
			return
		}
		f(op, sprms[:n])
		sprms = sprms[n:]
	}
}

// readStyles finds the styles that are headings.
func (f *file) readStyles() {
	b := f.part(fibStyles)
	count, base := u16(b, 2), int64(u16(b, 4))
	at := int64(2 + u16(b, 0))
	for i := range count {
		n := int64(u16(b, at))
		at += 2
		if at+n > int64(len(b)) {
			return
		}
		if n >= base && n > 2 {
			if sti := u16(b, at) & 0xfff; sti >= 1 && sti <= 9 {
				f.levels[i] = sti
			} else if sti == 62 { // that of a title
				f.levels[i] = 1
			}
		}
		at += n + n&1
	}
}

// readLists finds which lists count.
func (f *file) readLists() {
	b := f.part(fibLists)
	if len(b) == 0 {
		return
	}
	count := int64(u16(b, 0))
	// What each level is lies behind the lists.
	start := u32(f.main, fibLists)
	levels := start + 2 + 28*count
	for i := range count {
		head := 2 + 28*i
		if head+28 > int64(len(b)) {
			return
		}
		n := 9
		if b[head+26]&1 != 0 {
			n = 1
		}
		var l list
		for k := range n {
			if levels+28 > int64(len(f.table)) {
				return
			}
			kind := f.table[levels+4]
			l.counts[k] = kind != 23 && kind != 255
			levels += 28 + int64(f.table[levels+24]) + int64(f.table[levels+25])
			levels += 2 + 2*int64(u16(f.table, levels))
		}
		f.lists[int(u32(b, head))] = l
	}
	o := f.part(fibOverride)
	for i := range min(u32(o, 0), int64(len(o)/16)) {
		f.override = append(f.override, int(u32(o, 4+16*i)))
	}
}

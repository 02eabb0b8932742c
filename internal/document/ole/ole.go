// Package ole reads what old programs of Office keep: compound files with streams in
// them, and the properties of a document.
//
//	file, err := ole.Open(src, "WordDocument", "1Table")
//	if err != nil {
//		return err // a *draft.Error
//	}
//	file.Properties(out)
//	text := file.Streams["WordDocument"]
package ole

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/richardlehane/mscfb"
	"golang.org/x/text/encoding/charmap"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	summary    = "SummaryInformation" // behind a control character, which is none of its name here
	maxStream  = 512 << 20
	maxEntries = 10_000
)

// A File is what was wanted of a compound file.
type File struct {
	Streams map[string][]byte // by name; those that are not there are missing
}

// Open reads streams that lie in no storage. One that is cut off comes as far as it goes.
func Open(src draft.Source, names ...string) (*File, error) {
	c, err := mscfb.New(io.NewSectionReader(src.Data, 0, src.Size))
	if err != nil {
		return nil, draft.Damage(err, "the file is no complete compound file: it is cut off or damaged")
	}
	file := &File{Streams: map[string][]byte{}}
	total := int64(0)
	n := 0
	for f, err := c.Next(); err == nil && n < maxEntries; f, err = c.Next() {
		n++
		if len(f.Path) > 0 || f.Name != summary && !slices.Contains(names, f.Name) || file.Streams[f.Name] != nil {
			continue
		}
		if total += f.Size; f.Size < 0 || f.Size > src.Size || total > maxStream {
			return nil, draft.TooLarge("its part %q claims %d MiB", draft.Clip(f.Name, 60), f.Size>>20)
		}
		body := make([]byte, f.Size)
		k, _ := io.ReadFull(f, body) // as far as it goes
		file.Streams[f.Name] = body[:k]
	}
	return file, nil
}

// Properties notes what the document says of itself.
func (f *File) Properties(out *draft.Out) {
	b := f.Streams[summary]
	if len(b) < 48 || binary.LittleEndian.Uint16(b) != 0xfffe {
		return
	}
	at := int64(binary.LittleEndian.Uint32(b[44:]))
	if at+8 > int64(len(b)) {
		return
	}
	section := b[at:]
	count := min(binary.LittleEndian.Uint32(section[4:]), 100)
	names := map[uint32]string{2: "title", 3: "subject", 4: "author", 5: "keywords", 8: "modified by", 12: "created", 13: "modified"}
	wide := false // the text is UTF-8, as its code page says
	for i := range count {
		entry := 8 + 8*int64(i)
		if entry+8 > int64(len(section)) {
			return
		}
		id, off := binary.LittleEndian.Uint32(section[entry:]), int64(binary.LittleEndian.Uint32(section[entry+4:]))
		if off+8 > int64(len(section)) {
			continue
		}
		value := section[off:]
		if id == 1 {
			wide = binary.LittleEndian.Uint16(value[4:]) == 65001
		}
		if name := names[id]; name != "" {
			out.Set(name, property(value, wide))
		}
	}
}

// property returns a text or a time.
func property(b []byte, utf8 bool) string {
	n := binary.LittleEndian.Uint32(b[4:])
	body := b[8:]
	switch binary.LittleEndian.Uint16(b) {
	case 0x1e: // bytes
		body = body[:min(int64(n), int64(len(body)))]
		if utf8 {
			return strings.ToValidUTF8(strings.TrimRight(string(body), "\x00"), "\uFFFD")
		}
		return strings.TrimRight(Narrow(body), "\x00")
	case 0x1f: // units of two bytes
		return strings.TrimRight(Wide(body[:min(2*int64(n), int64(len(body)))]), "\x00")
	case 0x40:
		if len(b) < 12 {
			return ""
		}
		return Time(binary.LittleEndian.Uint64(b[4:]))
	}
	return ""
}

// Time returns a time that counts from 1601, "" for none.
func Time(t uint64) string {
	const epoch = 116444736000000000
	if t <= epoch || t >= 1<<62 {
		return ""
	}
	since := int64(t - epoch)
	return time.Unix(since/10_000_000, since%10_000_000*100).UTC().Format(time.RFC3339)
}

// Wide returns text of two bytes for a letter.
func Wide(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// Narrow returns text of one byte for a letter.
func Narrow(b []byte) string {
	out, err := charmap.Windows1252.NewDecoder().Bytes(b)
	if err != nil {
		return ""
	}
	return string(out)
}

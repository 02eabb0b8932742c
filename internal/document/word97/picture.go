package word97

import (
	"encoding/base64"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

const (
	maxImage = 20 << 20 // bytes of all that are kept whole
	maxShape = 64       // records of one
)

// blips are the kinds of images by the number that a shape has for them.
var blips = map[byte]string{2: "emf", 3: "wmf", 4: "pict", 5: "jpeg", 6: "png", 7: "bmp", 17: "tiff", 18: "jpeg"}

// picture returns what is shown in the place of a picture that stands in the text as a
// character, or "" where none can be found. Pictures beside the text are elsewhere.
func (w *writer) picture(place int64) string {
	c := at(w.chars, place)
	if c == nil {
		return ""
	}
	where := int64(-1)
	each(c.sprms, func(op int, operand []byte) {
		if op == 0x6a03 {
			where = u32(operand, 0)
		}
	})
	if where < 0 || where+6 > int64(len(w.data)) {
		return ""
	}
	end := min(where+u32(w.data, where), int64(len(w.data)))
	begin := where + int64(u16(w.data, where+4))
	if mode := u16(w.data, where+6); begin > end || mode != 0x64 && mode != 0x66 {
		return ""
	}
	if mode := u16(w.data, where+6); mode == 0x66 && begin < end { // the name of a file is before it
		begin = min(begin+1+int64(w.data[begin]), end)
	}
	alt, kind, image := shape(w.data[begin:end])
	if kind == "" {
		return ""
	}
	to := "data:image/" + kind + ";base64..."
	if w.out.Options.KeepDataURIs && len(image) > 0 && len(image) <= maxImage-w.kept {
		w.kept += len(image)
		to = "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(image)
	}
	return "![" + strings.NewReplacer("[", "(", "]", ")").Replace(draft.Line(alt)) + "](" + to + ")"
}

// shape reads the records of a shape: what it is called, and the image in it.
func shape(b []byte) (alt, kind string, image []byte) {
	for range maxShape {
		if len(b) < 8 {
			return alt, kind, image
		}
		first, id := u16(b, 0), u16(b, 2)
		n := min(u32(b, 4), int64(len(b)-8))
		if id == 0xf004 { // what is in it is read in its place
			b = b[8:]
			continue
		}
		body := b[8 : 8+n]
		b = b[8+n:]
		switch id {
		case 0xf00b:
			alt = called(body, first>>4)
		case 0xf007:
			if len(body) > 36 {
				kind, image = blips[body[0]], inner(body[36+min(int(body[33]), len(body)-36):])
			}
		}
	}
	return alt, kind, image
}

// called returns what the properties of a shape say that it shows, else its name.
func called(b []byte, count int) string {
	name, text := "", ""
	at := int64(6 * count)
	for i := range int64(count) {
		id, n := u16(b, 6*i), u32(b, 6*i+2)
		if id&0x8000 == 0 {
			continue
		}
		if at+n > int64(len(b)) {
			break
		}
		switch id & 0x3fff {
		case 0x380:
			name = ole.Wide(b[at : at+n])
		case 0x381:
			text = ole.Wide(b[at : at+n])
		}
		at += n
	}
	if text = strings.TrimRight(text, "\x00"); text != "" {
		return text
	}
	return strings.TrimRight(name, "\x00")
}

// inner returns the bytes of an image as its own format has them, where the file does.
func inner(b []byte) []byte {
	if len(b) < 8 {
		return nil
	}
	skip := int64(8 + 17) // its head, a sum of it and a mark
	switch u16(b, 0) >> 4 {
	case 0x46a, 0x6e2, 0x6e0:
	case 0x46b, 0x6e3, 0x6e1: // two sums
		skip += 16
	default:
		return nil
	}
	end := min(8+u32(b, 4), int64(len(b)))
	if skip > end {
		return nil
	}
	return b[skip:end]
}

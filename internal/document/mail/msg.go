package mail

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/richardlehane/mscfb"
	"golang.org/x/net/html/charset"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
	"github.com/tenon-mcp/tenon/internal/document/rtf"
)

// Properties of MAPI that are read.
const (
	propSubject      = 0x0037
	propSubmitted    = 0x0039
	propSenderName   = 0x0c1a
	propSenderMail   = 0x0c1f
	propSenderSMTP   = 0x5d01
	propCc           = 0x0e03
	propTo           = 0x0e04
	propDelivered    = 0x0e06
	propBody         = 0x1000
	propRTF          = 0x1009
	propHTML         = 0x1013
	propRecipient    = 0x3003
	propRecipientWeb = 0x39fe
	propAttachData   = 0x3701
	propShortName    = 0x3704
	propLongName     = 0x3707
	propAttachMIME   = 0x370e
)

// A store is the properties of one object of a message.
type store struct {
	values map[int][]byte
	kinds  map[int]int
	fixed  map[int]uint64
}

func newStore() *store { return &store{map[int][]byte{}, map[int]int{}, map[int]uint64{}} }

// text returns a property that is text.
func (s *store) text(id int) string {
	b, ok := s.values[id]
	if !ok {
		return ""
	}
	if s.kinds[id] == 0x001f {
		return strings.TrimRight(ole.Wide(b), "\x00")
	}
	e, _, _ := charset.DetermineEncoding(b, "")
	if d, err := e.NewDecoder().Bytes(b); err == nil {
		b = d
	}
	return strings.TrimRight(string(b), "\x00")
}

// MSG converts a message as Outlook keeps it.
func MSG(ctx context.Context, src draft.Source, out *draft.Out) error {
	c, err := mscfb.New(io.NewSectionReader(src.Data, 0, src.Size))
	if err != nil {
		return draft.Damage(err, "the file is no complete compound file: it is cut off or damaged")
	}
	root := newStore()
	others := map[string]*store{} // attachments and recipients
	var order []string
	total := int64(0)
	for f, err := c.Next(); err == nil; f, err = c.Next() {
		if err := out.Err(); err != nil {
			return err
		}
		if total += f.Size; f.Size > maxPart || total > maxSize || len(order) > maxParts {
			return draft.TooLarge("the message claims more than %d MiB, or more than %d parts", maxSize>>20, maxParts)
		}
		at := root
		switch {
		case len(f.Path) == 1 && (strings.HasPrefix(f.Path[0], "__attach") || strings.HasPrefix(f.Path[0], "__recip")):
			if at = others[f.Path[0]]; at == nil {
				at = newStore()
				others[f.Path[0]] = at
				order = append(order, f.Path[0])
			}
		case len(f.Path) > 0:
			continue // of a message in this one
		}
		at.read(f, src.Size)
	}
	if len(root.values) == 0 {
		return draft.Damage(nil, "the file holds no message")
	}
	msg := root.message(others, order)
	if len(root.values[propBody]) == 0 && len(msg.html) == 0 {
		if body, err := decompress(root.values[propRTF]); err == nil {
			msg.plain = richText(ctx, body)
		}
	}
	return msg.write(ctx, src, out)
}

// read takes a stream that is a property.
func (s *store) read(f *mscfb.File, size int64) {
	if f.Size > size {
		return
	}
	if strings.HasPrefix(f.Name, "__properties") {
		b := make([]byte, min(f.Size, 1<<20))
		n, err := io.ReadFull(f, b)
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			s.properties(b[:n])
		}
		return
	}
	tag, ok := strings.CutPrefix(f.Name, "__substg1.0_")
	if !ok || len(tag) != 8 {
		return
	}
	var n [4]byte
	for i := range n {
		hi, lo := unhex(tag[2*i]), unhex(tag[2*i+1])
		n[i] = hi<<4 | lo
	}
	id, kind := int(n[0])<<8|int(n[1]), int(n[2])<<8|int(n[3])
	switch id {
	case propSubject, propSenderName, propSenderMail, propSenderSMTP, propCc, propTo, propBody, propRTF, propHTML, propRecipient, propRecipientWeb,
		propAttachData, propShortName, propLongName, propAttachMIME:
	default:
		return
	}
	b := make([]byte, f.Size)
	k, err := io.ReadFull(f, b)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		s.values[id], s.kinds[id] = b[:k], kind
	}
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0
}

// properties takes the ones that are numbers. Their list begins behind a head whose
// size depends on the object, and is a multiple of eight.
func (s *store) properties(b []byte) {
	for _, head := range []int{32, 24, 8} {
		if (len(b)-head)%16 != 0 || len(b) < head {
			continue
		}
		for at := head; at+16 <= len(b); at += 16 {
			tag := binary.LittleEndian.Uint32(b[at:])
			s.fixed[int(tag>>16)] = binary.LittleEndian.Uint64(b[at+8:])
		}
		return
	}
}

func (s *store) message(others map[string]*store, order []string) *message {
	m := &message{plain: s.text(propBody)}
	add := func(name, value string) {
		if value = draft.Clip(draft.Line(value), 4000); value != "" {
			m.fields = append(m.fields, [2]string{name, value})
		}
	}
	from := s.text(propSenderName)
	address := s.text(propSenderSMTP)
	if sent := s.text(propSenderMail); address == "" && strings.Contains(sent, "@") {
		address = sent
	}
	if address != "" && address != from {
		from = strings.TrimSpace(from + " <" + address + ">")
	}
	add("From", from)
	add("To", s.recipients(others, order))
	add("Cc", s.text(propCc))
	add("Date", date(s.fixed[propSubmitted], s.fixed[propDelivered]))
	add("Subject", s.text(propSubject))
	m.html = s.page()
	for _, name := range order {
		a := others[name]
		if !strings.HasPrefix(name, "__attach") {
			continue
		}
		file := a.text(propLongName)
		if file == "" {
			file = a.text(propShortName)
		}
		if a.values[propAttachData] == nil {
			m.notes = append(m.notes, "an attachment that is a message of its own is left out: "+draft.Clip(file, 200))
			continue
		}
		m.attached = append(m.attached, attachment{file, a.text(propAttachMIME), a.values[propAttachData]})
	}
	return m
}

// recipients returns who the message is to.
func (s *store) recipients(others map[string]*store, order []string) string {
	to := s.text(propTo)
	for _, name := range order {
		if r := others[name]; to == "" && strings.HasPrefix(name, "__recip") {
			to = r.text(propRecipientWeb)
			if to == "" {
				to = r.text(propRecipient)
			}
		}
	}
	return to
}

// page returns the text as HTML, or "".
func (s *store) page() string {
	b := s.values[propHTML]
	if len(b) == 0 || s.kinds[propHTML] != 0x0102 {
		return s.text(propHTML)
	}
	if e, name, _ := charset.DetermineEncoding(b, ""); name != "utf-8" {
		if d, err := e.NewDecoder().Bytes(b); err == nil {
			b = d
		}
	}
	return string(b)
}

// date returns the first time that is given, which counts from 1601.
func date(times ...uint64) string {
	for _, t := range times {
		if when := ole.Time(t); when != "" {
			return when
		}
	}
	return ""
}

// richText returns rich text as Markdown.
func richText(ctx context.Context, body []byte) string {
	var b strings.Builder
	if rtf.Text(body, draft.NewOut(ctx, &b, draft.Options{MaxChars: -1}, nil)) != nil {
		return ""
	}
	return b.String()
}

// decompress unpacks rich text as it is kept in a message.
func decompress(b []byte) ([]byte, error) {
	if len(b) < 16 {
		return nil, io.ErrUnexpectedEOF
	}
	size := binary.LittleEndian.Uint32(b[4:])
	magic := binary.LittleEndian.Uint32(b[8:])
	if size > maxPart || magic != 0x75465a4c && magic != 0x414c454d {
		return nil, errors.New("this is no rich text of a message")
	}
	b = b[16:]
	if magic == 0x414c454d { // not packed
		return b[:min(len(b), int(size))], nil
	}
	return unpack(b, int(size)), nil
}

// unpack unpacks what refers to what was unpacked before.
func unpack(b []byte, size int) []byte {
	const begin = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`
	var window [4096]byte
	at := copy(window[:], begin)
	var out []byte
	put := func(c byte) {
		out = append(out, c)
		window[at%4096] = c
		at++
	}
	for flags, bit := byte(0), 8; len(out) < size; bit++ {
		if bit == 8 {
			if len(b) == 0 {
				return out
			}
			flags, b, bit = b[0], b[1:], 0
		}
		wide := flags>>bit&1 != 0
		if len(b) == 0 || wide && len(b) < 2 {
			return out
		}
		if !wide {
			put(b[0])
			b = b[1:]
			continue
		}
		ref := int(b[0])<<8 | int(b[1])
		b = b[2:]
		from, length := ref>>4, ref&15+2
		if from == at%4096 {
			return out
		}
		for i := range length {
			put(window[(from+i)%4096])
		}
	}
	return out
}

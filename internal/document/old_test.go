package document_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// unpacked returns a file of testdata, without the gzip that large ones are kept in.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return b
	}
	z := must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(b)))
	return must[[]byte](t)(io.ReadAll(z))
}

func streams(t testing.TB, file []byte, names ...string) map[string][]byte {
	t.Helper()
	return must[*ole.File](t)(ole.Open(source("", file), names...)).Streams
}

// rec makes a record of a presentation.
func rec(kind, instance int, body ...[]byte) []byte {
	b := bytes.Join(body, nil)
	head := instance << 4
	switch kind {
	case 1000, 1006, 1008, 1036, 4080, 0xf002, 0xf003, 0xf004:
		head |= 15
	}
	out := binary.LittleEndian.AppendUint16(nil, uint16(head))
	out = binary.LittleEndian.AppendUint16(out, uint16(kind))
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
}

func words32(n ...uint32) []byte {
	var b []byte
	for _, v := range n {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func wide16(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// oldSlides makes a presentation as PowerPoint itself keeps one: the texts of slides
// stand in a list, boxes refer to them, and a later edit wins over an earlier one.
func oldSlides() []byte {
	box := func(text ...[]byte) []byte { return rec(0xf004, 0, rec(0xf00d, 0, text...)) }
	drawing := func(boxes ...[]byte) []byte { return rec(1036, 0, rec(0xf002, 0, rec(0xf003, 0, boxes...))) }
	head := func(kind uint32) []byte { return rec(3999, 0, words32(kind)) }
	document := rec(1000, 0,
		rec(4080, 0,
			rec(1011, 0, words32(2, 0, 2, 256, 0)), head(6), rec(4008, 0, []byte("Caf\xe9 plan")), head(1), rec(4000, 0, wide16("eins\rzwölf")),
			rec(4001, 0, words32(5), []byte{0, 0}, words32(0), words32(6), []byte{1, 0}, words32(0))),
		rec(4080, 2, rec(1011, 0, words32(3, 0, 0, 0, 0))))
	slide := func(extra string) []byte {
		return rec(1006, 0, rec(1007, 0, make([]byte, 24)), drawing(box(rec(3998, 0, words32(0))), box(rec(3998, 0, words32(1))), box(head(4), rec(4008, 0, []byte(extra)))))
	}
	notes := rec(1008, 0, rec(1009, 0, words32(256, 0)), drawing(box(head(4), rec(4008, 0, []byte("date 1.1."))), box(head(2), rec(4008, 0, []byte("say this\rand that")))))
	var b []byte
	place := func(r []byte) uint32 {
		at := uint32(len(b))
		b = append(b, r...)
		return at
	}
	d, s, n := place(document), place(slide("old words")), place(notes)
	dir := place(rec(6002, 0, words32(3<<20|1, d, s, n)))
	first := place(rec(4085, 0, words32(0, 0, 0, dir, 1, 4, 0)))
	s = place(slide("new words"))
	dir = place(rec(6002, 0, words32(1<<20|2, s)))
	place(rec(4085, 0, words32(0, 0, first, dir, 1, 4, 0)))
	return b
}

// oldUser says where the last edit of oldSlides begins: its record is the last one.
func oldUser() []byte {
	return rec(4086, 0, words32(20, 0xe391c05f, uint32(len(oldSlides())-36)))
}

// TestOldSlides reads a presentation with references, notes and a second edit.
func TestOldSlides(t *testing.T) {
	file := compound(stream{"PowerPoint Document", oldSlides()}, stream{"Current User", oldUser()})
	doc := convert(t, source("old.ppt", file), document.Request{})
	if want := "## Slide 1: Café plan\n\n* eins\n  * zwölf\n\nnew words\n\n### Notes:\n\nsay this\n\nand that"; doc.Markdown != want || doc.Format != "ppt" || doc.Pages != 1 {
		t.Errorf("%s with %d pages:\n%s\nwant\n%s", doc.Format, doc.Pages, doc.Markdown, want)
	}
	locked := oldUser()
	binary.LittleEndian.PutUint32(locked[12:], 0xf3d1c4df)
	refused(t, source("a.ppt", compound(stream{"PowerPoint Document", oldSlides()}, stream{"Current User", locked})), document.Encrypted)
	refused(t, source("a.ppt", compound(stream{"PowerPoint Document", oldSlides()})), document.Damaged)
	refused(t, source("a.ppt", compound(stream{"PowerPoint Document", oldSlides()[:40]}, stream{"Current User", oldUser()})), document.Damaged)
}

// TestOldWord reads documents of Word 97 that are locked, cut and older.
func TestOldWord(t *testing.T) {
	parts := streams(t, unpacked(t, "office/voyage.doc"), "WordDocument", "1Table")
	main, table := parts["WordDocument"], parts["1Table"]
	locked := bytes.Clone(main)
	locked[11] |= 1
	refused(t, source("a.doc", compound(stream{"WordDocument", locked}, stream{"1Table", table})), document.Encrypted)
	refused(t, source("a.doc", compound(stream{"WordDocument", main})), document.Damaged)
	refused(t, source("a.doc", compound(stream{"WordDocument", main[:300]}, stream{"1Table", table})), document.Damaged)
	refused(t, source("a.doc", compound(stream{"WordDocument", append([]byte("\xdc\xa5"), main[2:]...)}, stream{"1Table", table})), document.Damaged)
	whole := unpacked(t, "office/voyage.doc")
	for _, name := range []string{"a.doc", ""} {
		refusedWith(t, source(name, whole[:len(whole)/2]), document.Request{}, document.Damaged, "cut off or damaged")
	}
	half := convert(t, source("a.doc", compound(stream{"WordDocument", main[:len(main)/3]}, stream{"1Table", table})), document.Request{})
	if strings.Contains(half.Markdown, "All well") || len(half.Notes) == 0 {
		t.Errorf("a third of a document is taken for a whole: %q\n%s", half.Notes, half.Markdown)
	}
	// Fields in fields, some of which never end: they grow while others are open.
	nested := bytes.Repeat([]byte("\x13a\x13b\x14c"), 2)
	deep := bytes.Replace(main, []byte("Second page"), append(nested, "\x15d\x15"...)[:11], 1)
	deep = bytes.Replace(deep, wide16("Second page"), wide16("\x13a\x13b\x13c\x13d\x15e\x15"[:11]), 1)
	if bytes.Equal(deep, main) {
		t.Fatal("the text is not where it was")
	}
	holds(t, convert(t, source("a.doc", compound(stream{"WordDocument", deep}, stream{"1Table", table})), document.Request{}), "## Weather")
}

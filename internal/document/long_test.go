package document_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
)

// book makes a PDF of so many pages, each full of text.
func book(pages int) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(s string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), s)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", pages, kids.String()))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	words := strings.Fields("harbour ship tide rope anchor crane pilot storm basin quay cargo grain timber salt coal lamp fog bell rudder mast")
	r := rand.New(rand.NewPCG(1, 2))
	for i := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>", 5+2*i))
		var text strings.Builder
		fmt.Fprintf(&text, "BT /F 18 Tf 60 780 Td (Chapter %d) Tj /F 10 Tf 0 -20 Td 13 TL\n", i+1)
		for range 50 {
			text.WriteByte('(')
			for range 14 {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			text.WriteString(") Tj T*\n")
		}
		text.WriteString("ET")
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()))
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// workbook writes an XLSX of so many rows, with numbers, dates and texts.
func workbook(t testing.TB, w io.Writer, rows int) {
	t.Helper()
	z := zip.NewWriter(w)
	part := func(name, text string) io.Writer {
		f, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	part("xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Big" sheetId="1" r:id="a"/></sheets></workbook>`)
	part("xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="a" Type="t/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="b" Type="t/styles" Target="styles.xml"/><Relationship Id="c" Type="t/sharedStrings" Target="sharedStrings.xml"/></Relationships>`)
	part("xl/styles.xml", `<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`)
	r := rand.New(rand.NewPCG(3, 4))
	shared := part("xl/sharedStrings.xml", `<sst>`)
	for i := range rows {
		fmt.Fprintf(shared, "<si><t>customer %d %x</t></si>", i, r.Uint64())
	}
	_, _ = io.WriteString(shared, `</sst>`)
	sheet := part("xl/worksheets/sheet1.xml", `<worksheet><sheetData>`)
	line := make([]byte, 0, 1000)
	for i := range rows {
		n := strconv.Itoa(i + 1)
		line = append(line[:0], `<row r="`+n+`"><c r="A`+n+`" t="s"><v>`+strconv.Itoa(i)+`</v></c><c r="B`+n+`" s="1"><v>`+strconv.Itoa(40000+i%5000)+`</v></c>`...)
		for c := 'C'; c < 'K'; c++ {
			line = append(line, `<c r="`+string(c)+n+`"><v>`+strconv.FormatFloat(r.Float64()*1e6, 'f', 4, 64)+`</v></c>`...)
		}
		line = append(line, `</row>`...)
		if _, err := sheet.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.WriteString(sheet, `</sheetData></worksheet>`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBooks converts a book; with make long one of 300 pages, in bounds.
func TestBooks(t *testing.T) {
	pages := 12
	if os.Getenv("TENON_TEST_LONG") == "1" {
		pages = 300
	}
	src := source("book.pdf", book(pages))
	convert(t, src, document.Request{MaxChars: -1, Pages: "1"}) // the code is compiled now
	before, _ := childUsage()
	began := time.Now()
	doc := convert(t, src, document.Request{MaxChars: -1})
	took := time.Since(began)
	after, resident := childUsage()
	if doc.Pages != pages || len(doc.Outline) != pages {
		t.Errorf("%d pages and %d headings; want %d", doc.Pages, len(doc.Outline), pages)
	}
	holds(t, doc, "# Chapter 1\n", "<!-- page "+strconv.Itoa(pages)+" -->")
	t.Logf("%d pages, %d characters: %s, of which the child computed %s, with %d MB at most", pages, doc.Chars, took, after-before, resident/1e6)
	if pages == 300 && (after-before > 3*time.Second || resident > 300e6) {
		t.Errorf("300 pages took %s of a processor and %d MB; want 3 s and 300 MB", after-before, resident/1e6)
	}
}

// TestWorkbooks converts a workbook; with make long one of 50 MB, in bounds.
func TestWorkbooks(t *testing.T) {
	rows := 2000
	long := os.Getenv("TENON_TEST_LONG") == "1"
	if long {
		rows = 650_000
	}
	path := t.TempDir() + "/big.xlsx"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	workbook(t, f, rows)
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	count := &counter{}
	var doc document.Doc
	began := time.Now()
	grown := watched(func() {
		doc, err = converter(t).Write(t.Context(), count, document.Source{Name: "big.xlsx", Data: f, Size: info.Size()}, document.Request{MaxChars: -1})
	})
	took := time.Since(began)
	if err != nil || count.lines != rows+2 {
		t.Fatalf("%d lines and the error %v; want %d lines", count.lines, err, rows+2)
	}
	t.Logf("%d MB, %d rows, %d characters: %s, %d MB of heap at most", info.Size()/1e6, rows, doc.Chars, took, grown/1e6)
	if long && (took > 10*time.Second || grown > 500e6 || info.Size() < 50e6) {
		t.Errorf("%d MB took %s and %d MB; want 50 MB in less than 10 s and 500 MB", info.Size()/1e6, took, grown/1e6)
	}
}

type counter struct{ lines int }

func (c *counter) Write(p []byte) (int, error) {
	c.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

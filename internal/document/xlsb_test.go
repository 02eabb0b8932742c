package document_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/document/sheet"
)

// TestBinaryWorkbook converts what SheetJS wrote of two workbooks of LibreOffice.
func TestBinaryWorkbook(t *testing.T) {
	for name, wants := range map[string][]string{
		"orders.xlsb": {
			"## Orders", "| Orders of the year |  |  |  |  |", "| Item | Date | Count | Price | Sum |\n| Rope | 2025-03-09 | 12 | 3.5 | 42 |", `| Anchor \| heavy | 2025-11-30 | 2 | 199.95 | 399.9 |`,
			"12.5%", "Merged cells: A1:E1", "## Empty one\n\n(empty)", "## Ünïcode\n\n| Straße | 東京 |\n| --- | --- |\n| naïve | -1 |",
		},
		"office/ledger.xlsb": {
			"## Ledger", "| Aldern | 2025-04-02 | 120 | 1.75 | 210 | 59.8503740648379% | TRUE |", "| Corrie | 2026-01-01 | 0 | 1234.5 | 0 | #DIV/0! | 14:05", "| sum of Fuel of the year |",
			"* Comment at A5: Pump was broken", "## Ports & berths", "| multi | line one<br>line two |", "## Secret rates (hidden)",
		},
	} {
		src := source("", unpacked(t, name)) // the content must do
		doc := convert(t, src, document.Request{MaxChars: -1})
		holds(t, doc, wants...)
		if doc.Format != "xlsb" || doc.Author == "" || len(doc.Notes) > 0 {
			t.Errorf("%s: format %q, author %q, notes %q", name, doc.Format, doc.Author, doc.Notes)
		}
	}
	one := convert(t, read(t, "testdata/orders.xlsb"), document.Request{Sheet: "ünïcode"})
	holds(t, one, "Straße")
	holdsNot(t, one, "Rope")
}

// TestRecords reads each kind of cell, and tells where records end too soon.
func TestRecords(t *testing.T) {
	cell := func(column uint32, style byte, value string) string {
		return u32(column) + string([]byte{style, 0, 0, 0}) + value
	}
	short := func(style byte, value string) string { return string([]byte{style, 0, 0, 0}) + value }
	sheetPart := binRecord(0, u32(0)) + binRecord(7, cell(1, 0, u32(0))) + binRecord(2, cell(2, 0, u32(1234<<2|3))) + binRecord(18, short(0, u32(1))) + binRecord(17, short(0, wide("inline"))) +
		binRecord(0, u32(4)) + binRecord(5, cell(1, 1, real64(1))) + binRecord(16, short(2, real64(0.125))) + binRecord(15, short(0, "\x01")) + binRecord(14, short(0, "\x2a")) + binRecord(12, short(0, "")) + binRecord(13, short(0, u32(7<<2|2))) +
		binRecord(0, u32(5)) + binRecord(8, cell(1, 0, wide("made")+"\x00\x00")) + binRecord(9, cell(2, 0, real64(2.5))) + binRecord(10, cell(3, 0, "\x00")) + binRecord(11, cell(4, 0, "\x17")) +
		binRecord(62, cell(5, 0, "\x01"+wide("rich")+u32(0))) + binRecord(7, cell(6, 0, u32(99))) + binRecord(5, cell(5000, 0, real64(1))) + binRecord(146, "") +
		binRecord(176, u32(4)+u32(5)+u32(1)+u32(27))
	styles := binRecord(44, "\xa4\x00"+wide("yyyy-mm-dd")) + binRecord(47, "\x00\x00\x0e\x00") + binRecord(617, u32(3)) + binRecord(47, "\x00\x00\x00\x00") + binRecord(47, "\x00\x00\xa4\x00") + binRecord(47, "\x00\x00\x0a\x00") + binRecord(618, "")
	doc := convert(t, source("", binaryWorkbook(t, sheetPart, binRecord(19, "\x00"+wide("shared 東"))+binRecord(19, "\x01"+wide("second")+u32(1)), styles)), document.Request{})
	holds(t, doc, "| shared 東 | 12.34 | second | inline |", "| 1904-01-02 | 12.5% | TRUE | #N/A |  | 7 |", "| made | 2.5 | FALSE | #REF! | rich |", "Merged cells: B5:AB6")
	if len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "columns beyond") {
		t.Errorf("notes %q", doc.Notes)
	}
	for name, part := range map[string]string{
		"cut in a record": sheetPart[:len(sheetPart)-3], "cut in a head": sheetPart + "\x80", "more claimed than there is": sheetPart + "\x00\xff\xff\xff\x7f",
	} {
		refusedWith(t, source(name+".xlsb", binaryWorkbook(t, part, "", "")), document.Request{}, document.Damaged, "ends in the middle")
	}
	refusedWith(t, source("cut.xlsb", unpacked(t, "orders.xlsb")[:4000]), document.Request{}, document.Damaged, "cut off or damaged")
}

func FuzzBinaryWorkbook(f *testing.F) {
	f.Add(part(f, "orders.xlsb", "xl/worksheets/sheet1.bin"), part(f, "orders.xlsb", "xl/sharedStrings.bin"), part(f, "orders.xlsb", "xl/styles.bin"))
	f.Add(part(f, "office/ledger.xlsb", "xl/worksheets/sheet1.bin"), part(f, "office/ledger.xlsb", "xl/sharedStrings.bin"), part(f, "office/ledger.xlsb", "xl/workbook.bin"))
	f.Fuzz(func(t *testing.T, cells, shared, styles []byte) {
		try(t, sheet.XLSX, source("", binaryWorkbook(t, string(cells), string(shared), string(styles))))
	})
}

// binaryWorkbook makes a workbook that counts days from 1904, with one sheet. Its
// styles are its comments too.
func binaryWorkbook(t testing.TB, cells, shared, styles string) []byte {
	t.Helper()
	return zipped(t, "xl/workbook.bin", binRecord(153, u32(1)+u32(0)+wide(""))+binRecord(156, u32(0)+u32(1)+wide("a")+wide("Sheet")),
		"xl/_rels/workbook.bin.rels", `<r><Relationship Id="a" Type="t/worksheet" Target="a.bin"/><Relationship Id="b" Type="t/styles" Target="b.bin"/><Relationship Id="c" Type="t/sharedStrings" Target="c.bin"/></r>`,
		"xl/_rels/a.bin.rels", `<r><Relationship Id="a" Type="t/comments" Target="b.bin"/></r>`,
		"xl/a.bin", cells, "xl/b.bin", styles, "xl/c.bin", shared)
}

func binRecord(id int, body string) string {
	head := []byte{byte(id)}
	if id >= 0x80 {
		head = []byte{byte(id&0x7f | 0x80), byte(id >> 7)}
	}
	n := len(body)
	for n >= 0x80 {
		head, n = append(head, byte(n&0x7f|0x80)), n>>7
	}
	return string(append(head, byte(n))) + body
}

func u32(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }

func real64(v float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

func wide(s string) string {
	letters := wide16(s)
	return u32(uint32(len(letters)/2)) + string(letters)
}

package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// TestOffice converts what real programs wrote.
func TestOffice(t *testing.T) {
	table := []string{"| Month | Ships | Tonnage |", "| January | 41 | 12,300 |"}
	report := append([]string{
		"# Harbour report 2025", "## Ships by month", "**Sandhaven** moved *4,210* containers; see [the figures](https://example.org/harbour).",
		"* Dredge the north basin", "* before the autumn storms", "* Repair crane seven", "1. First step", "2. Second step",
		"größer als je zuvor, 日本語も.", "[^1]: Without fishing boats.",
	}, table...)
	minutes := []string{"# Minutes of the garden club", "## Item 8", "Present: Bo, Cy & Di. Excused: <nobody>.", "quokka-008"}
	orders := []string{
		"## Orders", "| Orders of the year |  |  |  |  |", "| Item | Date | Count | Price | Sum |", "| Rope | 2025-03-09 | 12 | 3.5 | 42 |",
		`| Anchor \| heavy | 2025-11-30 | 2 | 199.95 | 399.9 |`, "12.5%", "441.9", "## Empty one", "(empty)", "## Ünïcode", "| Straße | 東京 |", "| naïve | -1 |",
	}
	log := []string{"## Log", "| No | When | Note |", "| 1 | 2024-02-02 | note wombat-1 |", "| 200 | 2024-09-05 | note wombat-200 |"}
	tides := []string{"## Slide 1: Tides and currents", "* Spring tides are strong", "### Notes:", "Say hello to the pilots first.", "## Slide 2: Heights", "| high | 4.1 m |"}
	plan := []string{"## Slide 5: Phase 5", "* milestone numbat-5", "remember phase 5"}
	for name, wants := range map[string][]string{
		"report.docx": report, "report.odt": report, "report.rtf": report,
		"report.epub":  append(table, "**Title:** Harbour report", "**Authors:** Ada Fictional", "[the figures](https://example.org/harbour)", "Dredge the north basin"),
		"report.pdf":   append(table, "## Harbour report 2025", "The harbour of Sandhaven moved 4,210 containers; see the figures.", "* Dredge the north basin", "größer als je zuvor, 日本語も."),
		"minutes.docx": minutes, "minutes.odt": minutes, "minutes.rtf": minutes, "minutes.epub": minutes[3:], "minutes.pdf": minutes[2:],
		"points.pdf":  {"* paint the tower\n* oil the lens\n* and the clockwork\n", "| Country | Capital | People |\n| --- | --- | --- |\n| Aldia | Port Aldern | 12,000 |\n| Borland | Brisk | 34,000 |\n\nBetween them.\n\n| Key | Value |\n| --- | --- |\n| alpha | 1 |\n| beta | 2 |"},
		"orders.xlsx": append(orders, "Merged cells: A1:E1"), "orders.xls": orders, "orders.ods": orders,
		"log.xlsx": log, "log.xls": log, "log.ods": log,
		"tides.pptx": tides, "tides.odp": tides, "plan.pptx": plan, "plan.odp": plan,
		"ferry.eml": {
			"# Email Message", "**From:** Ada Fictional <ada@example.org>", "**Subject:** Fähre um 7 – Änderung", "## Content", "| Tag | Zeit |",
			"| Montag | 7 Uhr |", "## Attachment: list.csv", "| item | count |",
		},
		"cafe.eml":                       {"**Subject:** café", "Bis gleich im Café."},
		"stock.sqlite":                   {"## Table parts", "CREATE TABLE parts", "| id | name | price |", "| 10 | part 10 | 15 |", "(more than 10 rows)", "## View dear", `## Table odd "name" | x`, "(2 bytes)"},
		"equations.docx":                 {"$m=1$", `$$`, `\frac{m\lambda }{a}`},
		"movie-theater-booking-2024.pdf": {"| Order / Rev: | 2024-12-5678 | Cinema: | Downtown Multiplex |", "| Start Date | End Date | # Shows | Gross Amount | Net Amount |"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := convert(t, read(t, "testdata/"+name), document.Request{MaxChars: -1})
			holds(t, doc, wants...)
			if len(doc.Notes) > 0 {
				t.Errorf("it has notes: %q", doc.Notes)
			}
		})
	}
}

// TestLibreOffice converts what LibreOffice made of three flat files: a text, a workbook
// and a presentation, each in all formats that it writes.
func TestLibreOffice(t *testing.T) {
	text := []string{
		"# Log of the Petrel", "left Sandhaven on 4/1/25 with", "The chart is [sheet four](https://example.org/chart?sheet=4).", "## Crew & stores",
		"* Skipper\n", "* keeps the log\n", "* sets the watch\n* Cook: «Ünïcode» 東京\n", "1. Hoist the jib\n2. Cast off",
		"| Leg | Miles by day |  |\n| --- | --- | --- |\n| Out \\| north | Tue 41 | Wed 38 |\n|  | Thu 12.5 | Fri 0 |\n| Home | Sat 44 | Sun 47 |",
		"## Weather", "Before the picture.", "After it.", "Second page", "begins\nwith a broken line.", "### Return", "All well: 5 < 6, a*b_c, #no heading.",
		"Force 3, from the south-west.", "One day late.",
	}
	bold := []string{"The **Petrel** left", "a *light* wind[^1] and returned"}
	nested := "* Skipper\n  * keeps the log\n  * sets the watch\n"
	comment := "Comment of Bo Madeup: Was it nine or ten days?"
	cells := []string{
		"| Fuel of the year |  |  |  |  |  |  |", "| Port | Date | Litres | Price | Sum | Share | Full |", "| Aldern | 2025-04-02 | 120 | 1.75", "| Brisk | 2025-12-31 | 80.5 | 2",
		"| #DIV/0! | 14:05", "| Total |  | 200.5 |  | 371", "| sum of Fuel of the year |",
	}
	sheets := append([]string{"## Ledger", "| Aldern | 2025-04-02 | 120 | 1.75 | 210 | 59.", "| Corrie", "| 2026-01-01 | 0 | 1234.5 | 0 | #DIV/0!", "## Ports & berths", "| Aldern \\| east | 7 |", "| multi | line one<br>line two |", "## Secret rates (hidden)"}, cells...)
	slides := []string{
		"## Slide 1: Knots for sailors\n\n* Three knots do\n  * learn them blind\n* Größe zählt 結び目", "## Slide 2: Which for what", "| Knot | Use |\n| --- | --- |\n| Bowline | a loop that holds |\n| Clove \\| hitch | a rail |",
		"## Slide 3: No title here, a box of text", "In a group\n\nBeside it",
	}
	said := []string{"### Notes:\n\nHand out ropes before this slide.", "### Notes:\n\nAsk who has lost a boat.", "[all knots](https://example.org/knots)", "A bowline seen from above"}
	for name, wants := range map[string][][]string{
		"voyage.docx": {text, bold, {comment, "[^c1]", "![Grey swell under the bow]"}}, "voyage.odt": {text, bold, {nested, comment, "Grey swell under the bow"}},
		"voyage.fodt": {text[:1], text[2:], bold[:1], {nested, comment, "Before the picture. ![Swell Grey swell under the bow](data:image/*;base64...) After it."}},
		"ledger.fods": {sheets[:1], {"| Brisk | 2025-12-31 | 80.5 | 2 |"}, sheets[4:8]}, "lecture.fodp": {slides, said[:3]},
		"voyage.rtf": {text, bold, {nested, comment}}, "voyage.doc": {text, bold[:1], {"Before the picture. ![](data:image/png;base64...) After it."}, {nested, "[^c1]: Comment: Was it nine or ten days?", "a *light* wind[^1] and returned[^e1] safely[^c1]"}},
		"voyage.html": {text[:1], text[2:4], text[7:13], bold[:1], {"![Swell]"}}, "voyage.pdf": {text[3:4], text[8:10]},
		"voyage.epub": {{"**Title:** Log of the Petrel", text[2], "| Out \\| north | Tue 41 | Wed 38 |", "Cook: «Ünïcode» 東京"}},
		"voyage.txt":  {{"Log of the Petrel", "Cook: «Ünïcode» 東京"}},
		"ledger.xlsx": {sheets, {"* Comment at A5: Pump was broken", "Merged cells: A1:G1"}}, "ledger.xls": {sheets, {"* Comment at A5: Pump was broken"}},
		"ledger.ods": {sheets, {"| Corrie[^1] |", "[^1]: Comment of Bo Madeup: Pump was broken"}}, "ledger.csv": {cells}, "ledger.html": {cells[1:]},
		"lecture.pptx": {slides, said}, "lecture.odp": {slides, said}, "lecture.ppt.gz": {slides, said[:2]}, "tides.ppt.gz": {{"## Slide 1: Tides and currents", "### Notes:\n\nSay hello to the pilots first.", "* Spring tides are strong", "| high | 4.1 m |"}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := convert(t, source(strings.TrimSuffix(name, ".gz"), unpacked(t, "office/"+name)), document.Request{MaxChars: -1})
			for _, w := range wants {
				holds(t, doc, w...)
			}
			holdsNot(t, doc, "\x13", "HYPERLINK", "PAGEREF", "<w:", "text:p", "Click to edit", "\n\n\n", "Arial", "Liberation")
			if title := doc.Title; title != "" && title != "Log of the Petrel" && title != "Fuel ledger" && title != "Knots for sailors" && title != "Tides" {
				t.Errorf("the title is %q", title)
			}
			if !strings.HasSuffix(name, ".csv") && !strings.HasSuffix(name, ".txt") && (doc.Title == "" || name != "tides.ppt.gz" && doc.Author != "Ida Invented") {
				t.Errorf("title %q, author %q", doc.Title, doc.Author)
			}
			for _, n := range doc.Notes {
				if !strings.Contains(n, "picture") && !strings.Contains(n, "image") {
					t.Errorf("a note: %q", n)
				}
			}
		})
	}
}

// TestRacedPDF converts by a child that is looked at for races.
func TestRacedPDF(t *testing.T) {
	doc, err := raced(t).Convert(t.Context(), read(t, "testdata/minutes.pdf"), document.Request{})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, doc, "quokka-008")
}

// TestProperties tells what documents say of themselves.
func TestProperties(t *testing.T) {
	for name, want := range map[string]string{
		"report.docx": "docx|Harbour report|Ada Fictional|0", "report.odt": "odf|Harbour report|Ada Fictional|1", "report.pdf": "pdf|Harbour report|Ada Fictional|1",
		"report.epub": "epub|Harbour report|Ada Fictional|1", "report.rtf": "rtf|Harbour report|Ada Fictional|0", "plan.pptx": "pptx|Plan|Flo Fake|5",
		"plan.odp": "odf|Plan|Flo Fake|5", "orders.xlsx": "xlsx|Orders|Cy Madeup|0", "minutes.pdf": "pdf|Minutes|Bo Invented|2",
		"ferry.eml": "eml|Fähre um 7 – Änderung|Ada Fictional <ada@example.org>|0",
	} {
		src := read(t, "testdata/"+name)
		src.Name = "" // the content must do
		doc := convert(t, src, document.Request{})
		if got := fmt.Sprintf("%s|%s|%s|%d", doc.Format, doc.Title, doc.Author, doc.Pages); got != want {
			t.Errorf("%s: got %s; want %s", name, got, want)
		}
	}
}

// TestParts converts what of a document is asked for.
func TestParts(t *testing.T) {
	pdf := convert(t, read(t, "testdata/minutes.pdf"), document.Request{Pages: "2-"})
	holds(t, pdf, "<!-- page 2 -->", "quokka-008")
	holdsNot(t, pdf, "<!-- page 1 -->", "quokka-001")
	for _, name := range []string{"plan.pptx", "plan.odp"} {
		slides := convert(t, read(t, "testdata/"+name), document.Request{Pages: "1, 3"})
		holds(t, slides, "numbat-1", "numbat-3")
		holdsNot(t, slides, "numbat-2", "numbat-4")
	}
	for _, name := range []string{"orders.xlsx", "orders.xls", "orders.ods"} {
		for _, want := range []string{"ünïcode", "3"} {
			one := convert(t, read(t, "testdata/"+name), document.Request{Sheet: want})
			holds(t, one, "Straße")
			holdsNot(t, one, "Rope")
		}
		_, err := converter(t).Convert(t.Context(), read(t, "testdata/"+name), document.Request{Sheet: "Costs"})
		if err == nil || !strings.Contains(err.Error(), "there are Orders, Empty one, Ünïcode") {
			t.Errorf("%s: a sheet that is not there gives %v", name, err)
		}
	}
	table := convert(t, read(t, "testdata/stock.sqlite"), document.Request{Sheet: "parts"})
	holds(t, table, "| 30 | part 30 |")
	holdsNot(t, table, "odd")
	for _, pages := range []string{"0", "3-1", "a", "1-x", "-", strings.Repeat("1,", 2000)} {
		_, err := converter(t).Convert(t.Context(), read(t, "testdata/minutes.pdf"), document.Request{Pages: pages})
		if err == nil || !strings.Contains(err.Error(), "no list of pages") {
			t.Errorf("pages %.20q give %v", pages, err)
		}
	}
	refusedWith(t, read(t, "testdata/minutes.pdf"), document.Request{Pages: "7"}, document.Wrong, "has 2 pages")
}

// TestLong keeps a part of what is long, tells the outline of all of it, and goes on.
func TestLong(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "# Part %d\n\n%s\n\n", i, strings.Repeat("wörter ", 40))
	}
	src := source("long.md", []byte(b.String()))
	whole := convert(t, src, document.Request{MaxChars: -1})
	if whole.Cut || whole.Next != 0 || len(whole.Outline) != 400 {
		t.Fatalf("the whole: cut %v, next %d, %d headings", whole.Cut, whole.Next, len(whole.Outline))
	}
	first := convert(t, src, document.Request{MaxChars: 1000})
	if n := len([]rune(first.Markdown)); !first.Cut || first.Next != 1000 || n > 1000 || n < 990 || len(first.Outline) != 400 || first.Chars != whole.Chars {
		t.Fatalf("the first part: %d characters, cut %v, next %d, %d headings, %d in all", n, first.Cut, first.Next, len(first.Outline), first.Chars)
	}
	at := whole.Outline[399].Offset
	last := convert(t, src, document.Request{Offset: at})
	if !strings.HasPrefix(last.Markdown, "# Part 399") || last.Cut {
		t.Fatalf("the last part begins with %.40q", last.Markdown)
	}
	if at := whole.Outline[7]; at.Text != "Part 7" || at.Level != 1 {
		t.Errorf("the outline has %+v", at)
	}
	if usual := convert(t, source("a.txt", []byte(strings.Repeat("x\n", 200_000))), document.Request{}); len(usual.Markdown) > draft.DefaultMaxChars || !usual.Cut {
		t.Errorf("without a bound there are %d bytes", len(usual.Markdown))
	}
}

func refusedWith(t *testing.T, src document.Source, req document.Request, reason document.Reason, text string) {
	t.Helper()
	_, err := converter(t).Convert(t.Context(), src, req)
	e := asError(err)
	if e == nil || e.Reason != reason || !strings.Contains(e.Text, text) {
		t.Errorf("%s: got %v; want %s with %q", src.Name, err, reason, text)
	}
}

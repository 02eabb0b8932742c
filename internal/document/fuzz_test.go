package document_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/archive"
	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/epub"
	"github.com/tenon-mcp/tenon/internal/document/mail"
	"github.com/tenon-mcp/tenon/internal/document/media"
	"github.com/tenon-mcp/tenon/internal/document/odf"
	"github.com/tenon-mcp/tenon/internal/document/ole"
	"github.com/tenon-mcp/tenon/internal/document/ooxml"
	"github.com/tenon-mcp/tenon/internal/document/page"
	"github.com/tenon-mcp/tenon/internal/document/ppt97"
	"github.com/tenon-mcp/tenon/internal/document/rtf"
	"github.com/tenon-mcp/tenon/internal/document/sheet"
	"github.com/tenon-mcp/tenon/internal/document/sqlite"
	"github.com/tenon-mcp/tenon/internal/document/text"
	"github.com/tenon-mcp/tenon/internal/document/word97"
)

type convertFunc = func(context.Context, draft.Source, *draft.Out) error

// try runs a format on a file: it must come back, soon, and say nothing but what is
// wrong with the file. What breaks in it is not caught here.
func try(t *testing.T, f convertFunc, src draft.Source) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var b strings.Builder
	out := draft.NewOut(ctx, &b, draft.Options{MaxChars: 100_000, NoOCR: true}, func(context.Context, draft.Source, *draft.Out) error {
		return &draft.Error{Reason: draft.Unsupported, Text: "not in this test"}
	})
	err := f(ctx, src, out)
	if ctx.Err() != nil {
		t.Fatalf("it did not come back: %v", err)
	}
	if n := len([]rune(b.String())); n > 100_000 {
		t.Fatalf("it wrote %d characters", n)
	}
}

func seeds(f *testing.F, names ...string) {
	f.Helper()
	for _, n := range names {
		b, err := os.ReadFile("testdata/" + n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// part returns a part of a container, for containers are packed and a fuzzer sees
// through them only when they are unpacked.
func part(f *testing.F, name, part string) []byte {
	f.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		f.Fatal(err)
	}
	src := source(name, b)
	z, err := draft.OpenZip(src, draft.NewBudget())
	if err != nil {
		f.Fatal(err)
	}
	text, err := z.Read(part, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

func FuzzWord(f *testing.F) {
	f.Add(part(f, "report.docx", "word/document.xml"), part(f, "report.docx", "word/numbering.xml"))
	f.Add(part(f, "equations.docx", "word/document.xml"), []byte("<a/>"))
	f.Fuzz(func(t *testing.T, text, numbering []byte) {
		rels := `<r><Relationship Id="rId1" Type="t/numbering" Target="numbering.xml"/><Relationship Id="rId2" Type="t/footnotes" Target="document.xml"/></r>`
		try(t, ooxml.Word, source("", zipped(t, "word/document.xml", string(text), "word/numbering.xml", string(numbering), "word/_rels/document.xml.rels", rels)))
	})
}

func FuzzSlides(f *testing.F) {
	f.Add(part(f, "tides.pptx", "ppt/slides/slide2.xml"))
	f.Fuzz(func(t *testing.T, text []byte) {
		try(t, ooxml.Slides, source("", zipped(t, "ppt/presentation.xml", `<p><sldId r:id="a"/></p>`, "ppt/_rels/presentation.xml.rels", `<r><Relationship Id="a" Type="t/slide" Target="s.xml"/></r>`,
			"ppt/s.xml", string(text), "ppt/_rels/s.xml.rels", `<r><Relationship Id="rId1" Type="t/chart" Target="s.xml"/><Relationship Id="rId2" Type="t/notesSlide" Target="s.xml"/></r>`)))
	})
}

func FuzzWorkbook(f *testing.F) {
	f.Add(part(f, "orders.xlsx", "xl/worksheets/sheet1.xml"), part(f, "orders.xlsx", "xl/sharedStrings.xml"), part(f, "orders.xlsx", "xl/styles.xml"))
	f.Fuzz(func(t *testing.T, cells, shared, styles []byte) {
		try(t, sheet.XLSX, source("", zipped(t, "xl/workbook.xml", `<w><sheet name="a" r:id="a"/></w>`,
			"xl/_rels/workbook.xml.rels", `<r><Relationship Id="a" Type="t/worksheet" Target="a.xml"/><Relationship Id="b" Type="t/styles" Target="b.xml"/><Relationship Id="c" Type="t/sharedStrings" Target="c.xml"/></r>`,
			"xl/a.xml", string(cells), "xl/b.xml", string(styles), "xl/c.xml", string(shared))))
	})
}

func FuzzXLS(f *testing.F) {
	seeds(f, "orders.xls", "log.xls", "office/catch.xls")
	f.Fuzz(func(t *testing.T, b []byte) {
		try(t, sheet.XLS, source("", b))
		try(t, sheet.XLS, source("", compound(stream{"Workbook", b})))
	})
}

func FuzzWord97(f *testing.F) {
	doc := streams(f, unpacked(f, "office/voyage.doc"), "WordDocument", "1Table", "Data")
	f.Add(doc["WordDocument"], doc["1Table"])
	f.Fuzz(func(t *testing.T, main, table []byte) {
		try(t, word97.Convert, source("", compound(stream{"WordDocument", main}, stream{"1Table", table}, stream{"Data", doc["Data"]})))
	})
}

func FuzzPPT97(f *testing.F) {
	for _, n := range []string{"office/lecture.ppt.gz", "office/tides.ppt.gz"} {
		ppt := streams(f, unpacked(f, n), "PowerPoint Document", "Current User")
		f.Add(ppt["PowerPoint Document"], ppt["Current User"])
	}
	f.Add(oldSlides(), oldUser())
	f.Fuzz(func(t *testing.T, slides, user []byte) {
		try(t, ppt97.Convert, source("", compound(stream{"PowerPoint Document", slides}, stream{"Current User", user})))
	})
}

func FuzzOLE(f *testing.F) {
	f.Add(streams(f, unpacked(f, "office/voyage.doc"), "SummaryInformation")["SummaryInformation"])
	f.Fuzz(func(t *testing.T, b []byte) {
		try(t, func(_ context.Context, src draft.Source, out *draft.Out) error {
			file := &ole.File{Streams: map[string][]byte{"SummaryInformation": b}}
			file.Properties(out)
			return nil
		}, source("", nil))
	})
}

func FuzzODF(f *testing.F) {
	for _, n := range []string{"report.odt", "orders.ods", "tides.odp"} {
		f.Add(part(f, n, "content.xml"))
	}
	seeds(f, "office/voyage.fodt", "office/ledger.fods", "office/lecture.fodp")
	f.Fuzz(func(t *testing.T, b []byte) {
		try(t, odf.Convert, source("", zipped(t, "content.xml", string(b))))
		try(t, odf.Convert, source("", append([]byte("<"), b...)))
		try(t, odf.Convert, source("", b))
	})
}

func FuzzEPUB(f *testing.F) {
	f.Add(part(f, "report.epub", "OEBPS/content.opf"), []byte("<p>x"))
	f.Fuzz(func(t *testing.T, b, chapter []byte) {
		try(t, epub.Convert, source("", zipped(t, "META-INF/container.xml", `<c><rootfile full-path="OEBPS/b.opf"/></c>`, "OEBPS/b.opf", string(b), "OEBPS/sections/section0001.xhtml", string(chapter))))
	})
}

func FuzzRTF(f *testing.F) {
	seeds(f, "report.rtf", "minutes.rtf")
	f.Fuzz(func(t *testing.T, b []byte) { try(t, rtf.Convert, source("", b)) })
}

func FuzzEML(f *testing.F) {
	seeds(f, "ferry.eml", "cafe.eml")
	f.Fuzz(func(t *testing.T, b []byte) { try(t, mail.EML, source("", b)) })
}

func FuzzMSG(f *testing.F) {
	f.Add(compound(stream{"__properties_version1.0", make([]byte, 64)}, stream{"__substg1.0_0037001F", []byte("a\x00")}, stream{"__substg1.0_10090102", []byte("\x20\x00\x00\x00\x1a\x00\x00\x00LZFu\x00\x00\x00\x00\x03\x00a\x00\xf0")}), []byte("LZFu"))
	f.Fuzz(func(t *testing.T, b, rich []byte) {
		try(t, mail.MSG, source("", b))
		rich = append([]byte("\x20\x00\x00\x00\xff\xff\x00\x00LZFu\x00\x00\x00\x00"), rich...)
		try(t, mail.MSG, source("", compound(stream{"__substg1.0_10090102", rich})))
	})
}

func FuzzPage(f *testing.F) {
	f.Add([]byte("<html><main><h1>a</h1><ul><li>b<ol><li>c</ol></ul><table><tr><td rowspan=3 colspan=9>d</table><blockquote><pre>e"))
	f.Add([]byte("<a href=x><b><i>x</i></b></a><math><annotation encoding=application/x-tex>x</annotation></math><img alt=x src=data:>"))
	f.Fuzz(func(t *testing.T, b []byte) { try(t, page.Convert, source("", b)) })
}

func FuzzText(f *testing.F) {
	f.Add(byte(0), []byte("a\n\n\nb"))
	f.Add(byte(1), []byte("# a\n```\n# b"))
	f.Add(byte(2), []byte("a;b\n\"c\nd\";e"))
	f.Add(byte(3), []byte(`{"a":[1,{"b":null}]}`))
	f.Add(byte(4), []byte("{\"a\":1}\n{\"a\":\"x\"}\n"))
	f.Add(byte(5), []byte(`{"nbformat":4,"cells":[{"cell_type":"code","source":["x"],"outputs":[{"text":"y","data":{"text/html":"<table>"}}]}]}`))
	f.Add(byte(6), []byte(`<rss><channel><title>a</title><item><title>b</title><description>&lt;b&gt;</description></item></channel></rss>`))
	f.Add(byte(7), []byte(`<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a [<!ELEMENT a ANY>]><a b='c'><![CDATA[d]]>&#x41;</a>`))
	all := []convertFunc{text.Plain, text.Markdown, text.CSV, text.JSON, text.JSONLines, text.Notebook, text.Feed, text.XML, text.Code}
	f.Fuzz(func(t *testing.T, which byte, b []byte) { try(t, all[int(which)%len(all)], source("a.go", b)) })
}

func FuzzArchive(f *testing.F) {
	f.Add(byte(0), zipped(f, "a.txt", "b", "c/", ""))
	f.Add(byte(1), tarred(f, "a.txt", "b"))
	f.Add(byte(2), gzipped(f, tarred(f, "a.txt", "b")))
	f.Add(byte(2), []byte("BZh91AY&SY"))
	f.Add(byte(2), []byte("\x28\xb5\x2f\xfd\x04\x58\x09\x00\x00a"))
	f.Add(byte(2), []byte("\xfd7zXZ\x00\x00\x04"))
	all := []convertFunc{archive.ZIP, archive.Tar, archive.Packed}
	f.Fuzz(func(t *testing.T, which byte, b []byte) { try(t, all[int(which)%len(all)], source("a", b)) })
}

func FuzzMedia(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x1aExif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x0e\x01\x02\x00\x02\x00\x00\x00a\x00"))
	f.Add([]byte("ID3\x03\x00\x00\x00\x00\x00\x0bTIT2\x00\x00\x00\x01\x00\x00a\xff\xfb\x90\x00"))
	f.Add([]byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x1e\x01vorbis"))
	f.Add([]byte("\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00\x00\x00\x00\x08moov"))
	f.Fuzz(func(t *testing.T, b []byte) {
		try(t, media.Image(nil), source("", b))
		try(t, media.Audio, source("", b))
	})
}

func FuzzSQLite(f *testing.F) {
	seeds(f, "stock.sqlite")
	f.Fuzz(func(t *testing.T, b []byte) { try(t, sqlite.Convert, source("", b)) })
}

// FuzzDetect asks what a file is, and converts it as that.
func FuzzDetect(f *testing.F) {
	seeds(f, "report.docx", "orders.ods", "report.epub", "ferry.eml", "locked.zip")
	f.Fuzz(func(t *testing.T, b []byte) {
		if bytes.Contains(b, []byte("%PDF-")) {
			return // a process for each
		}
		_, err := plainConverter.Convert(t.Context(), source("", b), draft.Options{NoOCR: true})
		if err != nil && (asError(err) == nil || strings.Contains(err.Error(), "reader does not expect")) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

package document_test

import (
	"archive/zip"
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
)

// TestCharts converts three charts on two sheets that LibreOffice wrote: with their data
// where the file holds it, and else with the cells that it stands in.
func TestCharts(t *testing.T) {
	titles := []string{"Chart: Catch by month\n\n", "Chart: Cod alone\n\n", "Chart: Salinity by depth\n\n"}
	data := []string{
		"| Category | Herring | Cod |\n| --- | --- | --- |\n| January | 412 | 37.5 |\n| February | 388 | 41 |\n| March | 455 | 29.25 |\n| April | 501 | 33 |",
		"| Category | Cod |\n| --- | --- |\n| January | 37.5 |", "| 200 | 34.9 |",
	}
	cells := []string{
		"| Series | Values in | Categories in |\n| --- | --- | --- |\n| Catch!B1 | Catch!B2:B5 | Catch!A2:A5 |\n| Catch!C1 | Catch!C2:C5 | Catch!A2:A5 |",
		"| 'Depths & lines'!B1 | 'Depths & lines'!B2:B4 | 'Depths & lines'!A2:A4 |",
	}
	written := unpacked(t, "office/catch.xlsx")
	for name, c := range map[string]struct {
		file []byte
		want [][]string
	}{
		"catch.xlsx": {written, [][]string{titles, data}},
		"bare.xlsx":  {without(t, written, `(?s)<c:(str|num)Cache>.*?</c:(str|num)Cache>`), [][]string{titles, cells}},
		"catch.xls":  {unpacked(t, "office/catch.xls"), [][]string{titles, cells}},
		"catch.ods":  {unpacked(t, "office/catch.ods"), [][]string{{"| January | 412 | 37.5 |", "Chart: Salinity by depth"}, titles, {"|  | Cod |\n| --- | --- |\n| January | 37.5 |"}}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := convert(t, source(name, c.file), document.Request{MaxChars: -1})
			for _, w := range c.want {
				holds(t, doc, w...)
			}
			if len(doc.Notes) > 0 || strings.Index(doc.Markdown, "Cod alone") > strings.Index(doc.Markdown, "## Depths & lines") {
				t.Errorf("notes %q\n%s", doc.Notes, doc.Markdown)
			}
		})
	}
}

// TestPictureOfDOC keeps a picture whole where that is wanted.
func TestPictureOfDOC(t *testing.T) {
	doc := convert(t, source("voyage.doc", unpacked(t, "office/voyage.doc")), document.Request{MaxChars: -1, KeepDataURIs: true})
	holds(t, doc, "![](data:image/png;base64,iVBORw0KGgo")
}

// without returns a container whose parts lack what a pattern finds.
func without(t *testing.T, file []byte, pattern string) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		w, err := out.Create(f.Name)
		if err == nil {
			_, err = w.Write(regexp.MustCompile(pattern).ReplaceAll(text, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

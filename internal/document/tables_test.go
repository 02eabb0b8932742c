package document_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// allocated returns how many bytes f takes from the heap, with those that it gives back:
// that does not depend on when rubbish is collected.
func allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// oneLine is a file of a short line and one without an end.
type oneLine struct{ begin string }

func (o oneLine) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if at < int64(len(o.begin)) {
		copy(p, o.begin[at:])
	}
	return len(p), nil
}

// TestHostileTables reads tables that ask for far more memory than their files have: in
// bounds, with a note that says what is left out.
func TestHostileTables(t *testing.T) {
	const most = 128 << 20
	flat := func(body string) []byte {
		return []byte(`<?xml version="1.0"?><office:document xmlns:office="o" xmlns:table="t" xmlns:text="x" office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>` + body + `</office:text></office:body></office:document>`)
	}
	nested := "<text:p>aaaa</text:p>"
	for range 4 {
		nested = `<table:table><table:table-row><table:table-cell table:number-columns-repeated="100">` + nested + `</table:table-cell></table:table-row></table:table>`
	}
	again := func(n int, s ...string) string { return strings.Repeat(strings.Join(s, ""), n) }
	empty := `<table:table-row><table:table-cell table:number-columns-repeated="1024"/></table:table-row>`
	wideRow := `<table:table-row><table:table-cell table:number-columns-repeated="1024"><text:p>x</text:p></table:table-cell></table:table-row>`
	word := func(body string, more ...string) []byte {
		return zipped(t, append([]string{"[Content_Types].xml", "<Types/>", "word/document.xml", "<w:document><w:body>" + body + "</w:body></w:document>"}, more...)...)
	}
	chart := `<c:chartSpace>` + again(100, `<c:ser><c:val><c:pt idx="1999"><c:v>1</c:v></c:pt></c:val></c:ser>`) + `</c:chartSpace>`
	cells := binRecord(0, u32(0))
	for c := range 1024 {
		cells += binRecord(7, u32(uint32(c))+"\x00\x00\x00\x00"+u32(0))
	}
	for _, c := range []struct {
		name string
		src  document.Source
		says string
	}{
		{"nested.fodt", source("nested.fodt", flat(nested)), ""},
		{"empty.fodt", source("empty.fodt", flat("<table:table>"+again(40_000, empty)+"</table:table>")), "without any text"},
		{"wide.fodt", source("wide.fodt", flat("<table:table>"+again(6500, wideRow)+"</table:table>")), "are left out"},
		{"empty.docx", source("empty.docx", word("<w:tbl>"+again(50_000, `<w:tr><w:tc><w:tcPr><w:gridSpan w:val="9999"/></w:tcPr></w:tc></w:tr>`)+"</w:tbl>")), "without any text"},
		{"charts.docx", source("charts.docx", word("<w:p><w:r><w:t>x</w:t><w:drawing>"+again(1000, `<c:chart r:id="a"/>`)+"</w:drawing></w:r></w:p>",
			"word/_rels/document.xml.rels", `<Relationships><Relationship Id="a" Type="t/chart" Target="chart.xml"/></Relationships>`, "word/chart.xml", chart)), "left out"},
		{"item.html", source("item.html", []byte("<html><ul><li><table><tr><td>a<td colspan=100>b</tr>"+again(30_000, "<tr><td>x</tr>")+"</table></ul>")), "in a list or a quote"},
		{"shared.xlsb", source("shared.xlsb", binaryWorkbook(t, cells+binRecord(146, ""), binRecord(19, "\x00"+wide(again(60_000, "|\n"))), "")), ""},
		{"cells.csv", source("cells.csv", []byte("a,b\n"+again(3<<20, ","))), "more than 200000 cells"},
		{"long.jsonl", document.Source{Name: "long.jsonl", Data: oneLine{"{\"a\":1}\n{\"a\":\""}, Size: 200 << 20}, "more than 8 MiB"},
		{"rows.rtf", source("rows.rtf", []byte(`{\rtf1 `+again(1500, again(500, `\cell`), `\row`)+"}")), "without any text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var doc document.Doc
			var err error
			took := allocated(func() { doc, err = converter(t).Write(t.Context(), io.Discard, c.src, document.Request{}) })
			if took > most {
				t.Errorf("it took %d MiB", took>>20)
			}
			text := strings.Join(doc.Notes, "\n")
			if e := asError(err); e != nil && e.Reason == document.Large {
				text += e.Text
			} else if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("it says %q; want %q", text, c.says)
			}
		})
	}
	var b bytes.Buffer
	doc, err := converter(t).Write(t.Context(), &b, source("nested.fodt", flat(nested)), document.Request{MaxChars: -1})
	if err != nil || strings.Count(b.String(), "aaaa") != 100 || len(doc.Notes) > 0 {
		t.Errorf("repeats of tables in each other: %d times, notes %q, %v", strings.Count(b.String(), "aaaa"), doc.Notes, err)
	}
}

// TestComputedColumns reads what a database has stored, and computes nothing for it.
func TestComputedColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := must[*sql.DB](t)(sql.Open("sqlite", path))
	must[sql.Result](t)(db.Exec(`create table "a ""b" (x text, "y ""z" text, big generated always as (hex(zeroblob(20000000))) virtual); insert into "a ""b" values ('one', 'two')`))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file := must[[]byte](t)(os.ReadFile(path))
	took := allocated(func() {
		doc := convert(t, source("a.db", file), document.Request{})
		holds(t, doc, "| one | two |")
		if len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "computed") {
			t.Errorf("notes %q", doc.Notes)
		}
	})
	if took > 24<<20 {
		t.Errorf("it took %d MiB", took>>20)
	}
}

// TestPDFTime gives the pages of a PDF that there was time for, and says with which one to
// go on.
func TestPDFTime(t *testing.T) {
	file := book(3)
	program, compiled := testenv.PDF(t)
	head, err := json.Marshal(map[string]any{"size": len(file), "cache": compiled, "time": 1})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(file))
	said, err := c.Output()
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if err != nil || len(lines) != 5 || lines[1] != `{"at":1}` || !strings.Contains(lines[2], "Chapter 1") || lines[3] != `{"next":2}` || lines[4] != "{}" {
		t.Errorf("a child without time for more than a page, %v: %.300q", err, lines)
	}
	if runtime.GOOS == "windows" {
		return
	}
	spawner := proc.New(proc.Options{})
	defer spawner.Close()
	script := fmt.Sprintf("cat >/dev/null; printf '%%s\\n' '%s'", strings.Join([]string{`{"info":{"pages":3}}`, `{"page":{"number":1,"blocks":[{"text":"the first"}]}}`, `{"next":2}`, `{}`}, "' '"))
	doc, err := document.New(document.Options{Spawner: spawner, Command: []string{"/bin/sh", "-c", script}}).Convert(t.Context(), source("a.pdf", file), document.Request{})
	if err != nil || !strings.Contains(doc.Markdown, "the first") || !slices.ContainsFunc(doc.Notes, func(n string) bool { return strings.Contains(n, "as 2-") }) {
		t.Errorf("%q, notes %q, %v", doc.Markdown, doc.Notes, err)
	}
}

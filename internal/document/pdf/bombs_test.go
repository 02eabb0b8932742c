package pdf_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/pdf"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// drawn returns a PDF of pages that are drawn so. On each, /X is a form that draws itself
// twice, and /F a font.
func drawn(t *testing.T, pages ...string) []byte {
	t.Helper()
	packed := func(s string) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		if _, err := z.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", b.Len(), b.String())
	}
	resources := "/Resources << /Font << /F 3 0 R >> /XObject << /X 4 0 R >> >>"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] " + resources + " /Length 11 >>\nstream\n/X Do /X Do\nendstream",
	}
	var kids strings.Builder
	for _, p := range pages {
		objects = append(objects, "<< "+packed(p))
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R %s >>", len(objects), resources))
		fmt.Fprintf(&kids, "%d 0 R ", len(objects))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), kids.String())
	b := bytes.NewBufferString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer << /Root 1 0 R >>\n%%EOF\n")
	return b.Bytes()
}

// TestPDFBombs leaves out of a PDF the pages that are made to do harm, and says so.
func TestPDFBombs(t *testing.T) {
	says := func(text string) string { return "BT /F 12 Tf 72 700 Td (" + text + ") Tj ET" }
	many := "BT /F 8 Tf 10 10 Td " + strings.Repeat("("+strings.Repeat("word ", 200)+") Tj ", 250) + "ET"
	file := drawn(t, says("The first page"), "/X Do", says("The third page"), strings.Repeat("q ", 3_000_000), says("The fifth page"), many, says("The last page"))
	if len(file) > 30_000 {
		t.Fatalf("the file has %d bytes", len(file))
	}
	spawner := proc.New(proc.Options{})
	defer spawner.Close()
	program, compiled := testenv.PDF(t)
	c := pdf.Converter{Spawner: spawner, Command: []string{program}, Env: os.Environ(), Cache: compiled}
	convert := func(file []byte) (text string, r *draft.Report, err error) {
		var b bytes.Buffer
		out := draft.NewOut(t.Context(), &b, draft.Options{MaxChars: 300_000}, nil)
		err = c.Convert(t.Context(), draft.Source{Data: bytes.NewReader(file), Size: int64(len(file))}, out)
		out.Done()
		return b.String(), out.Report, err
	}
	text, r, err := convert(file)
	if err != nil || r.Pages != 7 || r.Chars > 250_000 {
		t.Errorf("%d pages, %d characters and the error %v", r.Pages, r.Chars, err)
	}
	for _, want := range []string{"The first page", "The third page", "The fifth page", "word word", "The last page"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in %.300q", want, text)
		}
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"page 2 is left out: it broke the program", "page 4 is left out: it broke the program", "page 6 holds more than 200000 letters"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are %q; want %q", notes, want)
		}
	}
	_, _, err = convert(drawn(t, "/X Do"))
	if e, ok := errors.AsType[*draft.Error](err); !ok || e.Reason != draft.Damaged || !strings.Contains(e.Text, "needs more than 256 MiB") {
		t.Errorf("the only page: %v", err)
	}
}

package document_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// TestOCR reads the letters on images, and on pages that are nothing but images.
func TestOCR(t *testing.T) {
	testenv.Program(t, "tesseract")
	for _, name := range []string{"scan.pdf", "sign.png"} {
		doc := convert(t, read(t, "testdata/"+name), document.Request{OCRLanguages: "eng"})
		holds(t, doc, "Harbour closed", "until the storm has passed on Monday")
		if !strings.Contains(strings.Join(doc.Notes, "\n"), "letters may be wrong") {
			t.Errorf("%s: it is not said that this was OCR: %q", name, doc.Notes)
		}
	}
	for _, languages := range []string{"-c", "eng+../x", "eng --psm 0", "xxx"} {
		doc := convert(t, read(t, "testdata/sign.png"), document.Request{OCRLanguages: languages})
		holdsNot(t, doc, "Harbour closed")
		if len(doc.Notes) == 0 || !strings.Contains(doc.Notes[0], "not read") {
			t.Errorf("languages %q: the notes are %q", languages, doc.Notes)
		}
	}
}

// TestWithoutOCR says what is missing where there is no OCR program, or it is not
// wanted.
func TestWithoutOCR(t *testing.T) {
	doc := convert(t, read(t, "testdata/scan.pdf"), document.Request{NoOCR: true})
	if len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "there is no text on 1 page") {
		t.Errorf("a scan without OCR has the notes %q", doc.Notes)
	}
	plain, err := plainConverter.Convert(t.Context(), read(t, "testdata/sign.png"), document.Request{})
	if err != nil || len(plain.Notes) != 1 || !strings.Contains(plain.Notes[0], "install tesseract") {
		t.Errorf("an image without tesseract: %v, %q", err, plain.Notes)
	}
}

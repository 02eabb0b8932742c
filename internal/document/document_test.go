package document_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

const childVariable = "TENON_TEST_READ_PDF"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" { // the child that reads PDF
		document.Serve(context.Background(), os.Stdin, os.Stdout)
		os.Exit(0)
	}
	code := m.Run()
	if spawner != nil {
		spawner.Close()
	}
	os.Exit(code)
}

var (
	plainConverter = document.New(document.Options{Tesseract: "-"})

	spawner *proc.Spawner
	once    sync.Once
)

// converter returns a Converter as the product has it, with a child for PDF.
func converter(t testing.TB) *document.Converter {
	t.Helper()
	once.Do(func() { spawner = proc.New(proc.Options{}) })
	program, compiled := testenv.PDF(t)
	return document.New(document.Options{Spawner: spawner, Command: []string{program}, Env: os.Environ(), Cache: compiled})
}

// raced is converter where the child is this program, with the race detector where the
// tests have it.
func raced(t testing.TB) *document.Converter {
	t.Helper()
	once.Do(func() { spawner = proc.New(proc.Options{}) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, compiled := testenv.PDF(t)
	return document.New(document.Options{Spawner: spawner, Command: []string{self}, Env: append(os.Environ(), childVariable+"=1"), Cache: compiled})
}

func source(name string, body []byte) document.Source {
	return document.Source{Name: name, Data: bytes.NewReader(body), Size: int64(len(body))}
}

// convert converts what must be converted.
func convert(t testing.TB, src document.Source, req document.Request) document.Doc {
	t.Helper()
	doc, err := converter(t).Convert(t.Context(), src, req)
	if err != nil {
		t.Fatalf("convert %s: %v", src.Name, err)
	}
	return doc
}

// refused returns the error of what must not be converted.
func refused(t testing.TB, src document.Source, reason document.Reason) *document.Error {
	t.Helper()
	doc, err := converter(t).Convert(t.Context(), src, document.Request{})
	e, ok := errors.AsType[*document.Error](err)
	if !ok || e.Reason != reason {
		t.Fatalf("convert %s: got %q with the error %v; want the reason %s", src.Name, doc.Markdown, err, reason)
	}
	return e
}

func read(t testing.TB, path string) document.Source {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return source(filepath.Base(path), body)
}

func holds(t testing.TB, doc document.Doc, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(doc.Markdown, w) {
			t.Errorf("the Markdown does not hold %q; it is\n%.3000s", w, doc.Markdown)
		}
	}
}

func holdsNot(t testing.TB, doc document.Doc, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if strings.Contains(doc.Markdown, w) {
			t.Errorf("the Markdown holds %q; it is\n%.3000s", w, doc.Markdown)
		}
	}
}

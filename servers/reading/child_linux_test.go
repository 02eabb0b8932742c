package reading_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/reading"
)

// children returns how many processes this one has started that still run.
func children(t testing.TB) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range found {
		stat, err := os.ReadFile(path)
		_, rest, ok := bytes.Cut(stat, []byte(") "))
		if fields := bytes.Fields(rest); err == nil && ok && len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// largePDF returns a PDF of so many pages.
func largePDF(pages int) []byte {
	var objects []string
	add := func(s string) int { objects = append(objects, s); return len(objects) }
	add("<< /Type /Catalog /Pages 2 0 R >>")
	add("")
	add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	var kids strings.Builder
	for p := range pages {
		var s strings.Builder
		for l := range 40 {
			fmt.Fprintf(&s, "BT /F1 10 Tf 72 %d Td (Line %d of page %d says what the others say too.) Tj ET\n", 740-l*15, l+1, p+1)
		}
		content := add(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", s.Len(), s.String()))
		fmt.Fprintf(&kids, "%d 0 R ", add(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", content)))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", pages, kids.String())
	out := bytes.NewBufferString("%PDF-1.4\n")
	var table strings.Builder
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := out.Len()
	fmt.Fprintf(out, "xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, at)
	return out.Bytes()
}

// TestChild reads a PDF in a process of its own, which is gone after the call, and
// when the call is cancelled.
func TestChild(t *testing.T) {
	w := newWeb(t)
	w.serve("/some.pdf", "application/pdf", largePDF(40))
	w.serve("/large.pdf", "application/pdf", largePDF(300))
	k := w.knobs
	k.Command = []string{os.Args[0], document.Command}
	cs := connect(t, reading.Options{Tesseract: "-"}, k)
	if got := good(t, cs, args{"uri": "http://site.example/some.pdf", "outline": true}); got.data.Pages != 40 {
		t.Errorf("got %+v", got.data)
	}
	soon(t, "a child is left", func() bool { return children(t) == 0 })

	ctx, cancel := context.WithCancel(t.Context())
	var cancelling sync.WaitGroup
	cancelling.Go(func() {
		defer cancel()
		soon(t, "there is no child", func() bool { return children(t) > 1 }) // and one that watches over it
	})
	if res, err := cs.CallTool(ctx, params(args{"uri": "http://site.example/large.pdf"})); err == nil {
		t.Errorf("got %+v", res)
	}
	cancelling.Wait()
	soon(t, "a child is left", func() bool { return children(t) == 0 })
	w.clean(t)
}

// TestLargePDF bounds the time for 300 pages, once the code is compiled.
func TestLargePDF(t *testing.T) {
	testenv.Long(t)
	w := newWeb(t)
	w.serve("/large.pdf", "application/pdf", largePDF(300))
	w.knobs.Command = []string{os.Args[0], document.Command}
	cs := connect(t, reading.Options{Tesseract: "-"}, w.knobs)
	good(t, cs, args{"uri": "http://site.example/large.pdf", "pages": "1"})
	start := time.Now()
	good(t, cs, args{"uri": "http://site.example/large.pdf", "outline": true})
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("300 pages took %s", took)
	}
}

package document_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// watched runs f and returns how much the heap has grown at most while it ran.
func watched(f func()) uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before, most := sample[0].Value.Uint64(), uint64(0)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				metrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			}
		}
	})
	f()
	close(done)
	watching.Wait()
	return max(most, before) - before
}

const laughs = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;"><!ENTITY lol2 "&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;">]><a>&lol2;</a>`

const external = `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`

// TestHostile refuses what is made to do harm, and says why, in little time and memory.
func TestHostile(t *testing.T) {
	zeros := strings.Repeat("\x00", 40<<20)
	bomb := zipped(t, "zeros.txt", zeros)
	if len(bomb) > 1<<20 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	word := func(text string) []byte {
		return zipped(t, "[Content_Types].xml", "<Types/>", "word/document.xml", text)
	}
	nested := []byte("# at the bottom\n")
	for i := range 100 {
		nested = zipped(t, fmt.Sprintf("level%d.zip", i), string(nested))
	}
	many := make([]string, 0, 50_000)
	for i := range 25_000 {
		many = append(many, fmt.Sprintf("f%d.txt", i), "")
	}
	book := func(entities string) []byte {
		return zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfile full-path="b.opf"/></container>`, "b.opf", entities)
	}
	anew := "<html><body><p>" // each paragraph opens all of these anew
	for i := range 480 {
		anew += fmt.Sprintf("<b id=%d>", i)
	}
	anew += strings.Repeat("<p>x", 21_000)
	var attributes strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&attributes, " a%d", i)
	}
	for _, c := range []struct {
		name   string
		body   []byte
		reason document.Reason
		text   string
	}{
		{"bomb.zip", bomb, document.Large, "decompression bomb"},
		{"bomb.docx", word("<w:document><w:body><w:p><w:r><w:t>" + zeros), document.Large, "decompression bomb"},
		{"bomb.xlsx", zipped(t, "xl/workbook.xml", `<workbook><sheets><sheet name="a" r:id="r"/></sheets></workbook>`, "xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Type="x/sharedStrings" Target="s.xml"/></Relationships>`, "xl/s.xml", "<sst><si><t>"+zeros), document.Large, "decompression bomb"},
		{"bomb.gz", gzipped(t, []byte(zeros)), document.Large, "decompression bomb"},
		{"bomb.tar.gz", gzipped(t, tarred(t, "zeros", zeros)), document.Large, "decompression bomb"},
		{"many.zip", zipped(t, many...), document.Large, "25000 files"},
		{"laughs.xml", []byte(laughs), document.Damaged, "declares entities"},
		{"external.xml", []byte(external), document.Damaged, "declares entities"},
		{"laughs.docx", word(laughs), document.Damaged, "declares entities"},
		{"external.docx", word(external), document.Damaged, "declares entities"},
		{"laughs.odt", zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", laughs), document.Damaged, "declares entities"},
		{"external.epub", book(external), document.Damaged, "declares entities"},
		{"deep.xml", []byte(`<?xml version="1.0"?>` + strings.Repeat("<a>", 100_000)), document.Damaged, "levels deep"},
		{"deep.docx", word(strings.Repeat("<w:tbl><w:tr><w:tc>", 100_000)), document.Damaged, "levels deep"},
		{"deep.rtf", []byte(`{\rtf1 ` + strings.Repeat("{", 100_000)), document.Large, "levels deep"},
		{"anew.html", []byte(anew), document.Large, "built to be too large"},
		{"attributes.html", []byte("<html><p" + attributes.String() + ">"), document.Large, "built to be too large"},
		{"anew.eml", []byte("Subject: x\nMIME-Version: 1.0\nContent-Type: text/html\n\n" + anew), document.Large, "built to be too large"},
		{"anew.epub", zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", `<c><rootfile full-path="b.opf"/></c>`,
			"b.opf", `<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>`, "c.xhtml", anew), "", "built to be too large"},
		{"open.csv", []byte("a,b\n1,\"" + strings.Repeat("x\n", 3<<20)), document.Large, "a quote that is not closed"},
		{"locked.zip", read(t, "testdata/locked.zip").Head(10_000), "", "encrypted"},
		{"locked.pdf", read(t, "testdata/encrypted.pdf").Head(100_000), document.Encrypted, "encrypted"},
		{"locked.docx", compound(stream{"EncryptionInfo", []byte("x")}, stream{"EncryptedPackage", make([]byte, 5000)}), document.Encrypted, "encrypted"},
		{"locked.xls", compound(stream{"Workbook", append([]byte("\x09\x08\x10\x00\x00\x06\x05\x00\xbb\x0d\xcc\x07\x00\x00\x00\x00\x06\x00\x00\x00\x2f\x00\x02\x00\x00\x00"), make([]byte, 5000)...)}), document.Encrypted, "encrypted"},
		{"locked.odt", zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml", `<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>`, "content.xml", "x"), document.Encrypted, "encrypted"},
		{"locked.epub", zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", `<c><rootfile full-path="b.opf"/></c>`, "META-INF/encryption.xml", `<e><CipherReference URI="c.xhtml"/></e>`,
			"b.opf", `<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>`, "c.xhtml", "x"), document.Encrypted, "encrypted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			var doc document.Doc
			began := time.Now()
			grown := watched(func() { doc, err = converter(t).Convert(t.Context(), source(c.name, c.body), document.Request{}) })
			took := time.Since(began)
			text := ""
			if e := asError(err); e != nil {
				text = e.Text
				if e.Reason != c.reason {
					t.Errorf("the reason is %s; want %s", e.Reason, c.reason)
				}
			} else if err != nil || c.reason != "" {
				t.Errorf("got %.100q and the error %v", doc.Markdown, err)
			}
			if !strings.Contains(text+strings.Join(doc.Notes, "\n"), c.text) {
				t.Errorf("it says %q and %q; want %q", text, doc.Notes, c.text)
			}
			if took > 20*time.Second || grown > 400<<20 {
				t.Errorf("it took %s and %d MiB", took, grown>>20)
			}
		})
	}
	doc := convert(t, source("nested.zip", nested), document.Request{})
	if joined := strings.Join(doc.Notes, "\n"); !strings.Contains(joined, "no deeper ones are read") && !strings.Contains(doc.Markdown, "no deeper ones are read") {
		t.Errorf("100 archives in each other: %q and\n%s", joined, doc.Markdown)
	}
	holdsNot(t, doc, "at the bottom")
	hundred := strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)
	holds(t, convert(t, source("deep.json", []byte(hundred)), document.Request{}), hundred)
	list := strings.Repeat("<ul><li>x", 100_000)
	refused(t, source("deep.html", []byte("<html>"+list)), document.Large)
	spans := "<html><table>" + strings.Repeat("<tr><td colspan=1000 rowspan=60000>x</td><td colspan=1000>y</td></tr>", 2000)
	convert(t, source("spans.html", []byte(spans)), document.Request{})
}

// TestCut reads what is cut in half, or has a wrong byte here and there: an error or
// a document, and never a panic.
func TestCut(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	c := converter(t)
	for _, f := range files {
		whole, err := os.ReadFile(f)
		if err != nil || strings.HasSuffix(f, ".md") {
			continue
		}
		name := filepath.Base(f)
		_, err = c.Convert(t.Context(), source(name, whole[:len(whole)/2]), document.Request{NoOCR: true})
		e := asError(err)
		switch ext := filepath.Ext(name); {
		case err != nil && e == nil:
			t.Errorf("half of %s: %v is no Error", name, err)
		case e != nil && strings.Contains(e.Text, "reader does not expect"):
			t.Errorf("half of %s: %v", name, err)
		case ext == ".pdf" || ext == ".eml" || ext == ".sqlite" || ext == ".png": // what is there is read
		case e == nil || e.Reason != document.Damaged:
			t.Errorf("half of %s: got %v; want an error that it is damaged", name, err)
		}
		if strings.HasSuffix(f, ".pdf") {
			continue // each costs a process
		}
		for i := range 30 {
			broken := bytes.Clone(whole)
			for at := i * 7; at < len(broken); at += 211 + i*13 {
				broken[at] ^= byte(i*5 + 1)
			}
			_, err := c.Convert(t.Context(), source(name, broken), document.Request{NoOCR: true})
			if err != nil && (asError(err) == nil || strings.Contains(err.Error(), "reader does not expect")) {
				t.Errorf("%s with wrong bytes (%d): %v", name, i, err)
			}
		}
	}
}

// TestChild tells when the process that reads PDF dies, and ends it with its caller.
func TestChild(t *testing.T) {
	spawner := proc.New(proc.Options{})
	defer spawner.Close()
	src := read(t, "testdata/minutes.pdf")
	for _, command := range [][]string{{"/bin/sh", "-c", "exit 3"}, {"/bin/sh", "-c", "kill -9 $$"}, {"/bin/sh", "-c", "cat >/dev/null; echo nonsense"}} {
		if runtime.GOOS == "windows" {
			t.Skip("needs a shell")
		}
		_, err := document.New(document.Options{Spawner: spawner, Command: command}).Convert(t.Context(), src, document.Request{})
		if e := asError(err); e == nil || e.Reason != document.Damaged {
			t.Errorf("%s: got %v", command[2], err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var waiting sync.WaitGroup
	gone := errors.New("the caller is gone")
	waiting.Go(func() {
		time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
	})
	defer waiting.Wait()
	began := time.Now()
	_, err := document.New(document.Options{Spawner: spawner, Command: []string{"/bin/sh", "-c", "sleep 600"}}).Convert(ctx, src, document.Request{})
	if !errors.Is(err, gone) || time.Since(began) > time.Minute {
		t.Errorf("a conversion whose caller is gone: %v after %s", err, time.Since(began))
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(gone)
	for _, name := range []string{"log.xlsx", "report.docx", "log.xls", "stock.sqlite"} {
		if _, err := converter(t).Convert(ctx, read(t, "testdata/"+name), document.Request{}); !errors.Is(err, gone) {
			t.Errorf("%s for a caller that is gone: %v", name, err)
		}
	}
	if _, err := document.New(document.Options{Spawner: spawner, Command: []string{"no-such-program"}}).Convert(t.Context(), src, document.Request{}); err == nil {
		t.Error("a program that is missing is no error")
	}
	if document.Self("/usr/bin/tenon") != nil {
		t.Error("a test takes itself for the program")
	}
}

package pdf_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/pdf"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

const script = "TENON_TEST_PDF_CHILD"

// TestMain is also a child that does what the script in its environment says.
func TestMain(m *testing.M) {
	if s := os.Getenv(script); s != "" {
		os.Exit(play(s))
	}
	m.Run()
}

// play says what the script has for the page that is asked for first, and ends with a
// number behind "exit", or never.
func play(s string) int {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var req struct{ From, Images int }
	says := map[int]string{}
	if err = errors.Join(err, json.Unmarshal(line, &req), json.Unmarshal([]byte(s), &says)); err != nil {
		return 99
	}
	said, code, end := strings.Cut(says[req.From], "exit ")
	var b strings.Builder
	for word := range strings.FieldsSeq(said) {
		n, _ := strconv.Atoi(strings.Trim(word, "atpginoef"))
		switch {
		case strings.HasPrefix(word, "info"):
			fmt.Fprintf(&b, "{\"info\":{\"pages\":%d}}\n", n)
		case strings.HasPrefix(word, "at"):
			fmt.Fprintf(&b, "{\"at\":%d}\n", n)
		case strings.HasPrefix(word, "page"):
			fmt.Fprintf(&b, "{\"page\":{\"number\":%d,\"blocks\":[{\"text\":\"text of %d, images %d\"}]}}\n", n, n, req.Images)
		case strings.HasPrefix(word, "png"):
			fmt.Fprintf(&b, "{\"page\":{\"number\":%d,\"png\":\"AAAA\",\"bare\":true}}\n", n)
		default:
			b.WriteString(word + "\n")
		}
	}
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		return 98
	}
	if !end {
		killed := make(chan os.Signal, 1)
		signal.Notify(killed)
		<-killed
	}
	n, _ := strconv.Atoi(code)
	return n
}

// scripted returns what converts with children that do what a script says.
func scripted(t *testing.T, says map[int]string) pdf.Converter {
	t.Helper()
	s, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spawner := proc.New(proc.Options{})
	t.Cleanup(func() { _ = spawner.Close() })
	return pdf.Converter{Spawner: spawner, Command: []string{self}, Env: append(os.Environ(), script+"="+string(s), "GORACE=atexit_sleep_ms=0"), Cache: t.TempDir()}
}

// TestBroken leaves out the page that breaks a child, or on which it stops, and has the
// pages behind it read by another one.
func TestBroken(t *testing.T) {
	text := func(pages ...int) (s string) {
		for _, n := range pages {
			s += fmt.Sprintf("text of %d,", n)
		}
		return s
	}
	for name, c := range map[string]struct {
		says  map[int]string
		pages string
		text  string
		notes []string
		err   string
	}{
		"stops":         {says: map[int]string{0: "info3 at1 page1 at2", 3: "info3 at3 page3 {} exit 0"}, text: text(1, 3), notes: []string{"page 2 is left out: it broke the program that reads it (it took longer than 20ms)"}},
		"stops first":   {says: map[int]string{0: "info2 at1", 2: "info2 at2 page2 {} exit 0"}, text: text(2), notes: []string{"page 1 is left out"}},
		"dies":          {says: map[int]string{0: "info3 at1 page1 at2 exit 7", 3: "info3 at3 page3 {} exit 0"}, text: text(1, 3), notes: []string{"page 2 is left out: it broke the program that reads it (exit status 7)"}},
		"says so":       {says: map[int]string{0: `info3 at1 page1 at2 {"broken":"no_more"} exit 0`, 3: "info3 at3 page3 {} exit 0"}, text: text(1, 3), notes: []string{"page 2 is left out: it broke the program that reads it (no_more)"}},
		"the last":      {says: map[int]string{0: "info2 at1 page1 at2 exit 7"}, text: text(1), notes: []string{"page 2 is left out"}},
		"not asked for": {says: map[int]string{0: "info9 at2 page2 at4 exit 7"}, pages: "2,4", text: text(2), notes: []string{"page 4 is left out"}},
		"some": {
			says: map[int]string{0: "info9 at1 page1 at2 exit 7", 3: "info9 at3 exit 7", 4: "info9 at4 exit 7"}, text: text(1),
			notes: []string{"page 2 is left out", "page 3 is left out", "page 4 is left out", "the pages from 5 on are left out, since more of them may; ask for them with the option pages, as 5-"},
		},
		"all":            {says: map[int]string{0: "info9 at1 exit 7", 2: "info9 at2 exit 7", 3: "info9 at3 exit 7"}, notes: []string{"page 1", "page 2"}, err: "the PDF broke the program"},
		"the only":       {says: map[int]string{0: "info1 at1 exit 7"}, err: "the PDF broke the program that reads it (exit status 7)"},
		"opens no more":  {says: map[int]string{0: "info3 at1 page1 at2 exit 7", 3: "exit 8"}, text: text(1), notes: []string{"page 2 is left out", "opened again for page 3, the PDF broke the program that reads it (exit status 8)", "the pages from 3 on"}},
		"behind a page":  {says: map[int]string{0: "info3 at1 page1 exit 7", 2: "info3 at2 page2 at3 page3 {} exit 0"}, text: text(1, 2, 3), notes: []string{"what stands behind page 1 broke the program"}},
		"behind the end": {says: map[int]string{0: "info1 at1 page1 {} exit 7"}, text: text(1)},
		"is refused":     {says: map[int]string{0: `{"error":"locked","why":"encrypted"} exit 0`}, err: "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			conv := scripted(t, c.says)
			conv.PageTime = time.Hour
			if strings.HasPrefix(name, "stops") {
				conv.PageTime = 20 * time.Millisecond // what the next child says comes at once
			}
			got, notes, err := run(t.Context(), conv, c.pages)
			if fmt.Sprint(err) != "<nil>" && c.err == "" || c.err != "" && !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("got the error %v; want %q", err, c.err)
			}
			if got != c.text {
				t.Errorf("got %q; want %q", got, c.text)
			}
			if len(notes) != len(c.notes) {
				t.Fatalf("the notes are %q; want %q", notes, c.notes)
			}
			for i, n := range c.notes {
				if !strings.Contains(notes[i], n) {
					t.Errorf("note %d is %q; want %q", i, notes[i], n)
				}
			}
		})
	}
}

// run converts, and returns of the text what says which page it is of.
func run(ctx context.Context, c pdf.Converter, pages string) (text string, notes []string, err error) {
	var b bytes.Buffer
	out := draft.NewOut(ctx, &b, draft.Options{Pages: pages}, nil)
	err = c.Convert(ctx, draft.Source{Data: bytes.NewReader([]byte("%PDF-")), Size: 5}, out)
	out.Done()
	for line := range strings.Lines(b.String()) {
		if before, _, ok := strings.Cut(line, ", images"); ok {
			text += before + ","
		}
	}
	return text, out.Report.Notes, err
}

// TestImagesInAll bounds the images of a file, however many children make them.
func TestImagesInAll(t *testing.T) {
	c := scripted(t, map[int]string{0: "info4 at1 png1 at2 png2 at3 exit 7", 4: "info4 at4 page4 {} exit 0"})
	c.OCR = func(context.Context, []byte, string) (string, error) { return "seen", nil }
	var b bytes.Buffer
	out := draft.NewOut(t.Context(), &b, draft.Options{}, nil)
	err := c.Convert(t.Context(), draft.Source{Data: bytes.NewReader([]byte("%PDF-")), Size: 5}, out)
	out.Done()
	if err != nil || strings.Count(b.String(), "seen") != 2 || !strings.Contains(b.String(), "text of 4, images 28") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// A watched context tells when somebody waits for its end.
type watched struct {
	context.Context
	once  *sync.Once
	waits chan struct{}
}

func (w watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

// A told writer tells of the first that is written.
type told struct {
	once  sync.Once
	wrote chan<- struct{}
}

func (w *told) Write(b []byte) (int, error) {
	w.once.Do(func() { w.wrote <- struct{}{} })
	return len(b), nil
}

// TestReaders lets two files be read at once: who waits for a place can be cancelled, and
// cancelled readers give theirs back.
func TestReaders(t *testing.T) {
	c := scripted(t, map[int]string{0: "info2 at1 page1 at2"})
	c.PageTime = time.Hour
	gone := errors.New("the caller is gone")
	reading, cancel := context.WithCancelCause(t.Context())
	defer cancel(gone)
	wrote := make(chan struct{}, 2)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			out := draft.NewOut(reading, &told{wrote: wrote}, draft.Options{}, nil)
			if err := c.Convert(reading, draft.Source{Data: bytes.NewReader([]byte("%PDF-")), Size: 5}, out); !errors.Is(err, gone) {
				t.Errorf("a reader that was cancelled: %v", err)
			}
		})
	}
	defer readers.Wait()
	defer cancel(gone)
	for range 2 {
		<-wrote
	}

	third := c
	third.Command = []string{"no-such-program"} // is not looked for before there is a place
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	w := watched{ctx, new(sync.Once), make(chan struct{})}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, _, err := run(w, third, ""); !errors.Is(err, gone) {
			t.Errorf("a third that was cancelled: %v", err)
		}
	})
	<-w.waits
	stop(gone)
	waiting.Wait()

	cancel(gone)
	readers.Wait()
	for range 3 { // one after another, more than there are places
		c := scripted(t, map[int]string{0: "info1 at1 page1 {} exit 0"})
		if text, _, err := run(t.Context(), c, ""); err != nil || text != "text of 1," {
			t.Errorf("after them: %q, %v", text, err)
		}
	}
}

// TestDrawings shows no page to an OCR engine that holds more drawings than pages have.
func TestDrawings(t *testing.T) {
	spawner := proc.New(proc.Options{})
	defer spawner.Close()
	program, compiled := testenv.PDF(t)
	shown := 0
	c := pdf.Converter{Spawner: spawner, Command: []string{program}, Env: os.Environ(), Cache: compiled}
	c.OCR = func(context.Context, []byte, string) (string, error) { shown++; return "seen", nil }
	for lines, want := range map[int]int{100: 1, 31_000: 0} {
		content := strings.Repeat("0 0 m 9 9 l S ", lines)
		file := "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n" +
			"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R >>\nendobj\n" +
			fmt.Sprintf("4 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\ntrailer << /Root 1 0 R >>\n", len(content), content)
		shown = 0
		out := draft.NewOut(t.Context(), new(bytes.Buffer), draft.Options{}, nil)
		err := c.Convert(t.Context(), draft.Source{Data: strings.NewReader(file), Size: int64(len(file))}, out)
		if notes := strings.Join(out.Report.Notes, "\n"); err != nil || shown != want || want == 0 && !strings.Contains(notes, "none with more than 30000 drawings") {
			t.Errorf("%d lines: shown %d times; want %d; %v %q", lines, shown, want, err, notes)
		}
	}
}

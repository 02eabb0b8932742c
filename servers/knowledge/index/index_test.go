package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
)

func open(tb testing.TB, path string) *index.Index {
	tb.Helper()
	x, err := index.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

func document(path string, texts ...string) index.Document {
	d := index.Document{Path: path, Title: path, Kind: "markdown", Hash: path, Modified: time.Unix(1e9, 5)}
	for _, t := range texts {
		d.Sections = append(d.Sections, index.Section{Text: t})
	}
	return d
}

func put(tb testing.TB, x *index.Index, documents ...index.Document) {
	tb.Helper()
	if err := x.Put(tb.Context(), documents); err != nil {
		tb.Fatal(err)
	}
}

// find returns the paths of the documents that are found, in their order.
func find(tb testing.TB, x *index.Index, words string) []string {
	tb.Helper()
	hits, err := x.Search(tb.Context(), index.Query{Words: words, Limit: 10})
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, h := range hits {
		s, err := x.Section(tb.Context(), h.Section)
		if err != nil {
			tb.Fatal(err)
		}
		found = append(found, s.Document.Path)
	}
	return found
}

func TestSearch(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "deep", "x.db"))
	put(t, x,
		document("a", "The disk is full: delete old logs.", "Nothing else."),
		document("b", "磁盘空间不足时清理日志", "The network is down."),
		document("c", "disk disk disk disk"),
		document("d", strings.Repeat("other words of a long text ", 10)+"disk full"))
	for words, want := range map[string]string{
		"disk full":      "a d c", // both words before one of them
		"disks filled":   "c a d",
		"磁盘空间":           "b",
		"network":        "b",
		"the of and":     "",
		"nowhere at all": "",
		"":               "",
	} {
		if got := strings.Join(find(t, x, words), " "); got != want {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
	only, err := x.Search(t.Context(), index.Query{Words: "disk", Limit: 10, In: func(d int64) bool { return d == 3 }})
	if err != nil || len(only) != 1 {
		t.Errorf("among one document: %v, %v", only, err)
	}
}

// TestChanges puts and removes documents in turn, with joins between, and compares
// what is found with what is there.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	x, other := open(t, path), open(t, path) // as two processes have it
	want := map[string]string{}
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"alpha", "beta", "gamma", "delta"}
	for i := range 150 {
		by := []*index.Index{x, other}[r.IntN(2)]
		name := fmt.Sprintf("d%02d", r.IntN(20))
		if r.IntN(4) == 0 {
			if err := by.Remove(t.Context(), []string{name}); err != nil {
				t.Fatal(err)
			}
			delete(want, name)
		} else {
			word := words[r.IntN(len(words))]
			put(t, by, document(name, word+" one", word+" two"))
			want[name] = word
		}
		if i%10 > 0 {
			continue
		}
		for _, word := range words {
			for _, x := range []*index.Index{x, other} {
				hits, err := x.Search(t.Context(), index.Query{Words: word, Limit: 1000})
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, w := range want {
					if w == word {
						n += 2
					}
				}
				if len(hits) != n {
					t.Fatalf("after %d changes %s is found %d times, want %d", i, word, len(hits), n)
				}
			}
		}
	}
	entries, err := x.Entries(t.Context())
	if err != nil || len(entries) != len(want) {
		t.Errorf("%d documents, want %d, %v", len(entries), len(want), err)
	}
}

func TestDocument(t *testing.T) {
	x := open(t, "")
	d := document("dir/ü.md", "one\n", "two\n")
	d.Sections[1].Heading = "A › B"
	d.Size, d.Problem = 7, "none"
	put(t, x, d)
	got, err := x.Document(t.Context(), "dir/ü.md")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Sections, d.Sections) || got.Count != 2 || got.Chars != 8 || !got.Modified.Equal(d.Modified) || got.Size != 7 || got.Problem != "none" {
		t.Errorf("got %+v", got)
	}
	if err := x.Touch(t.Context(), "dir/ü.md", 8, time.Unix(5, 0)); err != nil {
		t.Error(err)
	}
	if got, err := x.Document(t.Context(), "dir/ü.md"); err != nil || got.Size != 8 || got.Modified.Unix() != 5 {
		t.Errorf("touched: %+v, %v", got, err)
	}
	if _, err := x.Document(t.Context(), "nowhere"); !errors.Is(err, index.ErrNone) {
		t.Errorf("a document that is not there: %v", err)
	}
	if _, err := x.Section(t.Context(), 99); !errors.Is(err, index.ErrNone) {
		t.Errorf("a section that is not there: %v", err)
	}
}

// TestAttempt: a reading that has not ended is known by the next process.
func TestAttempt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	for i, want := range []bool{false, true} {
		if before, err := open(t, path).Attempt(t.Context(), "a.pdf", "v1"); err != nil || before != want {
			t.Errorf("attempt %d: %v, %v", i, before, err)
		}
	}
	x := open(t, path)
	if before, err := x.Attempt(t.Context(), "a.pdf", "v2"); err != nil || before {
		t.Errorf("another version: %v, %v", before, err)
	}
	if err := x.Ended(t.Context(), "a.pdf"); err != nil {
		t.Error(err)
	}
	if before, err := x.Attempt(t.Context(), "a.pdf", "v2"); err != nil || before {
		t.Errorf("after its end: %v, %v", before, err)
	}
}

// TestOpen: what is kept is there again; a file that cannot be read is made anew.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	x, err := index.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, document("a", "alpha"))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got := find(t, open(t, path), "alpha"); len(got) != 1 {
		t.Errorf("opened again: %q", got)
	}
	damaged := filepath.Join(t.TempDir(), "y.db")
	if err := os.WriteFile(damaged, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	y := open(t, damaged)
	put(t, y, document("a", "alpha"))
	if got := find(t, y, "alpha"); len(got) != 1 {
		t.Errorf("after damage: %q", got)
	}
	if info, err := os.Stat(damaged); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := y.Put(ctx, []index.Document{document("b", "beta")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled put: %v", err)
	}
}

func TestNearest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	x := open(t, path)
	if err := x.UseModel(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	put(t, x, document("a", "alpha", "none"), document("b", "beta"))
	pending, err := x.Pending(t.Context(), 10)
	if err != nil || len(pending) != 3 || pending[0].Text != "beta" {
		t.Fatalf("pending %+v, %v", pending, err)
	}
	if err := x.PutVectors(t.Context(), map[int64][][]int8{
		3: {index.Quantize([]float32{0, 5, 0})},
		1: {index.Quantize([]float32{0, 0, -1}), index.Quantize([]float32{9, 1, 0})},
		2: nil, 99: {index.Quantize([]float32{1, 0, 0})},
	}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*index.Index{x, open(t, path)} {
		hits, err := x.Nearest(t.Context(), index.Quantize([]float32{1, 0.5, 0}), 5, nil)
		if err != nil || len(hits) != 2 || hits[0].Section != 1 || hits[1].Section != 3 || hits[0].Score < 0.9 {
			t.Errorf("nearest %+v, %v", hits, err)
		}
		if pending, err := x.Pending(t.Context(), 10); err != nil || len(pending) != 0 {
			t.Errorf("still pending %+v, %v", pending, err)
		}
	}
	if err := x.Remove(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if hits, err := x.Nearest(t.Context(), index.Quantize([]float32{1, 0.5, 0}), 5, nil); err != nil || len(hits) != 1 {
		t.Errorf("after a removal %+v, %v", hits, err)
	}
	if err := x.UseModel(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if pending, err := x.Pending(t.Context(), 10); err != nil || len(pending) != 1 {
		t.Errorf("pending with another model %+v, %v", pending, err)
	}
	if index.Quantize([]float32{0, 0}) != nil {
		t.Error("nothing has a direction")
	}
}

// TestManyDocuments holds the index to its figures on ten thousand documents.
func TestManyDocuments(t *testing.T) {
	n := 200
	if os.Getenv("TENON_TEST_LONG") == "1" {
		n = 10_000
	}
	path := filepath.Join(t.TempDir(), "x.db")
	x := open(t, path)
	began := time.Now()
	fill(t, x, n)
	t.Logf("%d documents are kept in %s", n, time.Since(began))
	began = time.Now()
	again := open(t, path)
	t.Logf("opened again in %s", time.Since(began))
	var slowest time.Duration
	for i := range 50 {
		began := time.Now()
		hits, err := again.Search(t.Context(), index.Query{Words: fmt.Sprintf("w%d w%d w%d w%d", i%7, i*13%900, i*31%20_000, i), Limit: 20})
		if err != nil || len(hits) == 0 {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("slowest of 50 searches %s", slowest)
	if info, err := os.Stat(path); err == nil {
		t.Logf("%d MiB on disk", info.Size()>>20)
	}
	if os.Getenv("TENON_TEST_LONG") == "1" {
		testenv.Long(t)
		if slowest > 20*time.Millisecond {
			t.Errorf("a search took %s", slowest)
		}
	}
}

// fill puts documents of about five sections of two hundred words, of which some are
// common and most are rare, as in a language.
func fill(tb testing.TB, x *index.Index, n int) {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.1, 4, 50_000)
	var batch []index.Document
	for i := range n {
		d := index.Document{Path: fmt.Sprintf("d%05d.md", i), Title: "t"}
		for range 5 {
			var b strings.Builder
			for range 200 {
				fmt.Fprintf(&b, "w%d ", zipf.Uint64())
			}
			d.Sections = append(d.Sections, index.Section{Heading: "h", Text: b.String()})
		}
		if batch = append(batch, d); len(batch) == 500 || i == n-1 {
			put(tb, x, batch...)
			batch = batch[:0]
		}
	}
}

package results_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/query"
	"github.com/tenon-mcp/tenon/internal/results"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, o results.Options) *results.Store {
	t.Helper()
	if o.Query == nil {
		o.Query = query.Runner{}.Run
	}
	s := results.New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s *results.Store, body string) results.Kept {
	t.Helper()
	k, err := s.Put("ann", results.Item{Body: tool.OneOf([]byte(body))})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func read(t testing.TB, s *results.Store, o results.ReadOptions) *results.Reading {
	t.Helper()
	r, err := s.Read(t.Context(), "ann", o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// files counts the files of bodies below a folder.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasSuffix(path, ".lock") {
			n++
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
		}
		return nil
	})
	return n
}

func TestReadOn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, results.Options{Dir: dir})
	for name, unit := range map[string]string{"small": "äb€😀", "large": strings.Repeat("äb€😀", 50_000)} {
		t.Run(name, func(t *testing.T) {
			k := put(t, s, unit)
			all := []rune(unit)
			if k.Chars != len(all) || k.Handle.Size != len(unit) || k.Handle.Kind != results.KindText {
				t.Fatalf("kept as %+v", k)
			}
			for _, at := range []int{0, 1, len(all) / 2, len(all) - 1, len(all)} {
				r := read(t, s, results.ReadOptions{ID: k.Handle.ID, Offset: at, Limit: 10})
				end := min(at+10, len(all))
				if r.Text != string(all[at:end]) || (r.Next == nil) != (end == len(all)) || r.Next != nil && *r.Next != end {
					t.Errorf("at %d: %q, next %v", at, r.Text, r.Next)
				}
			}
		})
	}
	if n := files(t, dir); n != 1 {
		t.Errorf("%d files, want one: small bodies stay in memory", n)
	}
}

func TestPages(t *testing.T) {
	s := open(t, results.Options{})
	k := put(t, s, "aaabbbc")
	for page, want := range map[int]string{1: "aaa", 2: "bbb", 3: "c"} {
		if r := read(t, s, results.ReadOptions{ID: k.Handle.ID, Page: page, Limit: 3}); r.Text != want || r.Offset != (page-1)*3 {
			t.Errorf("page %d: %q at %d", page, r.Text, r.Offset)
		}
	}
}

// FuzzReadOn writes a text in pieces and reads it back in others.
func FuzzReadOn(f *testing.F) {
	f.Add([]byte("aé€😀"), 1, 2)
	f.Add([]byte("\xe2\x82\xe2\x82\xac\xff\xf0\x9f\x98"), 2, 1)
	f.Add([]byte(strings.Repeat("\xf0\x9f\x98\x80x", 30_000)), 4096, 70_000)
	f.Fuzz(func(t *testing.T, body []byte, piece, limit int) {
		piece, limit = max(1, piece%5000), max(1, min(limit, results.MaxChars))
		s := results.New(results.Options{})
		defer s.Close()
		var pieces tool.Bytes
		for p := body; len(p) > 0; p = p[min(piece, len(p)):] {
			pieces = append(pieces, p[:min(piece, len(p))])
		}
		k, err := s.Put("ann", results.Item{Body: pieces})
		if err != nil {
			t.Fatal(err)
		}
		if want := utf8.RuneCount(body); k.Chars != want {
			t.Fatalf("%d characters, want %d", k.Chars, want)
		}
		if isJSON := k.Handle.Kind == results.KindJSON; isJSON && !json.Valid(body) {
			t.Fatal("taken for JSON")
		} else if trimmed := bytes.TrimLeft(body, " \t\r\n"); !isJSON && json.Valid(body) && (trimmed[0] == '{' || trimmed[0] == '[') {
			t.Fatal("not taken for JSON")
		}
		var got strings.Builder
		for at, n := 0, 0; n < 50; n++ {
			r, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: k.Handle.ID, Offset: at, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(r.Text)
			if r.Next == nil {
				if want := string([]rune(string(body))); got.String() != want {
					t.Fatalf("read %q, want %q", got.String(), want)
				}
				break
			}
			at = *r.Next
		}
		v, err := s.Value(t.Context(), "ann", k.Handle.ID, results.Part{}, 1<<30)
		if err != nil || !json.Valid(v) {
			t.Fatalf("value %q: %v", v, err)
		}
		var text string
		if k.Handle.Kind == results.KindText && (json.Unmarshal(v, &text) != nil || text != string([]rune(string(body)))) {
			t.Fatalf("value %q", v)
		}
	})
}

func TestOnlyItsCallerMayRead(t *testing.T) {
	s := open(t, results.Options{})
	k := put(t, s, "secret")
	for _, c := range []struct{ caller, id string }{{"bob", k.Handle.ID}, {"", k.Handle.ID}, {"ann", k.Handle.ID + "x"}} {
		_, err := s.Read(t.Context(), c.caller, results.ReadOptions{ID: c.id})
		if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "Make the call again") {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := s.Value(t.Context(), c.caller, c.id, results.Part{}, 1000); tool.KindOf(err) != tool.NotFound {
			t.Errorf("%v: value: %v", c, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, results.Options{Dir: dir})
		old := put(t, s, strings.Repeat("x", 100_000))
		time.Sleep(time.Hour)
		young := put(t, s, strings.Repeat("y", 100_000))
		if got := time.Until(old.Handle.ExpiresAt); got != time.Hour {
			t.Errorf("expires in %s", got)
		}
		time.Sleep(time.Hour - 1)
		read(t, s, results.ReadOptions{ID: old.Handle.ID})
		time.Sleep(time.Nanosecond)
		if _, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: old.Handle.ID}); tool.KindOf(err) != tool.NotFound {
			t.Errorf("after two hours: %v", err)
		}
		synctest.Wait()
		if n := files(t, dir); n != 1 {
			t.Errorf("%d files are left", n)
		}
		read(t, s, results.ReadOptions{ID: young.Handle.ID})
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := files(t, dir); n != 0 {
			t.Errorf("%d files are left in the end", n)
		}
	})
}

func TestTheOldestLeaveFirst(t *testing.T) {
	for name, o := range map[string]results.Options{"bytes": {MaxBytes: 350_000}, "count": {MaxCount: 3}} {
		t.Run(name, func(t *testing.T) {
			o.Dir = t.TempDir()
			s := open(t, o)
			var ids []string
			for i := range 5 {
				ids = append(ids, put(t, s, strings.Repeat(fmt.Sprint(i), 100_000)).Handle.ID)
			}
			for i, id := range ids {
				_, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: id})
				if gone := tool.KindOf(err) == tool.NotFound; gone != (i < 2) {
					t.Errorf("%d: %v", i, err)
				}
			}
			if n := files(t, o.Dir); n != 3 {
				t.Errorf("%d files", n)
			}
			if o.MaxBytes == 0 {
				return
			}
			_, err := s.Put("ann", results.Item{Body: tool.Bytes{make([]byte, 300_000), make([]byte, 300_000)}})
			if !errors.Is(err, results.ErrFull) {
				t.Errorf("more than the store holds: %v", err)
			}
			if n := files(t, o.Dir); n != 0 {
				t.Errorf("%d files after a body that was too large", n)
			}
			put(t, s, strings.Repeat("z", 340_000)) // nothing of it is still counted
		})
	}
}

func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, results.Options{Dir: filepath.Join(file, "below")})
	if _, err := s.Put("ann", results.Item{Body: tool.OneOf(make([]byte, 100_000))}); err == nil {
		t.Error("a body was kept where there is no folder")
	}
	put(t, s, "small ones need no disk")
}

func TestCloseLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := results.New(results.Options{Dir: dir})
	k := put(t, s, strings.Repeat("x", 100_000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: k.Handle.ID}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("after Close: %v", err)
	}
	for _, n := range []int{1, 100_000} {
		if _, err := s.Put("ann", results.Item{Body: tool.OneOf(make([]byte, n))}); err == nil {
			t.Error("a closed store keeps something")
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestLeftOvers: a store removes what dead ones left, not what living ones use.
func TestLeftOvers(t *testing.T) {
	dir := t.TempDir()
	living := open(t, results.Options{Dir: dir})
	k := put(t, living, strings.Repeat("x", 100_000))
	for _, path := range []string{"store-dead/body", "store-dead.lock", "store-unlocked/body", "store-emptied.lock", "other/file"} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, results.Options{Dir: dir})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if len(left) != 3 || left[0] != "other" || left[1]+".lock" != left[2] {
		t.Errorf("left are %v", left)
	}
	read(t, living, results.ReadOptions{ID: k.Handle.ID})
}

func TestGrep(t *testing.T) {
	s := open(t, results.Options{})
	k := put(t, s, "one\ntwo é\nthree\nfour\nfive\nsix\nseven three\n")
	long := put(t, s, strings.Repeat("é", 100_000)+"needle"+strings.Repeat("é", 100_000))
	for _, c := range []struct {
		o    results.ReadOptions
		want string
	}{
		{results.ReadOptions{Grep: "^three"}, "3@10: three\n"},
		{results.ReadOptions{Grep: "(?i)THREE$", Context: 1}, "2- two é\n3@10: three\n4- four\n--\n6- six\n7@30: seven three\n"},
		{results.ReadOptions{Grep: "t", Context: 3}, "1- one\n2@4: two é\n3@10: three\n4- four\n5- five\n6- six\n7@30: seven three\n"},
		{results.ReadOptions{Grep: "three", Offset: 12}, "@30: seven three\n"},
		{results.ReadOptions{Grep: "nothing"}, ""},
		{results.ReadOptions{ID: long.Handle.ID, Grep: "need.e"}, "1@100000: …" + strings.Repeat("é", 100) + "needle" + strings.Repeat("é", 100) + "…\n"},
	} {
		if c.o.ID == "" {
			c.o.ID = k.Handle.ID
		}
		r := read(t, s, c.o)
		if r.Text != c.want || *r.Matches != strings.Count(r.Text, "@") || r.Next != nil || (r.FirstLines != "") != (c.want == "") {
			t.Errorf("%q: %q, %d matches, next %v", c.o.Grep, r.Text, *r.Matches, r.Next)
		}
	}
	// Matches that stand close together in a long line are given once, and all count.
	near := put(t, s, strings.Repeat("x", 2000)+strings.Repeat("7 ", 100)+strings.Repeat("x", 2000)+"7")
	if r := read(t, s, results.ReadOptions{ID: near.Handle.ID, Grep: "7"}); *r.Matches != 101 || strings.Count(r.Text, "@") != 2 || strings.Count(r.Text, "7") != 101 || r.Next != nil {
		t.Errorf("%d matches: %s", *r.Matches, r.Text)
	}
	many := put(t, s, strings.Repeat("line\n", 5000))
	r := read(t, s, results.ReadOptions{ID: many.Handle.ID, Grep: "line", Limit: 100})
	if r.Next == nil || utf8.RuneCountInString(r.Text) > 100 || *r.Matches == 0 {
		t.Fatalf("%d characters, next %v", len(r.Text), r.Next)
	}
	n := *r.Matches
	for ; r.Next != nil; n += *r.Matches {
		r = read(t, s, results.ReadOptions{ID: many.Handle.ID, Grep: "line", Offset: *r.Next})
	}
	if n != 5000 {
		t.Errorf("%d matches in all", n)
	}
}

func TestJQ(t *testing.T) {
	s := open(t, results.Options{})
	k := put(t, s, `{"items":[{"n":9007199254740993,"s":"<ü>"},{"n":2}],"a b":{"c/d":[1,2,3]}}`)
	for query, want := range map[string]string{
		".items[].n":                 "9007199254740993\n2\n",
		`.items[0].s`:                "\"<ü>\"\n",
		`env, $ENV`:                  "{}\n{}\n",
		`.items | length`:            "2\n",
		`empty`:                      "",
		`"a", halt, "b"`:             "\"a\"\n",
		`[.items[] | select(.n<10)]`: "[{\"n\":2}]\n",
	} {
		if r := read(t, s, results.ReadOptions{ID: k.Handle.ID, JQ: query}); r.Text != want || r.Next != nil {
			t.Errorf("%s: %q", query, r.Text)
		}
	}
	r := read(t, s, results.ReadOptions{ID: k.Handle.ID, JQ: "range(1000000)", Offset: 4, Limit: 6})
	if r.Text != "2\n3\n4\n" || r.Next == nil || *r.Next != 10 {
		t.Errorf("%q, next %v", r.Text, r.Next)
	}
	text := put(t, s, "no JSON")
	for _, c := range []struct{ id, query, want string }{
		{k.Handle.ID, ".a[", "jq is no query"},
		{k.Handle.ID, "input", "not allowed"},
		{k.Handle.ID, `import "x" as x; .`, "jq is no query"},
		{k.Handle.ID, ".items.a", "expected an object"},
		{text.Handle.ID, ".", "holds text, not JSON"},
	} {
		_, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: c.id, JQ: c.query})
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.query, err)
		}
	}
}

func TestQueriesEnd(t *testing.T) {
	s := open(t, results.Options{})
	k := put(t, s, `[]`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, "ann", results.ReadOptions{ID: k.Handle.ID, JQ: "[limit(1; repeat(empty))]"}); err == nil {
		t.Error("an endless query ended")
	}
}

func TestBadOptions(t *testing.T) {
	s := open(t, results.Options{})
	image, err := s.Put("ann", results.Item{Kind: "image/png", Body: tool.OneOf([]byte("AAAA"))})
	if err != nil || image.Handle.Kind != "image/png" {
		t.Fatal(image, err)
	}
	id := put(t, s, "text").Handle.ID
	for want, o := range map[string]results.ReadOptions{
		"id is missing":         {},
		"below zero":            {ID: id, Offset: -1},
		"offset or page":        {ID: id, Offset: 1, Page: 1},
		"page is for":           {ID: id, Page: 1, Grep: "x"},
		"limit must":            {ID: id, Limit: results.MaxChars + 1},
		"grep or jq":            {ID: id, Grep: "x", JQ: "."},
		"context must":          {ID: id, Context: 21},
		"longer than":           {ID: id, Grep: strings.Repeat("x", 1001)},
		"no page":               {ID: id, Page: 1 << 40},
		"behind the end":        {ID: id, Offset: 5},
		"is behind the end":     {ID: id, Offset: 5, Grep: "x"},
		"no regular expression": {ID: id, Grep: "("},
		"too costly":            {ID: id, Grep: strings.Repeat(".{0,1000}", 100)},
		"holds image/png":       {ID: image.Handle.ID, Grep: "x"},
	} {
		if _, err := s.Read(t.Context(), "ann", o); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestValue(t *testing.T) {
	s := open(t, results.Options{})
	js := put(t, s, `{"items":[{"n":1e3},{"n":2}],"a b":{"c/d":[1,"x"]},"":0}`)
	text := put(t, s, "a\x00\"\\\n\tü")
	for _, c := range []struct {
		id   string
		part results.Part
		want string
	}{
		{js.Handle.ID, results.Part{}, `{"items":[{"n":1e3},{"n":2}],"a b":{"c/d":[1,"x"]},"":0}`},
		{text.Handle.ID, results.Part{}, `"a\u0000\"\\\n\u0009ü"`},
		{js.Handle.ID, results.Part{Path: "/items/0/n"}, "1e3"},
		{js.Handle.ID, results.Part{Path: "$.items[-1]"}, `{"n":2}`},
		{js.Handle.ID, results.Part{Path: "items[1].n"}, `2`},
		{js.Handle.ID, results.Part{Path: "$"}, `{"items":[{"n":1e3},{"n":2}],"a b":{"c/d":[1,"x"]},"":0}`},
		{js.Handle.ID, results.Part{Path: "."}, `{"items":[{"n":1e3},{"n":2}],"a b":{"c/d":[1,"x"]},"":0}`},
		{js.Handle.ID, results.Part{Path: "$['a b']['c/d'][1]"}, `"x"`},
		{js.Handle.ID, results.Part{Path: "/a b/c~1d/0"}, `1`},
		{js.Handle.ID, results.Part{Path: "/"}, `0`},
		{js.Handle.ID, results.Part{JQ: "[.items[].n]"}, `[1e3,2]`},
	} {
		got, err := s.Value(t.Context(), "ann", c.id, c.part, 1000)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v", c.part, got, err)
		}
	}
	for _, c := range []struct {
		id   string
		part results.Part
		max  int
		kind tool.Kind
		want string
	}{
		{js.Handle.ID, results.Part{Path: "/items/2"}, 1000, tool.NotFound, "2 elements"},
		{js.Handle.ID, results.Part{Path: "/items/x"}, 1000, tool.NotFound, "only numbers"},
		{js.Handle.ID, results.Part{Path: "/nope"}, 1000, tool.NotFound, "no member"},
		{js.Handle.ID, results.Part{Path: "/items/0/n/x"}, 1000, tool.NotFound, "neither"},
		{js.Handle.ID, results.Part{Path: "$.items[*].n"}, 1000, tool.Invalid, "there is jq"},
		{js.Handle.ID, results.Part{Path: "$..n"}, 1000, tool.Invalid, "there is jq"},
		{js.Handle.ID, results.Part{JQ: ".items[]"}, 1000, tool.Invalid, "several values"},
		{js.Handle.ID, results.Part{JQ: "empty"}, 1000, tool.Invalid, "no value"},
		{js.Handle.ID, results.Part{JQ: ".", Path: "/"}, 1000, tool.Invalid, "not both"},
		{js.Handle.ID, results.Part{}, 10, tool.Invalid, "at most 10"},
		{text.Handle.ID, results.Part{Path: "/x"}, 1000, tool.Invalid, "not JSON"},
	} {
		if v, err := s.Value(t.Context(), "ann", c.id, c.part, c.max); tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %s, %v", c.part, v, err)
		}
	}
}

// FuzzPath: whatever a path is, following it ends with a value or an error.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"/a/0", "$.a[0]", "['x'].", ".", "[", "$[", "a..b", "$['", "[-1]"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		s := results.New(results.Options{})
		defer s.Close()
		k, err := s.Put("", results.Item{Body: tool.OneOf([]byte(`{"a":[{"b":1},2],"x":{}}`))})
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Value(t.Context(), "", k.Handle.ID, results.Part{Path: path}, 100)
		if err == nil && !json.Valid(v) {
			t.Fatalf("%q leads to %q", path, v)
		}
	})
}

// TestWritesArePieces: a large body goes to the disk piece by piece.
func TestWritesArePieces(t *testing.T) {
	s := open(t, results.Options{Dir: t.TempDir()})
	piece := bytes.Repeat([]byte("x"), 256<<10)
	body := make(tool.Bytes, 80)
	for i := range body {
		body[i] = piece
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.Put("", results.Item{Body: body}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("%d bytes are allocated to keep 20 MiB", n)
	}
}

type failing struct{}

func (failing) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(make([]byte, 100_000))
	return int64(n), errors.Join(err, errors.New("it broke"))
}

func TestHalfABodyIsNotKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, results.Options{Dir: dir, MaxBytes: 100_000})
	for range 3 {
		if _, err := s.Put("", results.Item{Body: failing{}}); err == nil || !strings.Contains(err.Error(), "it broke") {
			t.Error(err)
		}
	}
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// TestNobodyCostsOthersTheirs: who keeps much pays for it with its own.
func TestNobodyCostsOthersTheirs(t *testing.T) {
	for name, o := range map[string]results.Options{"bytes": {MaxBytes: 350_000}, "count": {MaxCount: 3}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, o)
			mine := put(t, s, strings.Repeat("m", 100_000)).Handle.ID
			for range 5 {
				if _, err := s.Put("eve", results.Item{Body: tool.OneOf([]byte(strings.Repeat("e", 100_000)))}); err != nil {
					t.Fatal(err)
				}
			}
			if o.MaxBytes > 0 {
				_, err := s.Put("eve", results.Item{Body: tool.Bytes{make([]byte, 200_000), make([]byte, 200_000)}})
				if !errors.Is(err, results.ErrFull) {
					t.Errorf("more than the store holds: %v", err)
				}
			}
			if _, err := s.Read(t.Context(), "ann", results.ReadOptions{ID: mine}); err != nil {
				t.Errorf("it was eve who kept much: %v", err)
			}
			if last, err := s.Put("bob", results.Item{Body: tool.OneOf([]byte(strings.Repeat("b", 100_000)))}); err != nil {
				t.Error(err)
			} else if _, err := s.Read(t.Context(), "bob", results.ReadOptions{ID: last.Handle.ID}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestQueriesTakeTurns: however many queries a caller has, that of another one is next.
func TestQueriesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := results.New(results.Options{Query: func(ctx context.Context, _ string, _ io.Reader, yield func([]byte) bool) error {
			time.Sleep(2 * time.Second)
			yield([]byte("1"))
			return nil
		}})
		defer s.Close()
		keep := func(caller string) string {
			k, err := s.Put(caller, results.Item{Body: tool.OneOf([]byte("{}"))})
			if err != nil {
				t.Fatal(err)
			}
			return k.Handle.ID
		}
		ask := func(caller, id string) error {
			_, err := s.Read(t.Context(), caller, results.ReadOptions{ID: id, JQ: "."})
			return err
		}
		eve, ann := keep("eve"), keep("ann")
		var asking sync.WaitGroup
		var refused atomic.Int64
		for range 20 {
			asking.Go(func() {
				if err := ask("eve", eve); tool.KindOf(err) == tool.Unavailable {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := ask("ann", ann); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("ann waited for %v: %v", time.Since(began), err)
		}
		asking.Wait()
		if refused.Load() != 17 { // in five seconds three of hers begin
			t.Errorf("%d of eve's were refused", refused.Load())
		}
	})
}

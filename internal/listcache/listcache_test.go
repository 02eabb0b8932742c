package listcache_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/listcache"
)

func raw(texts ...string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, t := range texts {
		out = append(out, json.RawMessage(t))
	}
	return out
}

func TestKeptByteForByte(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := listcache.New(listcache.Options{Dir: dir})
	key := listcache.Key("stdio", "npx")
	if _, ok := c.Get(key); ok {
		t.Fatal("found a list before there was one")
	}
	tools := raw(`{"name":"a","max":9007199254740993,"z":"<&>"}`, `{ "b" : 1.0 ,"a":"\u00e9"}`)
	before := time.Now().Add(-time.Second)
	if err := c.Put(key, tools); err != nil {
		t.Fatal(err)
	}
	kept, ok := listcache.New(listcache.Options{Dir: dir}).Get(key)
	if !ok || len(kept.Tools) != 2 || kept.At.Before(before) {
		t.Fatalf("got %v, %v", kept, ok)
	}
	for i := range tools {
		if string(kept.Tools[i]) != string(tools[i]) {
			t.Errorf("tool %d is %s, was %s", i, kept.Tools[i], tools[i])
		}
	}
	if err := c.Put(key, nil); err != nil {
		t.Fatal(err)
	}
	if kept, ok := c.Get(key); !ok || len(kept.Tools) != 0 {
		t.Errorf("an empty list is a list: got %v, %v", kept, ok)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others may read the folder: %v", mode)
	}
}

func TestSameListIsNotWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	c := listcache.New(listcache.Options{Dir: dir})
	key := listcache.Key("k")
	for range 2 {
		if err := c.Put(key, raw(`{"name":"a"}`)); err != nil {
			t.Fatal(err)
		}
	}
	ago := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, key+".tools.json"), ago, ago); err != nil {
		t.Fatal(err)
	}
	first, _ := c.Get(key)
	if err := c.Put(key, raw(`{"name":"b"}`)); err != nil {
		t.Fatal(err)
	}
	second, _ := c.Get(key)
	if string(second.Tools[0]) != `{"name":"b"}` {
		t.Errorf("got %s", second.Tools[0])
	}
	if !second.At.After(first.At) {
		t.Errorf("kept at %v, before that at %v", second.At, first.At)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v; want one", len(files), err)
	}
}

func TestKeys(t *testing.T) {
	if listcache.Key("ab", "c") == listcache.Key("a", "bc") {
		t.Error("texts run into each other")
	}
	if listcache.Key("a") == listcache.Key("a", "") {
		t.Error("an empty text does not count")
	}
	if key := listcache.Key("../../etc/passwd"); strings.ContainsAny(key, "/.") {
		t.Errorf("key %s is no file name", key)
	}
}

// TestBadFiles: whatever is in the folder, it is no list, and no failure.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	c := listcache.New(listcache.Options{Dir: dir})
	key := listcache.Key("k")
	if err := c.Put(key, raw(`{"name":"a"}`)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, files[0].Name())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", string(whole[:len(whole)/2]), `{"layout":2,"tools":[{}]}`, `{"layout":1,"tools":{}}`, "\x00\xff", "null"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if kept, ok := c.Get(key); ok {
			t.Errorf("%q gave %v", text, kept)
		}
		if err := c.Put(key, raw(`{"name":"a"}`)); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get(key); !ok {
			t.Errorf("after %q nothing could be kept", text)
		}
	}
	if err := c.Put(key, raw(`{"name":`)); err == nil {
		t.Error("what is no JSON was kept")
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := listcache.New(listcache.Options{Dir: filepath.Join(file, "x")})
	if err := c.Put("k", nil); err == nil {
		t.Error("a folder below a file was made")
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	c := listcache.New(listcache.Options{Dir: dir})
	for _, k := range []string{"old", "new"} {
		if err := c.Put(listcache.Key(k), raw()); err != nil {
			t.Fatal(err)
		}
	}
	ago := time.Now().Add(-40 * 24 * time.Hour)
	age := func(name string) {
		path := filepath.Join(dir, name)
		if err := errorsOf(os.WriteFile(path, nil, 0o600), os.Chtimes(path, ago, ago)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, listcache.Key("old")+".tools.json"), ago, ago); err != nil {
		t.Fatal(err)
	}
	age("1.new")
	age("somebody-elses.txt")
	if err := c.Prune(); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get(listcache.Key("old")); ok {
		t.Error("what was not used for a month is still there")
	}
	if _, ok := c.Get(listcache.Key("new")); !ok {
		t.Error("what is in use is gone")
	}
	if _, err := os.Stat(filepath.Join(dir, "1.new")); err == nil {
		t.Error("what a write left is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "somebody-elses.txt")); err != nil {
		t.Error("a foreign file was removed")
	}
	if err := listcache.New(listcache.Options{Dir: filepath.Join(dir, "none")}).Prune(); err != nil {
		t.Errorf("no folder is no failure: %v", err)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestWrittenWhole: a reader sees one list or the other, never a mixture.
func TestWrittenWhole(t *testing.T) {
	c := listcache.New(listcache.Options{Dir: t.TempDir()})
	key := listcache.Key("k")
	lists := [][]json.RawMessage{raw(strings.Repeat(" ", 1<<16)+`{"name":"a"}`, `{"name":"a"}`), raw(`{"name":"b"}`, `{"name":"b"}`)}
	if err := c.Put(key, lists[0]); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for range 50 {
				if err := c.Put(key, lists[w]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		kept, ok := c.Get(key)
		if !ok || len(kept.Tools) != 2 || strings.TrimSpace(string(kept.Tools[0])) != string(kept.Tools[1]) {
			t.Fatalf("got %v, %v", kept, ok)
		}
	}
	wg.Wait()
}

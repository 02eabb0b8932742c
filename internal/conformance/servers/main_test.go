package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDifferencesAreFound: every byte counts, but for names where they may carry
// the server's.
func TestDifferencesAreFound(t *testing.T) {
	of := func(tools ...string) offers {
		o := offers{}
		for _, s := range tools {
			o["tools"] = append(o["tools"], json.RawMessage(s))
		}
		return o
	}
	for _, c := range []struct {
		name      string
		want, got offers
		renamed   bool
		says      string
	}{
		{"the same", of(`{"name":"a"}`), of(`{"name":"a"}`), false, ""},
		{"one is missing", of(`{"name":"a"}`, `{"name":"b"}`), of(`{"name":"a"}`), false, "1 tools in place of 2"},
		{"a space more", of(`{"name":"a"}`), of(`{"name": "a"}`), false, "from byte 8"},
		{"another name", of(`{"name":"a"}`), of(`{"name":"s__a"}`), false, "from byte 9"},
		{"another name, as it may be", of(`{"x":1,"name":"a"}`), of(`{"x":1,"name":"s__a"}`), true, ""},
		{"another name inside", of(`{"name":"a","x":{"name":"y"}}`), of(`{"name":"s__a","x":{"name":"z"}}`), true, "tools[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := difference(c.want, c.got, c.renamed)
			if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
				t.Errorf("says %q, want %q", got, c.says)
			}
		})
	}
}

// TestNativeModulesAreBuiltOnce: where a module has what its source makes, or came built, it
// is left alone; a server says that it lacks one in one way.
func TestNativeModulesAreBuiltOnce(t *testing.T) {
	for file, want := range map[string]bool{
		"build/Release/better.node": true, "prebuilds/linux-x64/a.node": true, "build/Release/obj/a.o": false, "lib/a.node": false, "": false,
	} {
		dir := t.TempDir()
		if file != "" {
			path := filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := isBuilt(dir); got != want {
			t.Errorf("%q: %v", file, got)
		}
	}
	if !lacksNative(errors.New("EOF; standard error: Error: Could not locate the bindings file. Tried:")) || lacksNative(errors.New("EOF")) || lacksNative(nil) {
		t.Error("a server that lacks a module is not known by what it says")
	}
}

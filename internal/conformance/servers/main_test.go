package main

import (
	"encoding/json"
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

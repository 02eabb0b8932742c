package glob_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"read_file", "read_file", true},
		{"read_file", "Read_file", false},
		{"read_*", "read_file", true},
		{"read_*", "write_file", false},
		{"*", "", true},
		{"*", "a/b/c", true},
		{"a?b", "a/b", true},
		{"a*", "a/b", true},
		{"*b", "a/b", true},
		{"a/b", "a/b", true},
		{"a/*", "a/b/c", true},
		{"a[.-0]b", "a/b", true},
		{"[ab]c", "bc", true},
		{"[ab]c", "cc", false},
		{"[ab]c", "[ab]c", true},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{"a[", "a[", true},
		{"a[", "ab", false},
		{"?", "é", true},
	} {
		if got := glob.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestMatchID(t *testing.T) {
	split := func(s string) tool.ID {
		server, name, _ := strings.Cut(s, "/")
		return tool.ID{Server: server, Name: name}
	}
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{
		{"a/b", "a/b", true},
		{"a/b", "a/bc", false},
		{"a/b", "A/b", false},
		{"*/b", "a/b", true},
		{"a/*", "a/", true},
		{"a/get_*", "a/get_x", true},
		{"a/get_?", "a/get_xy", false},
		{"a/[gs]et", "a/set", true},
		{"*/*", "a/b", true},
		{"a/*", "a/b/c", true},
		{"a/b*d", "a/b/c/d", true},
		{"a/b/*", "a/b/c", true},
		{`a/\*`, "a/*", true},
		{`a/\*`, "a/b", false},
	} {
		if got := glob.MatchID(split(c.pattern), split(c.id)); got != c.want {
			t.Errorf("%s matches %s: %t, want %t", c.pattern, c.id, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{"[", "a[b", `\`, "[]a]"} {
		if err := glob.Check(bad); !errors.Is(err, path.ErrBadPattern) {
			t.Errorf("Check(%q) = %v", bad, err)
		}
	}
	if err := glob.Check("a*[b-c]?"); err != nil {
		t.Error(err)
	}
}

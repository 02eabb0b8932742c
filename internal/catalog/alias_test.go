package catalog_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

func TestAliases(t *testing.T) {
	long := strings.Repeat("n", 60)
	cases := []struct{ server, name, want string }{
		{"files", "read_file", "files__read_file"},
		{"google-calendar", "listEvents", "google-calendar__listEvents"},
		{"a", "_b", "a___b"},
		{"a", "b__c", "a__b__c"},
		{"ab", long, "ab__" + long}, // 64 characters
		// All others end in the first digits of the SHA-256 of server, zero, name.
		{"a__b", "c", "a__b__c_a92700ce"},
		{"a_", "b", "a___b_a00766a3"},
		{"a.b", "c", "a_b__c_8b745bb4"},
		{"files", "read/file", "files__read_file_3e69995b"},
		{"天气", "查询", "_______1236009d"},
		{"abc", long, "abc__" + long[:50] + "_daeca17d"},
		{"a", "b_0a1b2c3d", "a__b_0a1b2c3d_f0a8da5e"}, // looks hashed
		{"a", "b_0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d", "a__b_0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d_61c11cda"},
	}
	var servers []string
	for _, tc := range cases {
		if !slices.Contains(servers, tc.server) {
			servers = append(servers, tc.server)
		}
	}
	c := newCatalog(t, catalog.Options{Servers: servers})
	for _, server := range servers {
		var names []string
		for _, tc := range cases {
			if tc.server == server {
				names = append(names, tc.name)
			}
		}
		c.Set(server, named(t, names...))
	}
	s := c.Snapshot()
	for _, tc := range cases {
		found, ok := s.Find(tool.ID{Server: tc.server, Name: tc.name})
		if !ok {
			t.Fatalf("%s/%s is missing", tc.server, tc.name)
		}
		alias := s.AliasOf(found)
		if alias != tc.want {
			t.Errorf("%s has the alias %q, want %q", found.ID, alias, tc.want)
		}
		if back, ok := s.Alias(alias); !ok || back != found {
			t.Errorf("the alias %q leads to %v, %v, want %s", alias, back, ok, found.ID)
		}
	}
	for _, alias := range []string{"", "__", "files", "files__", "__read_file", "files__read_files", "files_read_file", "a.b__c", "files__read/file"} {
		if found, ok := s.Alias(alias); ok {
			t.Errorf("the alias %q leads to %s, want nothing", alias, found.ID)
		}
	}
	if alias := s.AliasOf(&tool.Tool{ID: tool.ID{Server: "files", Name: "gone"}}); alias != "" {
		t.Errorf("a tool that is not there has the alias %q", alias)
	}
}

// Two names, found by trying, whose hashes agree in the first 32 bits. Neither
// may get the short alias, whichever came first.
func TestAliasesOfEqualHashes(t *testing.T) {
	long := strings.Repeat("n", 60)
	one, two := long+"19299", long+"27486"
	c := newCatalog(t, catalog.Options{Servers: []string{"s"}})
	alias := func(name string) string {
		s := c.Snapshot()
		found, ok := s.Find(tool.ID{Server: "s", Name: name})
		if !ok {
			t.Fatalf("s/%s is missing", name)
		}
		alias := s.AliasOf(found)
		if back, ok := s.Alias(alias); !ok || back != found {
			t.Errorf("the alias %q leads to %v, want %s", alias, back, found.ID)
		}
		return alias
	}
	c.Set("s", named(t, one))
	short := alias(one)
	c.Set("s", named(t, two))
	if alias(two) != short {
		t.Fatalf("%q and %q do not collide", one, two)
	}
	for _, names := range [][]string{{one, two}, {two, one}} {
		c.Set("s", named(t, names...))
		a, b := alias(one), alias(two)
		if a == b || a == short || b == short || len(a) > 64 || len(b) > 64 {
			t.Errorf("the aliases are %q and %q, want two others than %q", a, b, short)
		}
		if found, ok := c.Snapshot().Alias(short); ok {
			t.Errorf("the alias %q still leads to %s", short, found.ID)
		}
	}
}

// aliasName draws names made of what aliases are sensitive to.
func aliasName() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "_", "__", "-", ".", "/", "é", "读", " ", "_0123abcd", "_00112233445566778899aabbccddeeff", strings.Repeat("x", 30),
		}), 1, 4).Draw(t, "pieces")
		return strings.Join(pieces, "")
	})
}

func TestAliasesAreUniqueAndLast(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.SliceOfNDistinct(aliasName(), 1, 6, rapid.ID).Draw(t, "servers")
		c, err := catalog.New(catalog.Options{Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		meaning := make(map[string]tool.ID) // all that an alias ever led to
		for range rapid.IntRange(1, 8).Draw(t, "lists") {
			server := rapid.SampledFrom(servers).Draw(t, "server")
			names := rapid.SliceOfNDistinct(aliasName(), 0, 6, rapid.ID).Draw(t, "names")
			tools := make([]tool.Tool, len(names))
			for i, name := range names {
				tools[i] = tool.Tool{ID: tool.ID{Name: name}}
			}
			if dropped, _ := c.Set(server, tools); len(dropped) > 0 {
				t.Fatalf("dropped %v", dropped)
			}
			s := c.Snapshot()
			seen := make(map[string]bool)
			for _, found := range s.Tools() {
				alias := s.AliasOf(found)
				if !form.MatchString(alias) || seen[alias] {
					t.Fatalf("%s has the alias %q, which is taken or ill formed", found.ID, alias)
				}
				seen[alias] = true
				if back, ok := s.Alias(alias); !ok || back != found {
					t.Fatalf("the alias %q of %s leads to %v, %v", alias, found.ID, back, ok)
				}
				if was, ok := meaning[alias]; ok && was != found.ID {
					t.Fatalf("the alias %q leads to %s and led to %s", alias, found.ID, was)
				}
				meaning[alias] = found.ID
			}
			for alias, id := range meaning {
				if found, ok := s.Alias(alias); ok && found.ID != id {
					t.Fatalf("the alias %q leads to %s and led to %s", alias, found.ID, id)
				}
			}
		}
	})
}

package catalog_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

func newCatalog(tb testing.TB, o catalog.Options) *catalog.Catalog {
	tb.Helper()
	c, err := catalog.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// named returns tools that have nothing but a name.
func named(tb testing.TB, names ...string) []tool.Tool {
	tb.Helper()
	tools := make([]tool.Tool, len(names))
	for i, name := range names {
		raw, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			tb.Fatal(err)
		}
		if tools[i], err = catalog.Parse(raw); err != nil {
			tb.Fatal(err)
		}
	}
	return tools
}

// listed returns the IDs of tools as texts.
func listed(tools []*tool.Tool) []string {
	ids := make([]string, len(tools))
	for i, t := range tools {
		ids[i] = t.ID.String()
	}
	return ids
}

func wantIDs(t *testing.T, what string, got []*tool.Tool, want ...string) {
	t.Helper()
	if ids := listed(got); !slices.Equal(ids, want) {
		t.Errorf("%s: %q, want %q", what, ids, want)
	}
}

func TestOrderIsThatOfTheConfiguration(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"b", "a", "c"}})
	c.Set("c", named(t, "z", "y"))
	c.Set("a", named(t, "y"))
	c.Set("b", named(t, "x", "y"))
	s := c.Snapshot()
	wantIDs(t, "Tools", s.Tools(), "b/x", "b/y", "a/y", "c/z", "c/y")
	wantIDs(t, "WithName(y)", s.WithName("y"), "b/y", "a/y", "c/y")
	wantIDs(t, "WithName(none)", s.WithName("none"))
	if got := s.Servers(); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("Servers() = %q", got)
	}
}

func TestFind(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"a", "b"}})
	c.Set("a", named(t, "x"))
	s := c.Snapshot()
	if found, ok := s.Find(tool.ID{Server: "a", Name: "x"}); !ok || found.ID.String() != "a/x" {
		t.Errorf("Find(a/x) = %v, %v", found, ok)
	}
	for _, id := range []tool.ID{{Server: "a", Name: "X"}, {Server: "b", Name: "x"}, {Server: "c", Name: "x"}, {}} {
		if found, ok := s.Find(id); ok {
			t.Errorf("Find(%s) = %v, want none", id, found)
		}
	}
	if tools, ok := s.Server("b"); !ok || len(tools) != 0 {
		t.Errorf("Server(b) = %v, %v, want a server without tools", tools, ok)
	}
	if _, ok := s.Server("c"); ok {
		t.Error("Server(c) is there, but not in the configuration")
	}
}

func TestSetLeavesOutWhatCannotBeOffered(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"a"}, Blacklist: []tool.ID{{Server: "a", Name: "secret"}}})
	tools := named(t, "good", "secret", "good", "other")
	tools = append(tools, tool.Tool{}, tool.Tool{ID: tool.ID{Name: "a\x1bb"}}, tool.Tool{ID: tool.ID{Name: strings.Repeat("n", 513)}})
	dropped, changed := c.Set("a", tools)
	if !changed {
		t.Error("the list did not change")
	}
	wantIDs(t, "Tools", c.Snapshot().Tools(), "a/good", "a/other")
	var at []int
	for _, d := range dropped {
		at = append(at, d.Index)
		if d.Reason == "" || d.Name != tools[d.Index].Name {
			t.Errorf("dropped %+v, want the name %q and a reason", d, tools[d.Index].Name)
		}
	}
	if want := []int{2, 4, 5, 6}; !slices.Equal(at, want) {
		t.Errorf("dropped the tools at %v, want %v", at, want)
	}
	if tools[0].Server != "" {
		t.Error("Set changed the slice of its caller")
	}

	dropped, changed = c.Set("unknown", named(t, "x", "y"))
	if len(dropped) != 2 || changed {
		t.Errorf("Set of an unknown server dropped %v, changed %v, want both dropped and no change", dropped, changed)
	}
}

func TestSetReportsWhatReallyChanged(t *testing.T) {
	parse := func(raws ...string) (tools []tool.Tool) {
		for _, raw := range raws {
			parsed, err := catalog.Parse(json.RawMessage(raw))
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, parsed)
		}
		return tools
	}
	x, y := `{"name":"x","inputSchema":{"type":"object"}}`, `{"name":"y"}`
	hidden := `{"name":"hidden"}`
	steps := []struct {
		name    string
		tools   []tool.Tool
		changed bool
	}{
		{"nothing at first", nil, false},
		{"two tools", parse(x, y), true},
		{"the same bytes", parse(x, y), false},
		{"another order", parse(y, x), true},
		{"another byte", parse(y, `{"name":"x","inputSchema":{"type":"object" }}`), true},
		{"no schema", parse(y, `{"name":"x"}`), true},
		{"a key that is not read", parse(y, `{"name":"x","_meta":{}}`), true},
		{"a blacklisted tool more", parse(y, hidden, `{"name":"x","_meta":{}}`), false},
		{"one less", parse(y), true},
		{"none", nil, true},
		{"still none", []tool.Tool{}, false},
	}
	c := newCatalog(t, catalog.Options{Servers: []string{"s"}, Blacklist: []tool.ID{{Server: "s", Name: "hidden"}}})
	for _, step := range steps {
		before := c.Snapshot()
		_, changed := c.Set("s", step.tools)
		if changed != step.changed {
			t.Errorf("%s: changed is %v, want %v", step.name, changed, step.changed)
		}
		if same := c.Snapshot() == before; same == step.changed {
			t.Errorf("%s: the snapshot stayed: %v", step.name, same)
		}
	}
}

func TestSnapshotNeverChanges(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"a", "b"}})
	c.Set("a", named(t, "x"))
	c.Set("b", named(t, "y"))
	s := c.Snapshot()
	c.Set("a", named(t, "z"))
	c.Set("b", nil)
	wantIDs(t, "the old snapshot", s.Tools(), "a/x", "b/y")
	wantIDs(t, "the new snapshot", c.Snapshot().Tools(), "a/z")
}

func TestMetaIsAskedOncePerTool(t *testing.T) {
	asked := make(map[string]int)
	c := newCatalog(t, catalog.Options{
		Servers: []string{"a", "b"},
		Meta: func(t *tool.Tool) tool.Meta {
			asked[t.ID.String()]++
			return tool.Meta{Registered: true, ReadOnly: t.Name == "x"}
		},
	})
	c.Set("a", named(t, "x"))
	c.Set("b", named(t, "y"))
	for _, found := range c.Snapshot().Tools() {
		if want := (tool.Meta{Registered: true, ReadOnly: found.Name == "x"}); !reflect.DeepEqual(found.Meta, want) {
			t.Errorf("%s has %+v, want %+v", found.ID, found.Meta, want)
		}
	}
	if want := map[string]int{"a/x": 1, "b/y": 1}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

func TestUndeclaredToolIsNotSafe(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"a"}})
	c.Set("a", named(t, "x"))
	if got := c.Snapshot().Tools()[0].Meta; !reflect.DeepEqual(got, tool.DefaultMeta()) {
		t.Errorf("the metadata is %+v, want the default", got)
	}
}

func TestBlacklist(t *testing.T) {
	c := newCatalog(t, catalog.Options{
		Servers: []string{"docs", "db-1", "db-2", "all"},
		Blacklist: []tool.ID{
			{Server: "docs", Name: "delete_page"},
			{Server: "db-?", Name: "drop_*"},
			{Server: "all", Name: "*"},
			{Server: "docs", Name: "a[1]"},
			{Server: "docs", Name: "x[!-~]y"},
			{Server: "db-?", Name: "b[1]"},
		},
	})
	cases := []struct {
		server, name string
		want         bool
	}{
		{"docs", "delete_page", true},
		{"docs", "delete_pages", false},
		{"docs", "Delete_page", false},
		{"other", "delete_page", false},
		{"db-1", "drop_table", true},
		{"db-2", "drop_", true},
		{"db-2", "list", false},
		{"db-22", "drop_table", false},
		{"all", "a/b/c", true}, // a slash is no way out
		{"db-1", "drop_a/b", true},
		{"db-/", "drop_a", true},
		{"all", "", true},
		{"docs", "a[1]", true}, // as it is written
		{"docs", "a1", true},   // and as a pattern
		{"docs", "x/y", true},
		{"db-1", "b[1]", true}, // as it is written, though the server is a pattern
	}
	for _, tc := range cases {
		id := tool.ID{Server: tc.server, Name: tc.name}
		if got := c.Snapshot().Blacklisted(id); got != tc.want {
			t.Errorf("Blacklisted(%s) = %v, want %v", id, got, tc.want)
		}
	}
	c.Set("all", named(t, "x", "y/z"))
	c.Set("docs", named(t, "delete_page", "read_page"))
	s := c.Snapshot()
	wantIDs(t, "Tools", s.Tools(), "docs/read_page")
	wantIDs(t, "WithName", s.WithName("delete_page"))
	if _, ok := s.Alias("docs__delete_page"); ok {
		t.Error("a blacklisted tool has an alias")
	}
	if hits := s.Search("delete page", 0); len(hits) != 1 {
		t.Errorf("Search finds %v, want docs/read_page alone", hits)
	}
	if near := s.NearTools("docs", "delete_page", 5); slices.Contains(near, tool.ID{Server: "docs", Name: "delete_page"}) {
		t.Errorf("NearTools names a blacklisted tool: %v", near)
	}
}

func TestNewReportsAllMistakes(t *testing.T) {
	_, err := catalog.New(catalog.Options{
		Servers:   []string{"a", "", "a", "b\x00"},
		Blacklist: []tool.ID{{Server: "a", Name: "[x"}, {Server: "", Name: "x"}},
	})
	if err == nil {
		t.Fatal("New takes everything")
	}
	for _, want := range []string{`"a" stands twice`, `server ""`, `"b\x00"`, `"[x"`, `bad pattern ""`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell of %s:\n%v", want, err)
		}
	}
}

// However the lists arrive, the same lists give the same offer.
func TestArrivalDoesNotMatter(t *testing.T) {
	servers := []string{"a", "a.b", "a_b", "a__b"}
	lists := map[string][]tool.Tool{
		"a": named(t, "b__c", "c"), "a.b": named(t, "c", "list"), "a_b": named(t, "c"), "a__b": named(t, "c"),
	}
	describe := func(order []string) string {
		c := newCatalog(t, catalog.Options{Servers: servers})
		for _, name := range order {
			c.Set(name, named(t, "something", "else"))
			c.Set(name, lists[name])
		}
		s := c.Snapshot()
		var b strings.Builder
		for _, found := range s.Tools() {
			fmt.Fprintf(&b, "%s %s %s\n", found.ID, s.AliasOf(found), found.Raw)
		}
		for _, hit := range s.Search("list c b", 0) {
			fmt.Fprintf(&b, "%s %v %q\n", hit.Tool.ID, hit.Score, hit.Missing)
		}
		fmt.Fprintln(&b, s.NearTools("ab", "c", 9), s.NearServers("ab", 9))
		return b.String()
	}
	want := describe(servers)
	if got := describe([]string{"a__b", "a.b", "a", "a_b"}); got != want {
		t.Errorf("in another order:\n%s\nwant:\n%s", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	servers := []string{"a", "b", "c"}
	c := newCatalog(t, catalog.Options{Servers: servers})
	lists := [][]tool.Tool{named(t, "one", "two.dots"), named(t, "two.dots", "three", "four")}
	var wg sync.WaitGroup
	for _, server := range servers {
		wg.Go(func() {
			for i := range 300 {
				c.Set(server, lists[i%2])
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 300 {
				s := c.Snapshot()
				for _, found := range s.Tools() {
					if again, ok := s.Find(found.ID); !ok || again != found {
						t.Errorf("Find(%s) = %v, %v", found.ID, again, ok)
					}
					if again, ok := s.Alias(s.AliasOf(found)); !ok || again != found {
						t.Errorf("the alias of %s leads to %v, %v", found.ID, again, ok)
					}
				}
				s.Search("two dots", 3)
				s.NearTools("a", "tree", 3)
			}
		})
	}
	wg.Wait()
	// The last list of each server must have stayed.
	wantIDs(t, "Tools", c.Snapshot().Tools(),
		"a/two.dots", "a/three", "a/four", "b/two.dots", "b/three", "b/four", "c/two.dots", "c/three", "c/four")
}

package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

type searchFile struct {
	Tools map[string][]json.RawMessage
	Hints map[string]string
	Cases []struct {
		Search, First string
		Missing       []string // checked where it is given
	}
}

// searchPool returns the pool of testdata/search.json.
func searchPool(tb testing.TB) (*catalog.Snapshot, searchFile) {
	tb.Helper()
	raw, err := os.ReadFile("testdata/search.json")
	if err != nil {
		tb.Fatal(err)
	}
	var in searchFile
	if err := json.Unmarshal(raw, &in); err != nil {
		tb.Fatal(err)
	}
	o := catalog.Options{Meta: func(t *tool.Tool) tool.Meta { return tool.Meta{SearchHint: in.Hints[t.ID.String()]} }}
	for server := range in.Tools {
		o.Servers = append(o.Servers, server)
	}
	slices.Sort(o.Servers)
	c := newCatalog(tb, o)
	for server, list := range in.Tools {
		var tools []tool.Tool
		for _, raw := range list {
			parsed, err := catalog.Parse(raw)
			if err != nil {
				tb.Fatal(err)
			}
			tools = append(tools, parsed)
		}
		c.Set(server, tools)
	}
	return c.Snapshot(), in
}

func TestSearch(t *testing.T) {
	s, in := searchPool(t)
	for _, tc := range in.Cases {
		t.Run(tc.Search, func(t *testing.T) {
			hits := s.Search(tc.Search, 3)
			if tc.First == "" {
				if len(hits) > 0 {
					t.Errorf("found %s, want nothing", hits[0].Tool.ID)
				}
				return
			}
			if len(hits) == 0 || hits[0].Tool.ID.String() != tc.First {
				t.Fatalf("found %s, want first %s", hitIDs(hits), tc.First)
			}
			if tc.Missing != nil && !slices.Equal(hits[0].Missing, tc.Missing) {
				t.Errorf("missing %q, want %q", hits[0].Missing, tc.Missing)
			}
		})
	}
}

func hitIDs(hits []catalog.Hit) []string {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.Tool.ID.String()
	}
	return ids
}

func TestSearchKeepsTheLimit(t *testing.T) {
	s, _ := searchPool(t)
	const words = "list files, meetings, containers and alerts of a document"
	all := s.Search(words, 0)
	if len(all) < 8 {
		t.Fatalf("found only %s", hitIDs(all))
	}
	for limit := 1; limit <= len(all)+1; limit++ {
		want := hitIDs(all[:min(limit, len(all))])
		if got := hitIDs(s.Search(words, limit)); !slices.Equal(got, want) {
			t.Errorf("the best %d are %s, want %s", limit, got, want)
		}
	}
}

func TestEqualHitsComeInOrder(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"north", "east"}})
	for _, server := range []string{"east", "north"} {
		c.Set(server, []tool.Tool{
			{ID: tool.ID{Name: "z"}, Description: "something"}, {ID: tool.ID{Name: "y"}, Description: "something"},
		})
	}
	for _, limit := range []int{0, 2, 3, 4} {
		want := []string{"north/z", "north/y", "east/z", "east/y"}
		if limit > 0 {
			want = want[:limit]
		}
		if got := hitIDs(c.Snapshot().Search("something", limit)); !slices.Equal(got, want) {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
	}
}

func TestRareWordsCountMore(t *testing.T) {
	tools := named(t, "record_record_record", "zebra")
	for i := range 20 {
		tools = append(tools, tool.Tool{ID: tool.ID{Name: fmt.Sprintf("record_%d", i)}})
	}
	c := newCatalog(t, catalog.Options{Servers: []string{"s"}})
	c.Set("s", tools)
	if got := hitIDs(c.Snapshot().Search("record zebra", 1)); !slices.Equal(got, []string{"s/zebra"}) {
		t.Errorf("found %s, want s/zebra", got)
	}
}

// The index of a list must go with the list.
func TestSearchFollowsTheLists(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"a", "b"}})
	if hits := c.Snapshot().Search("apple", 0); len(hits) != 0 {
		t.Errorf("an empty pool has %s", hitIDs(hits))
	}
	c.Set("a", named(t, "apple"))
	old := c.Snapshot()
	old.Search("apple", 0)
	c.Set("b", named(t, "apple_tree"))
	c.Set("a", named(t, "pear"))
	if got := hitIDs(c.Snapshot().Search("apple", 0)); !slices.Equal(got, []string{"b/apple_tree"}) {
		t.Errorf("found %s, want b/apple_tree", got)
	}
	if got := hitIDs(old.Search("apple", 0)); !slices.Equal(got, []string{"a/apple"}) {
		t.Errorf("the old snapshot finds %s, want a/apple", got)
	}
}

func TestSearchTakesAnyWords(t *testing.T) {
	s, _ := searchPool(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zéß读日ー 's_-]{0,40}`)).Draw(t, "words")
		last := math.Inf(1)
		for _, h := range s.Search(words, 0) {
			if h.Score <= 0 || h.Score > last || math.IsNaN(h.Score) {
				t.Fatalf("%s scores %v after %v", h.Tool.ID, h.Score, last)
			}
			last = h.Score
			for _, w := range h.Missing {
				if !strings.Contains(words, w) {
					t.Fatalf("missing %q, which is not in %q", w, words)
				}
			}
		}
	})
}

func TestLongSearchIsBounded(t *testing.T) {
	s, _ := searchPool(t)
	var long strings.Builder
	long.WriteString(strings.Repeat("docker container logs ", 10_000))
	for i := range 1000 {
		fmt.Fprintf(&long, " word%d", i)
	}
	hits := s.Search(long.String(), 1)
	if len(hits) != 1 || hits[0].Tool.ID.String() != "docker/docker_logs" {
		t.Fatalf("found %s", hitIDs(hits))
	}
	if n := len(hits[0].Missing); n == 0 || n > 64 {
		t.Errorf("%d words are missing, want some of at most 64", n)
	}
}

// TestSearchReadsSchemas finds a tool by the names and texts of its parameters at any
// depth, however they are written, and not by other texts of its schema.
func TestSearchReadsSchemas(t *testing.T) {
	schema := `{"type":"object","$comment":"zebra","properties":{
		"alpha":{"type":"string","description":"says \"bravo\" and charlie","enum":["yankee"],"default":"xray"},
		"description":{"type":"object","title":"delta","properties":{"properties":{"type":"array","items":[{"properties":{"echo":{}}}]}}},
		"odd name\n":{"anyOf":[{"title":"foxtrot"},{"type":"null"}, -1.5e3, true, null, []]}
	},"required":["whiskey"]}`
	raw := `{"name":"t","description":"` + `golf","inputSchema":` + schema + `}`
	tl, err := catalog.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.New(catalog.Options{Servers: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("s", []tool.Tool{tl})
	for _, word := range []string{"alpha", "bravo", "charlie", "description", "delta", "properties", "echo", "odd", "foxtrot", "golf"} {
		if len(c.Snapshot().Search(word, 1)) != 1 {
			t.Errorf("%q finds nothing", word)
		}
	}
	for _, word := range []string{"zebra", "yankee", "xray", "whiskey", "required", "items", "n"} {
		if len(c.Snapshot().Search(word, 1)) != 0 {
			t.Errorf("%q finds the tool", word)
		}
	}
}

// TestPrepare makes the index before anybody searches, and gives up what is replaced or
// no longer wanted, without harm to a search.
func TestPrepare(t *testing.T) {
	c := largeCatalog(t)
	if c.Searched() {
		t.Error("nobody has searched")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Prepare(ctx)
	want := c.Snapshot().Search("weather forecast", 5)
	if len(want) == 0 || !c.Searched() {
		t.Fatalf("found %v", want)
	}
	d := largeCatalog(t)
	var preparing sync.WaitGroup
	preparing.Go(func() { d.Prepare(t.Context()) })
	for i := range 5 {
		d.Set("server-7", largeList(t, i))
	}
	preparing.Wait()
	d.Set("server-7", largeList(t, 7))
	d.Prepare(t.Context())
	got := d.Snapshot().Search("weather forecast", 5)
	if len(got) != len(want) {
		t.Fatalf("found %d, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Tool.ID != want[i].Tool.ID || got[i].Score != want[i].Score {
			t.Errorf("hit %d is %v, want %v", i, got[i].Tool.ID, want[i].Tool.ID)
		}
	}
}

// BenchmarkFirstSearch is the first search after all lists have changed, and been
// prepared for beside.
func BenchmarkFirstSearch(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c := largeCatalog(b)
		c.Prepare(b.Context())
		b.StartTimer()
		c.Snapshot().Search("weather forecast", 5)
	}
}

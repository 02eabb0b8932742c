package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// parseCase is one case of testdata/parse.txt.
type parseCase struct {
	name string
	raw  []byte
	want string
}

func parseCases(tb testing.TB) []parseCase {
	tb.Helper()
	file, err := os.ReadFile("testdata/parse.txt")
	if err != nil {
		tb.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(file), "\r\n", "\n")), "\n\n")
	var cases []parseCase
	for _, block := range blocks[1:] { // the first one explains
		lines := strings.SplitN(block, "\n", 3)
		if len(lines) != 3 {
			tb.Fatalf("not a case: %s", block)
		}
		cases = append(cases, parseCase{strings.TrimPrefix(lines[0], "# "), []byte(lines[1]), lines[2]})
	}
	return cases
}

// show prints what testdata/parse.txt tells of a tool.
func show(parsed tool.Tool) string {
	var lines []string
	for _, f := range []struct{ name, value string }{
		{"name", parsed.Name},
		{"title", parsed.Title},
		{"description", parsed.Description},
		{"schema", string(parsed.Schema)},
		{"output", string(parsed.Output)},
		{"annotations", string(parsed.Annotations)},
	} {
		if f.value != "" {
			lines = append(lines, fmt.Sprintf("=> %s: %s", f.name, f.value))
		}
	}
	return strings.Join(lines, "\n")
}

func TestParse(t *testing.T) {
	for _, tc := range parseCases(t) {
		t.Run(tc.name, func(t *testing.T) {
			parsed, err := catalog.Parse(tc.raw)
			if want, bad := strings.CutPrefix(tc.want, "=> error: "); bad {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want one that says %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := show(parsed); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			if !bytes.Equal(parsed.Raw, tc.raw) {
				t.Errorf("Raw is %s", parsed.Raw)
			}
		})
	}
}

// A catalog holds megabytes of schemas once, not twice.
func TestParseDoesNotCopySchemas(t *testing.T) {
	raw := []byte(`{"name":"a","inputSchema":{"type":"object"}}`)
	parsed, err := catalog.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, []byte(`{"type"`))
	if &parsed.Schema[0] != &raw[at] {
		t.Error("Schema is a copy")
	}
	if cap(parsed.Schema) != len(parsed.Schema) {
		t.Error("appending to Schema would write into Raw")
	}
}

func FuzzParse(f *testing.F) {
	for _, tc := range parseCases(f) {
		f.Add(tc.raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := catalog.Parse(raw)
		var want map[string]json.RawMessage
		if object := json.Unmarshal(raw, &want); object != nil || want == nil {
			if err == nil {
				t.Fatalf("%q is no object and gave %+v", raw, parsed)
			}
			return
		}
		if err != nil {
			return
		}
		var name string
		if err := json.Unmarshal(want["name"], &name); err != nil || name != parsed.Name {
			t.Errorf("name %q, want %q", parsed.Name, name)
		}
		for key, got := range map[string]json.RawMessage{
			"inputSchema": parsed.Schema, "outputSchema": parsed.Output, "annotations": parsed.Annotations,
		} {
			if value := want[key]; string(value) != string(got) && (got != nil || string(value) != "null") {
				t.Errorf("%s is %s, want %s", key, got, value)
			}
		}
		// Whatever was parsed can be offered, found and searched.
		c := newCatalog(t, catalog.Options{Servers: []string{"s"}})
		if dropped, _ := c.Set("s", []tool.Tool{parsed}); len(dropped) > 0 {
			t.Fatalf("parsed, but dropped: %v", dropped)
		}
		s := c.Snapshot()
		found := s.Tools()[0]
		if back, ok := s.Alias(s.AliasOf(found)); !ok || back != found {
			t.Errorf("the alias %q leads nowhere", s.AliasOf(found))
		}
		s.Search(parsed.Name+" "+parsed.Description, 1)
		s.NearTools(parsed.Title, parsed.Description, 1)
	})
}

// All tools of real servers are read, offered and found again.
func TestRealCatalogs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testenv.Corpus(t, "catalog"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogs: %v", err)
	}
	var servers []string
	lists := make(map[string][]tool.Tool)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var in struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(raw, &in); err != nil {
			t.Fatal(err)
		}
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		servers = append(servers, server)
		for _, raw := range in.Tools {
			lists[server] = append(lists[server], wantParsed(t, server, raw))
		}
	}
	c := newCatalog(t, catalog.Options{Servers: servers})
	total := 0
	for _, server := range servers {
		if dropped, _ := c.Set(server, lists[server]); len(dropped) > 0 {
			t.Errorf("%s: dropped %v", server, dropped)
		}
		total += len(lists[server])
	}
	s := c.Snapshot()
	plain := 0
	for _, found := range s.Tools() {
		alias := s.AliasOf(found)
		if back, ok := s.Alias(alias); !ok || back != found {
			t.Errorf("the alias %q of %s leads to %v", alias, found.ID, back)
		}
		if alias == found.Server+"__"+found.Name {
			plain++
		}
		if near := s.NearTools(found.Server, found.Name+"x", 1); len(near) == 0 {
			t.Errorf("nothing is near %s", found.ID)
		}
	}
	if len(s.Tools()) != total {
		t.Errorf("%d tools are offered, want %d", len(s.Tools()), total)
	}
	t.Logf("%d servers, %d tools, %d with a plain alias", len(servers), total, plain)
}

// wantParsed compares what Parse reads with what encoding/json reads.
func wantParsed(t *testing.T, server string, raw json.RawMessage) tool.Tool {
	t.Helper()
	parsed, err := catalog.Parse(raw)
	if err != nil {
		t.Errorf("%s: %v", server, err)
		return parsed
	}
	var want struct {
		Name, Title, Description               string
		InputSchema, OutputSchema, Annotations json.RawMessage
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if parsed.Name != want.Name || parsed.Title != want.Title || parsed.Description != want.Description ||
		!bytes.Equal(parsed.Schema, want.InputSchema) || !bytes.Equal(parsed.Output, want.OutputSchema) ||
		!bytes.Equal(parsed.Annotations, want.Annotations) {
		t.Errorf("%s/%s is read as\n%s", server, want.Name, show(parsed))
	}
	return parsed
}

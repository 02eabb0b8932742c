package catalog_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// retrievalSets are the sets of a search benchmark, with the recall@5 that a
// lexical search is known to reach there. A value below it fails the test.
var retrievalSets = []struct {
	set, lang string
	recall    float64
}{
	{"real", "en", 0.58},
	{"real", "zh", 0.12},
	{"livemcp", "", 0.29},
	{"stabletoolbench", "", 0.67},
	{"bfcl", "", 0.86},
	{"metatool", "", 0.64},
	{"sealtools", "", 0.88},
	{"metatool-multi", "", 0},
}

type retrievalQuery struct {
	Query    string   `json:"query"`
	Relevant []string `json:"relevant"`
	Match    string   `json:"match"`
	Lang     string   `json:"lang"`
}

func TestRetrieval(t *testing.T) {
	testenv.Corpus(t, "retrieval") // skips where there is none
	for _, c := range retrievalSets {
		t.Run(c.set+c.lang, func(t *testing.T) {
			s, ids := retrievalCatalog(t, testenv.Corpus(t, "retrieval", c.set, "tools.jsonl"))
			var sum float64
			var took time.Duration
			n := 0
			for line := range jsonLines(t, testenv.Corpus(t, "retrieval", c.set, "queries.dev.jsonl")) {
				var q retrievalQuery
				if err := json.Unmarshal(line, &q); err != nil {
					t.Fatal(err)
				}
				if c.lang != "" && q.Lang != c.lang {
					continue
				}
				start := time.Now()
				hits := s.Search(q.Query, 5)
				if n > 0 { // the first one makes the index
					took += time.Since(start)
				}
				sum += recall(hits, q, ids)
				n++
			}
			got := sum / float64(n)
			t.Logf("%-16s %s recall@5 %.3f (%.2f known) over %d searches, %v each", c.set, c.lang, got, c.recall, n, took/time.Duration(n))
			if got < c.recall-0.005 {
				t.Errorf("recall@5 is %.3f, want at least %.2f", got, c.recall)
			}
		})
	}
}

// recall returns the share of the relevant tools among the hits; where any one
// of them will do, 1 or 0.
func recall(hits []catalog.Hit, q retrievalQuery, ids map[tool.ID]string) float64 {
	found := 0
	for _, h := range hits {
		for _, r := range q.Relevant {
			if ids[h.Tool.ID] == r {
				found++
			}
		}
	}
	if q.Match == "any" {
		return float64(min(found, 1))
	}
	return float64(found) / float64(len(q.Relevant))
}

// retrievalCatalog returns the tools of a set, and their IDs in it.
func retrievalCatalog(t *testing.T, path string) (*catalog.Snapshot, map[tool.ID]string) {
	t.Helper()
	var servers []string
	lists := make(map[string][]tool.Tool)
	ids := make(map[tool.ID]string)
	for line := range jsonLines(t, path) {
		var in struct {
			ID          string          `json:"id"`
			Server      string          `json:"server"`
			Name        string          `json:"name"`
			Title       string          `json:"title"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
		}
		if err := json.Unmarshal(line, &in); err != nil {
			t.Fatal(err)
		}
		if in.Server == "" {
			in.Server = "bench"
		}
		raw, err := json.Marshal(map[string]any{"name": in.Name, "title": in.Title, "description": in.Description, "inputSchema": in.Schema})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := catalog.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := lists[in.Server]; !ok {
			servers = append(servers, in.Server)
		}
		lists[in.Server] = append(lists[in.Server], parsed)
		ids[tool.ID{Server: in.Server, Name: in.Name}] = in.ID
	}
	c, err := catalog.New(catalog.Options{Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		dropped, _ := c.Set(server, lists[server])
		for _, d := range dropped {
			t.Logf("left out: %s/%s: %s", server, d.Name, d.Reason)
		}
	}
	return c.Snapshot(), ids
}

// jsonLines yields the lines of a file.
func jsonLines(t *testing.T, path string) func(yield func([]byte) bool) {
	t.Helper()
	return func(yield func([]byte) bool) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if !yield(lines.Bytes()) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

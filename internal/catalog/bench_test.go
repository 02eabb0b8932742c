package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

// A large pool: as many tools as 60 servers and more have, each with as much
// text as the usual one.
const (
	benchServers = 50
	benchTools   = 100 // of each server
)

// vocabulary is what the names and texts of the large pool are made of.
var vocabulary = strings.Fields(`account alert archive attach branch browser bucket build calendar card
channel chart cluster column comment commit contact container currency dashboard database deploy device
directory disk document domain email event export feature file flight folder forecast group host image import
index invoice issue item key label layer list load location log mail map member merge message metric model
monitor network node note order page payment pipeline playlist pod policy price process product project query
queue record region release report repository request review role route rule schedule schema search secret
sensor service session sheet shipment snapshot space stock storage stream table tag task team template test
ticket token topic trace track translate upload user version video view volume weather webhook window workspace`)

// largeList returns the tools of the server with that number.
func largeList(tb testing.TB, server int) []tool.Tool {
	tb.Helper()
	random := rand.New(rand.NewPCG(uint64(server), 1)) // the same list each time
	word := func() string { return vocabulary[random.IntN(len(vocabulary))] }
	tools := make([]tool.Tool, benchTools)
	for i := range tools {
		texts := make([]string, 40)
		for k := range texts {
			texts[k] = word()
		}
		raw, err := json.Marshal(map[string]any{
			"name":        fmt.Sprintf("%s_%s_%d", word(), word(), i),
			"description": strings.Join(texts, " "),
			"inputSchema": map[string]any{
				"type": "object",
				"properties": map[string]any{
					word():         map[string]any{"type": "string", "description": strings.Join(texts[:10], " ")},
					word() + "_id": map[string]any{"type": "integer", "description": strings.Join(texts[10:20], " ")},
					word() + "Max": map[string]any{"type": "number", "maximum": 9007199254740991},
				},
			},
		})
		if err != nil {
			tb.Fatal(err)
		}
		if tools[i], err = catalog.Parse(raw); err != nil {
			tb.Fatal(err)
		}
	}
	return tools
}

// largeCatalog returns the large pool, filled.
func largeCatalog(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	servers := make([]string, benchServers)
	for i := range servers {
		servers[i] = fmt.Sprintf("server-%d", i)
	}
	c, err := catalog.New(catalog.Options{Servers: servers})
	if err != nil {
		tb.Fatal(err)
	}
	for i, name := range servers {
		c.Set(name, largeList(tb, i))
	}
	return c
}

func BenchmarkParse(b *testing.B) {
	raw := largeList(b, 0)[0].Raw
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := catalog.Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// Another list of one server, among 5,000 tools.
func BenchmarkSet(b *testing.B) {
	c := largeCatalog(b)
	lists := [2][]tool.Tool{largeList(b, 1), largeList(b, 2)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, changed := c.Set("server-7", lists[i%2]); !changed {
			b.Fatal("the list did not change")
		}
	}
}

// All lists of 5,000 tools, one after the other.
func BenchmarkSetAll(b *testing.B) {
	lists := make([][]tool.Tool, benchServers)
	servers := make([]string, benchServers)
	for i := range lists {
		lists[i], servers[i] = largeList(b, i), fmt.Sprintf("server-%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := catalog.New(catalog.Options{Servers: servers})
		if err != nil {
			b.Fatal(err)
		}
		for i, name := range servers {
			c.Set(name, lists[i])
		}
	}
}

func BenchmarkFind(b *testing.B) {
	s := largeCatalog(b).Snapshot()
	id := s.Tools()[2500].ID
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.Find(id); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkNearTools(b *testing.B) {
	s := largeCatalog(b).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		s.NearTools("server_7", "listCalendarEvent", 3)
	}
}

// The first search, which reads all texts.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c := largeCatalog(b)
		b.StartTimer()
		c.Snapshot().Search("weather forecast", 5)
	}
}

func BenchmarkSearch(b *testing.B) {
	s := largeCatalog(b).Snapshot()
	s.Search("index", 1) // not the cost of the first one
	b.ReportAllocs()
	for b.Loop() {
		s.Search("show me the deployments of the cluster that have an open alert in this region", 5)
	}
}

package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/schema"
)

const searchSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
	"query":{"type":"string","description":"what to look for","minLength":1},
	"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},
	"unit":{"type":"string","enum":["km","mi"]},
	"tags":{"type":"array","items":{"type":"string"}},
	"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},
	"options":{"type":"object","properties":{"deep":{"type":"boolean"}},"additionalProperties":false}
},"required":["query"],"additionalProperties":false}`

// BenchmarkAccepts is what a call with right arguments pays.
func BenchmarkAccepts(b *testing.B) {
	for _, c := range []struct{ name, args string }{
		{"32 B", `{"query":"tenon joint","limit":5}`},
		{"all", `{"query":"tenon joint","limit":5,"unit":"km","tags":["a","b"],"since":null,"options":{"deep":true}}`},
		{"32 KiB", `{"query":"` + strings.Repeat("a line of text, not more. ", 1311) + `"}`},
		{"32 KiB of code", `{"query":` + quoteJSON(strings.Repeat("if x == \"y\" {\n\treturn\n}\n", 1200)) + `}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := schema.Compile([]byte(searchSchema))
			args := []byte(c.args)
			b.SetBytes(int64(len(args)))
			b.ReportAllocs()
			for b.Loop() {
				if !s.Accepts(args) {
					b.Fatal("not accepted")
				}
			}
		})
	}
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// BenchmarkCheck is what a call pays that is not right at once.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct{ name, args string }{
		{"mended", `{"query":"tenon joint","limit":"5"}`},
		{"invalid", `{"query":"tenon joint","limit":"five"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := schema.Compile([]byte(searchSchema))
			b.ReportAllocs()
			for b.Loop() {
				s.Check([]byte(c.args), true)
			}
		})
	}
}

// BenchmarkCompile is what the first call of a tool pays.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schema.Compile([]byte(searchSchema))
	}
}

// TestAcceptsAllocatesNothing holds what the benchmarks show.
func TestAcceptsAllocatesNothing(t *testing.T) {
	s := schema.Compile([]byte(searchSchema))
	args := []byte(`{"query":"tenon joint","limit":5,"unit":"km","tags":["a","b"],"since":null,"options":{"deep":true}}`)
	if n := testing.AllocsPerRun(100, func() {
		if !s.Accepts(args) {
			t.Fatal("not accepted")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

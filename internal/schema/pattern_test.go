package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// TestPatternsAreBounded: a counted repetition in a schema is a large program, which is
// looked through for each byte of what a caller sends. Beyond what may be done the
// arguments pass unchecked; without the bound each of these takes from ten seconds to
// minutes.
func TestPatternsAreBounded(t *testing.T) {
	var keys, patterns []string
	for i := range 300 {
		patterns = append(patterns, fmt.Sprintf("\"^(a|b%d){1,20}c\":{\"type\":\"string\"}", i))
	}
	for i := range 100_000 {
		keys = append(keys, fmt.Sprintf("\"%sa%d\":1", strings.Repeat("a", 20), i))
	}
	for name, c := range map[string]struct{ schema, args string }{
		"long text":    {`{"properties":{"y":{"type":"string","pattern":"[a-z ]{1,500}!"}}}`, `{"y":"` + strings.Repeat("a", 7<<20) + `"}`},
		"nested":       {`{"properties":{"y":{"type":"string","pattern":"((a{1,30}){1,30}){1,1}$"}}}`, `{"y":"` + strings.Repeat("a", 5<<20) + `b"}`},
		"many texts":   {`{"properties":{"y":{"type":"array","items":{"type":"string","pattern":"[a-z ]{1,500}!"}}}}`, `{"y":["` + strings.Repeat(strings.Repeat("a", 60)+`","`, 100_000) + `"]}`},
		"many names":   {`{"patternProperties":{` + strings.Join(patterns, ",") + `}}`, `{` + strings.Join(keys, ",") + `}`},
		"long name":    {`{"patternProperties":{"[a-z ]{1,500}!":{"type":"string"}},"additionalProperties":false}`, `{"` + strings.Repeat("a", 7<<20) + `":1}`},
		"alternatives": {`{"anyOf":[{"properties":{"y":{"type":"string","pattern":"[a-z ]{1,500}!"}}},{"properties":{"y":{"type":"string","pattern":"[a-z ]{1,501}!"}}}]}`, `{"y":"` + strings.Repeat("a", 3<<20) + `"}`},
	} {
		s := schema.Compile([]byte(c.schema))
		start := time.Now()
		s.Check([]byte(c.args), true)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s took %v", name, took)
		}
	}
}

// TestPatternsOfLongTexts: what is simple is checked in long texts too.
func TestPatternsOfLongTexts(t *testing.T) {
	s := schema.Compile([]byte(`{"properties":{"y":{"type":"string","pattern":"^[a-z]+$"}}}`))
	for end, want := range map[string]bool{"": true, "1": false} {
		out := s.Check([]byte(`{"y":"`+strings.Repeat("a", 1<<20)+end+`"}`), false)
		if (out.Problem == "") != want {
			t.Errorf("ends with %q: %q", end, out.Problem)
		}
	}
}

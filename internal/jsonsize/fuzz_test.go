package jsonsize_test

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonsize"
)

// FuzzGauge counts the same whatever the pieces are, and what a decoder counts.
func FuzzGauge(f *testing.F) {
	f.Add([]byte(`{"a":[{},{}],"b\"":[1,[],"x,]"]}`), 5)
	f.Add([]byte(`[[[`), 1)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		at = min(max(at, 0), len(text))
		var whole, pieces jsonsize.Gauge
		whole.Add(text)
		pieces.Add(text[:at])
		pieces.Add(text[at:])
		if whole.Elements != pieces.Elements || whole.Members != pieces.Members {
			t.Fatalf("%d and %d as a whole, %d and %d in pieces", whole.Elements, whole.Members, pieces.Elements, pieces.Members)
		}
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		elements, members := count(v)
		if whole.Elements != elements || whole.Members < members { // a name may stand twice
			t.Fatalf("%d elements and %d members of %d and %d", whole.Elements, whole.Members, elements, members)
		}
	})
}

func count(v any) (elements, members int) {
	add := func(v any) {
		e, m := count(v)
		elements, members = elements+e, members+m
	}
	switch v := v.(type) {
	case []any:
		elements += len(v)
		for _, x := range v {
			add(x)
		}
	case map[string]any:
		members += len(v)
		for _, x := range v {
			add(x)
		}
	}
	return elements, members
}

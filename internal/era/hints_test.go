package era

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// TestHints: what a result says counts, and what says nothing, or nothing that can be read,
// is stale at once and private.
func TestHints(t *testing.T) {
	for text, want := range map[string]Hints{
		`{"ttlMs":5000,"cacheScope":"public","tools":[]}`:  {5000, true},
		`{"tools":[],"cacheScope":"private","ttlMs":1}`:    {1, false},
		`{"ttlMs":0,"cacheScope":"public"}`:                {0, true},
		`{"tools":[]}`:                                     {},
		`{"ttlMs":-5,"cacheScope":"everybody"}`:            {},
		`{"ttlMs":"7","cacheScope":true}`:                  {},
		`{"ttlMs":1.5}`:                                    {},
		`{"ttlMs":9,"ttlMs":8,"cacheScope":"public"}`:      {},
		`{"ttlMs":123456789012345678901,"cacheScope":"x"}`: {},
		`[`: {},
	} {
		if got := HintsOf(tool.OneOf([]byte(text))); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	public, private := Hints{500, true}, Hints{900, false}
	if got := public.And(private); got != (Hints{500, false}) || private.And(public) != got || public.And(Hints{600, true}) != (Hints{500, true}) {
		t.Errorf("together: %+v", got)
	}
	for _, h := range []Hints{public, private, {}} {
		raw, err := jsonrpc.Edit([]byte(`{"a":1}`), h.Fields()...)
		if err != nil || HintsOf(tool.OneOf(raw)) != h {
			t.Errorf("%+v is written as %s: %v", h, raw, err)
		}
	}
}

// TestPrivate: only the scope changes, and only where it has to.
func TestPrivate(t *testing.T) {
	for text, want := range map[string]string{
		`{"ttlMs":5, "cacheScope" : "public","tools":[1]}`: `{"ttlMs":5, "cacheScope" : "private","tools":[1]}`,
		`{"cacheScope":"private"}`:                         `{"cacheScope":"private"}`,
		`{"tools":[]}`:                                     `{"tools":[]}`,
		`{"a":{"cacheScope":"public"}}`:                    `{"a":{"cacheScope":"public"}}`,
	} {
		half := len(text) / 2
		if got := Private(tool.Bytes{[]byte(text[:half]), []byte(text[half:])}); string(got.Join()) != want {
			t.Errorf("%s: %s, want %s", text, got.Join(), want)
		}
	}
}

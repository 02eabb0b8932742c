package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arguments makes arguments of few names and values, so that many are alike.
func arguments(r *rand.Rand) map[string]any {
	out := map[string]any{}
	values := []any{"a", "ab", "b/c", "*", 1, 1.5, true, nil, []any{1}, map[string]any{"x": "a"}}
	for range r.IntN(4) {
		out[string(rune('p'+r.IntN(3)))] = values[r.IntN(len(values))]
	}
	return out
}

// A pattern never allows what differs from what was asked for in an argument that it
// does not name, or that it does not match.
func TestPatternsAreNeverWider(t *testing.T) {
	globs := []string{"*", "a*", "?", "a[b]", "*/*", "a", `\*`, "1*", "true"}
	synctest.Test(t, func(t *testing.T) {
		passed := 0
		for seed := range uint64(300) {
			r := rand.New(rand.NewPCG(seed, 1))
			d := open(t, new(approval.Memory))
			asked := arguments(r)
			got := d.later(t.Context(), ask(string(encode(t, asked))))
			p := d.pending()
			pattern := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(asked)) {
				if r.IntN(2) == 0 {
					pattern[name] = globs[r.IntN(len(globs))]
				}
			}
			if _, err := d.Decide(t.Context(), p.ID, tool.Verdict{Approved: true, Scope: tool.ScopePattern, Pattern: encode(t, pattern)}); err != nil {
				d.decide(p.ID, tool.Verdict{})
			}
			<-got
			for range 50 {
				other := arguments(r)
				if r.IntN(4) > 0 { // most are nearly what was asked for
					near := maps.Clone(asked)
					for name, value := range other {
						if r.IntN(3) == 0 {
							near[name] = value
						}
					}
					other = near
				}
				q := ask(string(encode(t, other)))
				if _, ok := d.Granted(&q); !ok {
					continue
				}
				passed++
				if !slices.Equal(slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(other))) {
					t.Fatalf("%v was asked for, %v passes", asked, other)
				}
				for name, value := range other {
					g, named := pattern[name]
					text, isText := value.(string)
					if !isText {
						text = string(encode(t, value))
					}
					if !named && !reflect.DeepEqual(value, asked[name]) || named && !matches(g, text) {
						t.Fatalf("%v was asked for, %v allowed, %v passes", asked, pattern, other)
					}
				}
			}
			_ = d.Close()
		}
		if passed < 100 {
			t.Errorf("only %d calls passed", passed)
		}
	})
}

// matches is what the patterns above mean, told otherwise.
func matches(g, text string) bool {
	ok, err := path.Match(strings.ReplaceAll(g, "[", `\[`), text)
	return ok && err == nil
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever arguments and patterns are, nothing panics, and nothing passes that is not
// an object.
func FuzzPattern(f *testing.F) {
	f.Add(`{"a":"x"}`, `{"a":"*"}`, `{"a":"y"}`)
	f.Add(`{"a":"x","a":"y"}`, `{"a":"["}`, `[`)
	f.Add(`{"a":{"b":1}}`, `{"a":"*"}`, `{"a":{"b":2}}`)
	f.Fuzz(func(t *testing.T, asked, pattern, other string) {
		d := open(t, new(approval.Memory))
		q := ask(asked)
		q.Person = person(func(_ context.Context, a tool.Approval) (tool.Verdict, error) {
			if !json.Valid(a.Arguments) {
				t.Errorf("shown as %s", a.Arguments)
			}
			if _, err := d.Decide(t.Context(), a.ID, tool.Verdict{Approved: true, Scope: tool.ScopePattern, Pattern: []byte(pattern)}); err != nil {
				return tool.Verdict{}, nil
			}
			return tool.Verdict{}, fmt.Errorf("decided")
		})
		if _, err := d.Ask(t.Context(), q); err != nil {
			return
		}
		call := ask(other)
		if _, ok := d.Granted(&call); ok && (!json.Valid([]byte(other)) || approval.HashOf([]byte(other)) == "") {
			t.Errorf("%s passes", other)
		}
	})
}

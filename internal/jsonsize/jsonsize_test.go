package jsonsize_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonsize"
)

func TestGauge(t *testing.T) {
	for text, want := range map[string][2]int{
		`{}`: {0, 0}, `[]`: {0, 0}, `[1]`: {1, 0}, `[{},{}, {}]`: {3, 0}, `{"a":[1,[2,3]],"b":{}}`: {4, 2},
		`["a,\",]b",[ ]]`: {2, 0}, `]]],`: {0, 3}, `"`: {0, 0}, ``: {0, 0},
	} {
		var g jsonsize.Gauge
		for i := range len(text) { // in pieces
			g.Add([]byte(text[i : i+1]))
		}
		if g.Elements != want[0] || g.Members != want[1] {
			t.Errorf("%s: %d elements, %d members, want %v", text, g.Elements, g.Members, want)
		}
	}
}

func TestOver(t *testing.T) {
	list := "[" + strings.Repeat("{},", 99) + "{}]"
	if jsonsize.Over([]byte(list), 100) || !jsonsize.Over([]byte(list), 99) {
		t.Error("100 elements are counted wrongly")
	}
	if !jsonsize.Over([]byte(`{`+strings.Repeat(`"a":1,`, 101)+`"b":1}`), 10) {
		t.Error("102 members are not over 100")
	}
}

package call_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

// TestBesideTheContent: what a result has beside its content is bounded too, whatever its
// name; what is Tenon's in it stays, and the whole can be read.
func TestBesideTheContent(t *testing.T) {
	const limit = 5000
	long := `"` + strings.Repeat("x", limit) + `"`
	for name, c := range map[string]struct{ raw, want string }{
		"_meta": {
			`{"content":[` + textOf("hi") + `],"_meta":{"a":` + long + `,"tenon/untrusted":true,"b":1}}`,
			`{"content":[` + textOf("hi") + `],"_meta":{"tenon/untrusted":true}}`,
		},
		"_meta by another spelling": {
			`{"content":[],"\u005fmeta":{"a":` + long + `}}`,
			`{"content":[]}`,
		},
		"a member that nobody knows": {
			`{"x":` + long + `,"content":[],"_meta":{"a":1},"isError":false,"resultType":"complete"}`,
			`{"content":[],"isError":false,"resultType":"complete","_meta":{"a":1}}`,
		},
		"many of them": {
			`{"content":[]` + strings.Repeat(`,"x":1`, limit) + `}`,
			`{"content":[]}`,
		},
		"within": {
			`{"x":1,"content":[` + strings.Repeat(`{"type":"image","mimeType":"image/png","data":"AAAA"},`, 100) + textOf("y") + `],"_meta":{"a":1}}`, "",
		},
	} {
		res, k := shaped(t, tool.OneOf([]byte(c.raw)), limit, "")
		got := string(res.Raw.Join())
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: no JSON: %.300s", name, got)
		}
		if c.want == "" {
			if got != c.raw || len(res.Notes) > 0 {
				t.Errorf("%s: changed to %.300s, notes %v", name, got, res.Notes)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: got %.300s, want %s", name, got, c.want)
		}
		if len(k.bodies) != 1 || k.bodies[0] != c.raw || res.Handle == nil || !res.Truncated {
			t.Errorf("%s: kept %d bodies, handle %v", name, len(k.bodies), res.Handle)
		}
		if len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "beside the content") || !strings.Contains(res.Notes[0].Text, "h_1") {
			t.Errorf("%s: notes %v", name, res.Notes)
		}
	}
}

// TestBesideACutText: both are cut where both are too long, and a tool without a limit has
// neither.
func TestBesideACutText(t *testing.T) {
	long := strings.Repeat("y", 9000)
	raw := tool.OneOf([]byte(`{"content":[` + textOf(long) + `],"structuredContent":{"z":"` + long + `"},"_meta":{"a":"` + long + `"}}`))
	res, k := shaped(t, raw, 5000, "")
	if n := res.Raw.Len(); n > 11_000 || strings.Contains(string(res.Raw.Join()), `"_meta"`) || len(k.bodies) != 3 || k.bodies[2] != string(raw.Join()) {
		t.Errorf("%d bytes are left, %d kept", n, len(k.bodies))
	}
	if res, _ := shaped(t, raw, 0, ""); res.Raw.Len() != raw.Len() {
		t.Errorf("without a limit %d bytes of %d are left", res.Raw.Len(), raw.Len())
	}
}

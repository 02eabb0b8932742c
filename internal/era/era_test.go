package era_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

func TestOf(t *testing.T) {
	for version, want := range map[string]era.Era{
		"": era.Legacy, "2024-11-05": era.Legacy, "2025-11-25": era.Legacy,
		"2026-07-28": era.Modern, "2027-01-01": era.Modern, "DRAFT-2026-v1": era.Legacy,
	} {
		if got := era.Of(version); got != want {
			t.Errorf("Of(%q) = %s, want %s", version, got, want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"": "2025-11-25", "1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25",
	} {
		if got := era.Negotiate(asked); got != want {
			t.Errorf("Negotiate(%q) = %s, want %s", asked, got, want)
		}
	}
}

func TestClientMetaIsWhatMetaOfReads(t *testing.T) {
	params, err := jsonrpc.EditMeta([]byte(`{"name":"x"}`), era.ClientMeta("tenon \"q\"", "1")...)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(params.Join()) {
		t.Fatalf("not JSON: %s", params.Join())
	}
	if got := era.MetaOf(params); got.Version != era.ModernFirst || got.Capabilities == nil {
		t.Errorf("got %+v from %s", got, params.Join())
	}
	for _, odd := range []string{``, `{}`, `[]`, `{"_meta":1}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`} {
		if got := era.MetaOf(tool.OneOf([]byte(odd))); got.Version != "" || got.Capabilities != nil {
			t.Errorf("MetaOf(%s) = %+v", odd, got)
		}
	}
}

func TestComplete(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":[]}`:               `{"resultType":"complete","content":[]}`,
		`{}`:                           `{"resultType":"complete"}`,
		`{"resultType":"task","x":1}`:  `{"resultType":"task","x":1}`,
		` { "n" : 9007199254740993 } `: `{"resultType":"complete", "n" : 9007199254740993 }`,
	} {
		if got := strings.TrimSpace(string(era.Complete(tool.OneOf([]byte(in))).Join())); got != want {
			t.Errorf("Complete(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestSupports(t *testing.T) {
	for in, want := range map[string]bool{
		`{"supportedVersions":["2026-07-28"]}`: true, `{"supportedVersions":["2027-01-01","2026-07-28"]}`: true,
		`{"supportedVersions":["2027-01-01"]}`: false, `{}`: false, `7`: false,
	} {
		if got := era.Supports([]byte(in)); got != want {
			t.Errorf("Supports(%s) = %v", in, got)
		}
	}
	if !era.IsModernError(&jsonrpc.Error{Code: -32022}) || era.IsModernError(&jsonrpc.Error{Code: -32601}) {
		t.Error("IsModernError mixes up the eras")
	}
}

func TestStripped(t *testing.T) {
	own := `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	caps := `"io.modelcontextprotocol/clientCapabilities": {"a":[1,2]}`
	for in, want := range map[string]string{
		`{"a":1}`:                 `{"a":1}`,
		`{"_meta":{` + own + `}}`: `{"_meta":{}}`,
		`{"_meta":{` + own + `,` + caps + `},"n":9007199254740993}`: `{"_meta":{},"n":9007199254740993}`,
		`{"_meta":{ "x" : 1 , ` + own + ` , "y":2,` + caps + ` } }`: `{"_meta":{ "x" : 1 ,  "y":2 } }`,
		`{"_meta":{` + caps + `,"x":1,` + own + `}}`:                `{"_meta":{"x":1}}`,
		`{"_meta":7}`: `{"_meta":7}`,
	} {
		if got := string(era.Stripped([]byte(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

package jsonrpc_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// TestReadAnswer: it is the same in whichever pieces a result comes, and takes a name of
// the protocol for one only where it is.
func TestReadAnswer(t *testing.T) {
	for in, want := range map[string]struct{ ok, own bool }{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"_meta":{"x":{"tenon/a":1}}}`: {ok: true},
		`{"content":[{"type":"text","text":"a","te\u0078t":"b"}]}`:                                        {},
		`{"content":[{"type":"resource","resource":{"text":"a"}},{"resource":{"text":"b"}}]}`:             {ok: true},
		`{"content":[{"resource":{"uri":"a","blob":"b","BLOB":"c"}}]}`:                                    {},
		`{"content":[{"other":{"text":"a","text":"c"}},[{"text":1,"Text":2}]]}`:                           {ok: true},
		`{"content":[[{"text":1,"Text":2}]],"more":[{"text":1,"text":2}]}`:                                {ok: true},
		`{"content":[],"_meta":{"a":1,"\u0054eNon\/x":1}}`:                                                {ok: true, own: true},
		`{"content":[],"_meta":{"a":"tenon/x","tenon":1,"tenonx/":1,"t\/enon/":1}}`:                       {ok: true},
		`{"content":[{"_meta":{"tenon/x":1}}]}`:                                                           {ok: true},
	} {
		for cut := range len(in) {
			a, err := jsonrpc.ReadAnswer(tool.Bytes{[]byte(in[:cut]), []byte(in[cut:])})
			if (err == nil) != want.ok || err == nil && a.Own != want.own {
				t.Fatalf("%s, cut at %d: %+v %v", in, cut, a, err)
			}
		}
	}
}

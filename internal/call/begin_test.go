package call_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// A call of a tool that may write is written down before it is sent, once, and not
// sent where that fails. One that only reads pays nothing.
func TestBegin(t *testing.T) {
	run := func(meta tool.Meta, begin func(context.Context, *call.Request) error) (func(), *[]string) {
		var did []string
		c := call.New(call.Options{
			Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: meta}}},
			Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				did = append(did, "send")
				if len(did) < 3 {
					return nil, &tool.Error{Kind: tool.Unavailable, Text: "Not yet."}
				}
				return text("x"), nil
			},
			Begin: begin, NewID: func() string { return "c_1" },
			Record: func(*call.Request, *tool.Result) { did = append(did, "record") },
			Retry:  call.Retry{Delay: 1},
		})
		return func() { c(t.Context(), tool.Call{Server: "s", Tool: "t"}) }, &did
	}
	var did *[]string
	note := func(context.Context, *call.Request) error { *did = append(*did, "begin"); return nil }
	for name, tt := range map[string]struct {
		meta  tool.Meta
		begin func(context.Context, *call.Request) error
		want  []string
	}{
		"a write":               {tool.Meta{}, note, []string{"begin", "send", "send", "record"}},
		"a read":                {tool.Meta{ReadOnly: true}, note, []string{"send", "send", "send", "record"}},
		"one that must not run": {tool.Meta{}, func(context.Context, *call.Request) error { return errors.New("no") }, []string{"record"}},
	} {
		var do func()
		do, did = run(tt.meta, tt.begin)
		do()
		if got := *did; len(got) != len(tt.want) || got[0] != tt.want[0] || got[len(got)-1] != "record" {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	allocs := func(begin func(context.Context, *call.Request) error) float64 {
		do, _ := run(tool.Meta{ReadOnly: true}, begin)
		return testing.AllocsPerRun(200, do)
	}
	var without, with float64
	for range 5 { // what else runs may allocate once in a while
		if without, with = allocs(nil), allocs(note); with <= without {
			return
		}
	}
	t.Errorf("a read costs %v allocations, and without the record %v", with, without)
}

package ledger_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/internal/ledger"
	"github.com/tenon-mcp/tenon/tool"
)

// TestRun: a key answers with a copy of what was kept, and is free where nothing
// was.
func TestRun(t *testing.T) {
	var l ledger.Ledger
	key := ledger.Key{Caller: "c", Session: "s", Tool: tool.ID{Server: "x", Name: "y"}, Text: "k"}
	runs := 0
	run := func(id, args string, keep bool) (*tool.Result, *ledger.Earlier, error) {
		return l.Run(t.Context(), key, json.RawMessage(args), id, func() (*tool.Result, *tool.Result) {
			runs++
			res := &tool.Result{Raw: tool.Bytes{[]byte(`{"a":`), []byte(`1}`)}}
			if !keep {
				return res, nil
			}
			return res, res
		})
	}
	if _, _, err := run("c_1", `{"a":1,"b":[]}`, false); err != nil || l.Has(key) {
		t.Fatal("a call that is not kept keeps its key:", err)
	}
	if _, before, err := run("c_2", `{"a":1,"b":[]}`, true); err != nil || before != nil || !l.Has(key) {
		t.Fatal(before, err)
	}
	first, before, err := run("c_3", ` {"b":[], "a":1}`, true)
	if err != nil || before == nil || before.ID != "c_2" || before.Ended.IsZero() || string(first.Raw.Join()) != `{"a":1}` || runs != 2 {
		t.Fatal(first, before, err, runs)
	}
	first.Raw, first.Message = nil, "changed"
	if again, _, _ := run("c_4", `{"a":1,"b":[]}`, true); string(again.Raw.Join()) != `{"a":1}` || again.Message != "" {
		t.Errorf("what was kept has changed: %+v", again)
	}
	_, _, err = run("c_5", `{"a":2,"b":[]}`, true)
	if e, ok := errors.AsType[*ledger.InUseError](err); !ok || e.ID != "c_2" {
		t.Error(err)
	}
	for _, args := range []string{`{`, `[]`, `{} {}`, `7`} {
		if _, _, err := run("c_6", args, true); err == nil {
			t.Errorf("%s ran", args)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`), []byte(` {"a" : [1,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var l ledger.Ledger
		once := func(args []byte) (runs int, err error) {
			_, _, err = l.Run(t.Context(), ledger.Key{}, args, "id", func() (*tool.Result, *tool.Result) {
				runs++
				return &tool.Result{}, &tool.Result{}
			})
			return runs, err
		}
		if n, err := once(a); (n == 1) != (err == nil) {
			t.Fatalf("%d runs, %v", n, err)
		} else if err != nil {
			return
		}
		if n, err := once(a); n != 0 || err != nil {
			t.Errorf("the same arguments: %d runs, %v", n, err)
		}
		if n, _ := once(b); n != 0 {
			t.Error("other arguments ran")
		}
	})
}

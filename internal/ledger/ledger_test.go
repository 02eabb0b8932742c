package ledger_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
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

// TestNobodyMakesItForget: a caller who fills the ledger, with calls or with long
// results, pushes out their own calls alone.
func TestNobodyMakesItForget(t *testing.T) {
	run := func(l *ledger.Ledger, caller, key, text string) (ran bool, res *tool.Result) {
		res, before, err := l.Run(t.Context(), ledger.Key{Caller: caller, Text: key}, nil, "c_"+key, func() (res, keep *tool.Result) {
			res = &tool.Result{Message: text}
			return res, res
		})
		if err != nil {
			t.Fatal(err)
		}
		return before == nil, res
	}
	for name, text := range map[string]string{"calls": "", "bytes": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			l := new(ledger.Ledger)
			run(l, "alice", "pay", "paid")
			n := 12_000
			if text != "" {
				n = 100
			}
			for i := range n {
				run(l, "mallory", strconv.Itoa(i), text)
			}
			if ran, res := run(l, "alice", "pay", "paid twice"); ran || res.Text() != "paid" {
				t.Errorf("it ran again: %v, %s", ran, res.Text())
			}
			if text == "" {
				if ran, _ := run(l, "mallory", "0", ""); !ran {
					t.Error("calls without end are kept")
				}
				return
			}
			// Of their own calls the results are gone, and not that they ran.
			if ran, res := run(l, "mallory", "0", text); ran || len(res.Text()) > 1000 || !strings.Contains(res.Text(), "was carried out") {
				t.Errorf("ran %v: %.80s", ran, res.Text())
			}
			if ran, res := run(l, "mallory", "99", text); ran || len(res.Text()) != 1<<20 {
				t.Errorf("ran %v: %.80s", ran, res.Text())
			}
		})
	}
}

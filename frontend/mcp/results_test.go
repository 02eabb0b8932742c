package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// answered is a CallToolResult as the tests read it.
type answered struct {
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Handle struct {
				ID   string
				Size int
				Kind string
			} `json:"tenon/handle"`
			Kind string `json:"tenon/error_kind"`
		} `json:"_meta"`
	}
}

func TestLongResults(t *testing.T) {
	_, url := front(t, good, "tools: {\"one/big\": {max_result_chars: 500}, \"two/echo\": {max_result_chars: 0}}\n")
	id := session(t, url)
	call := func(name, args string) (out answered) {
		t.Helper()
		_, body, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`}}`, "Mcp-Session-Id", id)
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return out
	}
	cut := call("one__big", `{"size":5000}`).Result
	if len(cut.Content) != 3 || !strings.HasPrefix(cut.Content[0].Text, "[cut from 4992 to 496 characters") || len(cut.Content[1].Text) > 500 {
		t.Fatalf("%+v", cut)
	}
	h := cut.Meta.Handle
	if !strings.HasPrefix(h.ID, "h_") || h.Size != 4992 || h.Kind != "text" || !strings.Contains(cut.Content[2].Text, `tenon_read_result {"id": "`+h.ID+`"`) {
		t.Fatalf("handle %+v", h)
	}
	rest := call("tenon_read_result", `{"id":"`+h.ID+`","offset":4000,"limit":100}`).Result
	if len(rest.Content) != 1 || !strings.HasPrefix(rest.Content[0].Text, "0123456789abcde\n") || !strings.HasSuffix(rest.Content[0].Text, "[characters 4000 to 4100 of 4992; read on with offset 4100]") {
		t.Errorf("%+v", rest)
	}
	found := call("tenon_read_result", `{"id":"`+h.ID+`","grep":"^0123456789abcde$","limit":200}`).Result
	if !strings.HasPrefix(found.Content[0].Text, "1@0: 0123456789abcde\n2@16: ") || !strings.Contains(found.Content[0].Text, "read on with offset") {
		t.Errorf("%+v", found)
	}
	passed := call("two__echo", `{"n":[{"$handle":"`+h.ID+`"}]}`).Result
	if len(passed.Content) != 1 || !strings.HasPrefix(passed.Content[0].Text, `{"n":["0123456789abcde\n0123`) || len(passed.Content[0].Text) < 4992 {
		t.Errorf("%.200s", passed.Content)
	}
	for args, want := range map[string]string{
		`{"id":"h_nope"}`:                       "not_found",
		`{"id":"` + h.ID + `","jq":"."}`:        "invalid",
		`{"id":"` + h.ID + `","colour":"red"}`:  "invalid",
		`{"id":"` + h.ID + `","limit":1000000}`: "invalid",
	} {
		if res := call("tenon_read_result", args).Result; !res.IsError || res.Meta.Kind != want {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

// TestLongResultsPassByHandle: 31 MB go from one server to another without their
// client.
func TestLongResultsPassByHandle(t *testing.T) { passByHandle(t, 3_100_000) }

// TestHugeResultsPassByHandle is the same of what is nearly as long as a message may be.
func TestHugeResultsPassByHandle(t *testing.T) {
	testenv.Long(t)
	passByHandle(t, 31_000_000)
}

func passByHandle(t *testing.T, size int) {
	t.Helper()
	_, url := front(t, good, "tools: {\"*/*\": {max_result_chars: 500}}\n")
	id := session(t, url)
	call := func(name, args string) (out answered) {
		t.Helper()
		_, body, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`}}`, "Mcp-Session-Id", id)
		if err := json.Unmarshal([]byte(body), &out); err != nil || len(body) > 2000 {
			t.Fatalf("%v: %.2000s", err, body)
		}
		return out
	}
	first := call("one__big", fmt.Sprintf(`{"size":%d}`, size)).Result.Meta.Handle
	second := call("two__echo", `{"n":{"$handle":"`+first.ID+`"}}`).Result.Meta.Handle
	// As JSON, each line end is one more, and so are the name, the quotes and brackets.
	if want := size + size/16 + len(`{"n":""}`); first.Size != size || second.Size != want || second.Kind != "json" {
		t.Fatalf("first %+v, second %+v, want %d bytes", first, second, want)
	}
	end := call("tenon_read_result", fmt.Sprintf(`{"id":%q,"offset":%d}`, second.ID, second.Size-10)).Result
	if text := end.Content[0].Text; !strings.HasPrefix(text, `9abcde\n"}`+"\n") {
		t.Errorf("the end is %q", text)
	}
}

// TestNoReaderWhereNothingIsCut: a pool without limits offers nothing of its own.
func TestNoReaderWhereNothingIsCut(t *testing.T) {
	for more, want := range map[string]bool{"": true, "tools: {\"*/*\": {max_result_chars: 0}}\n": false} {
		_, url := front(t, good, more)
		id := session(t, url)
		list := func() string {
			_, body, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", id)
			return body
		}
		if first := list(); strings.Contains(first, "tenon_read_result") != want || list() != first {
			t.Errorf("with %q: %.300s", more, first)
		}
	}
}

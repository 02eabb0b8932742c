package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

// TestArgumentsAreMended: what was mended is in the notes, and what cannot be is
// an error with its path. Both are answers to a call, so the status is 200.
func TestArgumentsAreMended(t *testing.T) {
	srv := serve(t, pool(t))
	call := func(args string) *tool.Result {
		status, body := do(t, srv, http.MethodPost, "/api/v1/calls", `{"server":"words","tool":"echo","arguments":`+args+`}`)
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, body)
		}
		var res tool.Result
		if err := json.Unmarshal(body, &res); err != nil {
			t.Fatal(err)
		}
		return &res
	}
	res := call(`{"zeta":"5","alpha":"x"}`)
	if res.Kind != "" || string(res.Structured()) != `{"zeta":5,"alpha":"x"}` {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	if len(res.Notes) != 1 || res.Notes[0].Stage != "repair" || !strings.Contains(res.Notes[0].Text, `/zeta: the text "5"`) {
		t.Errorf("notes %v", res.Notes)
	}
	res = call(`{"zeta":"five"}`)
	if res.Kind != tool.Invalid || !strings.Contains(res.Text(), `/zeta: expected an integer; got the string "five"`) {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
}

package call_test

import (
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// TestRefusedCallIsKept: a call that is not carried out at all has an id and a
// record like any other.
func TestRefusedCallIsKept(t *testing.T) {
	var kept *tool.Result
	refuse := call.Refuser(call.Options{
		Record: func(_ *call.Request, res *tool.Result) { kept = res },
		NewID:  func() string { return "id" },
	})
	note, cause := tool.Note{Stage: "batch", Text: "too many"}, errors.New("cause")
	res := refuse(t.Context(), tool.Call{Server: "s", Tool: "t"}, &tool.Error{Kind: tool.Denied, Text: "not run", Err: cause}, note)
	if res.ID != "id" || res.Server != "s" || res.Tool != "t" || res.Kind != tool.Denied || res.Text() != "not run." ||
		len(res.Notes) != 1 || res.Notes[0] != note || !errors.Is(res.Err, cause) || res.Attempts != 0 {
		t.Errorf("got %+v", res)
	}
	if kept != res {
		t.Errorf("kept %+v", kept)
	}
}

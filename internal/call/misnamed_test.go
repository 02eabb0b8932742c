package call_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// downShelf is a catalog of a server that cannot be had.
type downShelf struct {
	shelf
	why error
}

func (*downShelf) HasServer(string) bool                 { return true }
func (*downShelf) Declaration(string) string             { return "" }
func (s *downShelf) Await(context.Context, string) error { return s.why }

func misnamed(t *testing.T, c call.Catalog, server, name string) *tool.Result {
	t.Helper()
	run := call.New(call.Options{
		Catalog: c, NewID: func() string { return "c_1" }, Record: func(*call.Request, *tool.Result) {},
		Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			t.Error("it was sent")
			return nil, errors.New("sent")
		},
	})
	return run(t.Context(), tool.Call{Server: server, Tool: name})
}

// TestAFailedServerSaysWhen: the answer for a server that failed says when it is started
// again, where that is known.
func TestAFailedServerSaysWhen(t *testing.T) {
	soon := misnamed(t, &downShelf{why: heldError{time.Now().Add(time.Hour)}}, "s", "t")
	if soon.Kind != tool.Unavailable || !strings.HasSuffix(soon.Text(), " s, when it is started again.") {
		t.Errorf("%q: %s", soon.Kind, soon.Text())
	}
	for _, why := range []error{heldError{time.Now().Add(-time.Hour)}, errors.New("broken")} {
		if res := misnamed(t, &downShelf{why: why}, "s", "t"); !strings.HasSuffix(res.Text(), "try again later.") {
			t.Error(res.Text())
		}
	}
}

// TestMixedUp: where server and tool have changed places, the answer names the tool that is
// meant, and no tool that the caller must not see.
func TestMixedUp(t *testing.T) {
	s := &shelf{tools: []tool.Tool{
		{ID: tool.ID{Server: "everything", Name: "get-sum"}},
		{ID: tool.ID{Server: "everything", Name: "hidden"}},
		{ID: tool.ID{Server: "other", Name: "echo"}},
	}, black: tool.ID{Server: "everything", Name: "hidden"}}
	for _, c := range []struct{ server, tool, want string }{
		{"get-sum", "everything", "There is no server get-sum. Server and tool are mixed up. The nearest tools are: everything/get-sum."},
		{"echo", "everything", "There is no server echo. Server and tool are mixed up. The nearest tools are: other/echo."},
		{"python", "run", "There is no server python. It comes with Tenon."},
		{"nothing", "everything", "There is no server nothing. Server and tool may have been mixed up: check both names against the list of tools."},
	} {
		if res := misnamed(t, s, c.server, c.tool); res.Kind != tool.NotFound || res.Text() != c.want {
			t.Errorf("%s/%s: %q: %s", c.server, c.tool, res.Kind, res.Text())
		}
	}
	if res := misnamed(t, s, "hidden", "everything"); strings.Contains(res.Text(), "everything/hidden") {
		t.Error(res.Text())
	}
}

package tenon

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/ends"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// TestTimeToEnd: a bundled server in a process of its own is not killed while it gives back
// what it holds elsewhere.
func TestTimeToEnd(t *testing.T) {
	g := &Gateway{o: Options{
		Executable: []string{"tenon", "server"},
		Bundled: []Bundled{{Name: "plain", New: func(json.RawMessage, tool.Place) (*mcp.Server, error) {
			return mcp.NewServer(&mcp.Implementation{Name: "plain", Version: "1"}, nil), nil
		}}},
	}}
	g.closing = t.Context()
	var o upstream.Options
	if err := (maker{g, nil}).bundled(&o, &config.Server{Bundled: "plain"}, &member{}); err != nil {
		t.Fatal(err)
	}
	if o.Command.StdinGrace < 0 || o.Command.TermGrace < ends.Limit {
		t.Errorf("it has %s, then %s; its end may take %s", o.Command.StdinGrace, o.Command.TermGrace, ends.Limit)
	}
}

package upstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// TestStartThatIsOver: where the time of a start ends between its two questions, that is
// what is told, and neither the answer to the first nor that it had come.
func TestStartThatIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(notReady(time.Second))
	for name, answer := range map[string]error{
		"an answer of another era": nil, "a refusal": jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found"),
	} {
		_, _, err := new(dialer).discovered(ctx, nil, opening{}, tool.OneOf([]byte("{}")), answer)
		if err == nil || !strings.Contains(err.Error(), "not ready within 1s") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

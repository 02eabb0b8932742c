package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAStreamBeginsWithItsAcknowledgement: what a legacy server says while it is subscribed
// to does not come before the acknowledgement, and what was not asked for, such as a log,
// does not come at all.
func TestAStreamBeginsWithItsAcknowledgement(t *testing.T) {
	u := newUpstream(t, "u", legacyOnly)
	u.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if session, ok := r.GetSession().(*sdk.ServerSession); ok && method == "resources/subscribe" {
				_, _ = next(ctx, "logging/setLevel", &sdk.ServerRequest[*sdk.SetLoggingLevelParams]{Session: session, Params: &sdk.SetLoggingLevelParams{Level: "debug"}})
				_ = session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Data: "chatter"})
			}
			return res, err
		}
	})
	url := gateway(t, "", u)
	for _, path := range []string{"/mcp", "/mcp/s/s1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		body := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["mem://same"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + latest + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": latest, "Mcp-Method": "subscriptions/listen"} {
			req.Header.Set(key, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var methods []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan() && len(methods) < 2; {
			data, ok := strings.CutPrefix(lines.Text(), "data:")
			var m struct{ Method string }
			if !ok || json.Unmarshal([]byte(data), &m) != nil {
				continue
			}
			if methods = append(methods, m.Method); len(methods) == 1 {
				_ = u.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "mem://same"})
			}
		}
		if got := strings.Join(methods, " "); got != "notifications/subscriptions/acknowledged notifications/resources/updated" {
			t.Errorf("%s: %s", path, got)
		}
		cancel()
	}
}

package prometheus

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks Prometheus what it was built of, with the login; what only speaks as
// Prometheus does, and does not know that, for a number.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s, err := newServer(settings{o, getenv})
	if err != nil {
		return nil // the server is not made either, and says why
	}
	ask := probe.Ask{Service: "Prometheus", Key: "username and password, token, token_file or client_cert"}
	if s.client == nil {
		ask.Missing = "set the option url or PROMETHEUS_URL"
		return probe.All(ctx, ask)
	}
	ask.Do = func(ctx context.Context) (string, error) {
		defer s.client.http.CloseIdleConnections()
		code, body, err := s.client.fetch(ctx, "/api/v1/status/buildinfo", nil)
		if err == nil && (code == http.StatusNotFound || code == http.StatusMethodNotAllowed) {
			code, body, err = s.client.fetch(ctx, "/api/v1/query", url.Values{"query": {"vector(1)"}})
		}
		var answer struct {
			Status string `json:"status"`
			Data   struct {
				Version string `json:"version"`
			} `json:"data"`
		}
		switch {
		case err != nil:
			return "", err
		case code/100 != 2:
			return "", probe.Status(code, body)
		case json.Unmarshal(body, &answer) != nil || answer.Status != "success":
			return "", &probe.FaultError{State: tool.ProbeFailing, Text: "it does not answer as Prometheus does: look at the option url"}
		case answer.Data.Version != "":
			return "version " + answer.Data.Version, nil
		}
		return "", nil
	}
	return probe.All(ctx, ask)
}

package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks the cluster for its version, and for the list of its APIs, which nobody
// gets without valid credentials.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	ask := probe.Ask{Service: "Kubernetes", Key: "the user of the kubeconfig file"}
	c, err := kube.Load(kube.Options{Files: o.Kubeconfig, Context: o.Context, AllowExec: o.AllowExec, Getenv: getenv})
	if errors.Is(err, kube.ErrNone) {
		ask.Missing = "set the option kubeconfig or KUBECONFIG"
		return probe.All(ctx, ask)
	}
	ask.Do = func(ctx context.Context) (string, error) {
		if err != nil {
			return "", &probe.FaultError{State: tool.ProbeFailing, Text: "the cluster cannot be used: " + told(err.Error(), 300)}
		}
		var v struct{ GitVersion string }
		if err := c.Get(ctx, "/version", nil, &v); err != nil {
			return "", judged(err)
		}
		var apis struct{}
		return "version " + v.GitVersion, judged(c.Get(ctx, "/api", nil, &apis))
	}
	return probe.All(ctx, ask)
}

// judged returns what an error of the cluster means. Who may not do what was asked for
// is known there all the same, unless as nobody.
func judged(err error) error {
	e, ok := errors.AsType[*kube.Error](err)
	switch {
	case !ok || e.Code == 0:
		return err
	case e.Code == http.StatusForbidden && !strings.Contains(e.Text, "system:anonymous"):
		return nil
	}
	return probe.Status(e.Code, nil)
}

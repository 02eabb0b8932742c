package local

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/sandbox/host"
)

// An interpreter is a Python of this machine.
type interpreter struct {
	path    string
	version string
	prefix  []string // folders outside of /usr that it needs
}

// interpreters returns those that may be used, best first.
func interpreters(ctx context.Context, o Options) ([]interpreter, error) {
	found, err := host.Interpreters(ctx, o.Python, o.Path)
	var all []interpreter
	for _, p := range found {
		all = append(all, interpreter{path: p.Path, version: p.Version, prefix: p.Prefix})
	}
	return all, err
}

package python

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local"
)

// A way keeps code apart: by a back end of its own, whose options bear its name.
type way struct {
	name string
	make func(setting) (sandbox.Backend, error)
}

// ways are those that the option backend takes. The first is the usual one.
func ways() []way {
	return []way{
		{"local", newLocal},
		{"gvisor", newGvisor},
		{"docker", newDocker},
		{"e2b", newE2B},
	}
}

// A setting is what a back end is made of.
type setting struct {
	Options

	getenv   func(string) string
	launcher []string // runs local.Launch
}

// backend makes the back end that the options name. It starts nothing.
func (s setting) backend() (sandbox.Backend, error) {
	var names []string
	for i, w := range ways() {
		if w.name == s.Backend || s.Backend == "" && i == 0 {
			return w.make(s)
		}
		names = append(names, w.name)
	}
	return nil, fmt.Errorf("option backend: %q is not known; there is: %s", s.Backend, strings.Join(names, ", "))
}

func newLocal(s setting) (sandbox.Backend, error) {
	return local.New(local.Options{
		Launcher: s.launcher, Python: s.Python, Path: s.getenv("PATH"), Dir: s.Dir, Memory: int64(s.MaxMemoryMB) << 20,
	}), nil
}

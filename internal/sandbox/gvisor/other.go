//go:build !linux

package gvisor

import (
	"runtime"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// New returns a back end that says that there is none on this system.
func New(Options) sandbox.Backend {
	return sandbox.None("gvisor", `the back end "gvisor" is for Linux, and this is `+runtime.GOOS+": run the server on Linux")
}

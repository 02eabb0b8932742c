//go:build !linux

package local

import (
	"errors"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Command is the hidden command of the program that runs Launch.
const Command = "sandbox-init"

// Launch is for Linux.
func Launch() error { return errors.New("this is for Linux") }

// New returns a back end that says that there is none on this system.
func New(Options) sandbox.Backend {
	return sandbox.None("local", `the back end "local" keeps code apart by what Linux has, and this is `+runtime.GOOS+": run the server on Linux")
}

// Package version says which Tenon this is, in one way everywhere: on the command line, to
// clients, to tool servers and to sites.
//
//	version.String()            // v1.2.3
//	version.Agent("prometheus") // Tenon/v1.2.3 (prometheus)
package version

import (
	"runtime/debug"
	"sync"
)

// unreleased is the version of a build that the toolchain knows none of.
const unreleased = "0.1.0-dev"

// String returns the version of this program, or of the module where another program links
// it.
func String() string { return of() }

// of is asked when it is needed: reading it takes a while.
var of = sync.OnceValue(func() string {
	const module = "github.com/tenon-mcp/tenon"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unreleased
	}
	modules := append([]*debug.Module{&info.Main}, info.Deps...)
	for _, m := range modules {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return unreleased
})

// Agent returns what a request over HTTP calls its sender, with a word on what it is for.
func Agent(what string) string { return "Tenon/" + String() + " (" + what + ")" }

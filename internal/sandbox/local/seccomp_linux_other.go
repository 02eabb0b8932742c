//go:build linux && !amd64 && !arm64

package local

import (
	"fmt"
	"runtime"
)

// filterCalls has no filter for this machine.
func filterCalls(string, bool) error {
	return fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
}

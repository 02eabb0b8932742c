package hostlog

import (
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewAt returns a server that thinks it is a certain time, and takes less of it.
func NewAt(o Options, now time.Time, deadline time.Duration) (*mcp.Server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	s.now, s.deadline = func() time.Time { return now }, deadline
	return s.mcp(), nil
}

// Unrotated is what names of rotated files are taken for.
var Unrotated = unrotated

// ReadUnified returns what is read of the output of log show.
func ReadUnified(r io.Reader) (lines []string, err error) {
	err = readUnified(r, time.UTC, func(e *entry) bool {
		lines = append(lines, e.at.UTC().Format(time.RFC3339)+" "+levelNames[e.level]+" "+e.unit+" "+e.program+"["+e.pid+"] "+e.text)
		return true
	})
	return lines, err
}

// Clean is what is left of foreign text.
func Clean(s string) string { return clean(s, 1<<20) }

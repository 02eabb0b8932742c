package e2b

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox/owner"
)

// Names in the metadata of machines.
const (
	metaHome  = "tenon_home"
	metaOwner = "tenon_owner"
	metaOrder = "tenon_order"
)

const (
	sweepLimit = 20 * time.Second
	sweepMost  = 200 // machines at one start
)

// A maker is this process, among those of this machine that make machines at E2B.
type maker struct {
	own  *owner.Owner // nil without a folder
	home string
	why  string // there is none
}

// newMaker notes that this process lives. Without a folder for that it has a name all
// the same, and nobody clears up after it.
func newMaker(dir string) *maker {
	m := &maker{home: strings.ToLower(rand.Text())}
	if dir == "" {
		return m
	}
	own, err := owner.Join(dir)
	if err != nil {
		m.why = "machines of a server that has crashed end by their own time only: " + err.Error()
		return m
	}
	m.own, m.home = own, own.Home
	return m
}

// name is that of this process.
func (m *maker) name() string {
	if m == nil || m.own == nil {
		return "unknown"
	}
	return m.own.ID()
}

// sweep ends the machines of processes of this folder that have died, and returns what
// is to be said of that.
func (m *maker) sweep(ctx context.Context, c *control) []string {
	switch {
	case m == nil:
		return nil
	case m.own == nil && m.why == "":
		return nil
	case m.own == nil:
		return []string{m.why}
	}
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	// Where it fails, the check says what is wrong, or the next start does it.
	_ = m.own.Sweep(func() (map[string][]string, error) {
		running, err := c.list(ctx, metaHome, m.home)
		left := map[string][]string{}
		for _, machine := range running[:min(len(running), sweepMost)] {
			by := machine.Metadata[metaOwner]
			left[by] = append(left[by], machine.SandboxID)
		}
		return left, err
	}, func(id string) error { return c.kill(ctx, id) })
	return nil
}

// leave ends in order: there is nothing left to clear up.
func (m *maker) leave() error {
	if m == nil || m.own == nil {
		return nil
	}
	return m.own.Leave(nil)
}

package e2b

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/alive"
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

// An owner is this process, among those of this machine that make machines at E2B.
type owner struct {
	dir  string
	home string // of all processes that share the folder
	file *alive.File
	why  string // it has no file
}

// newOwner notes that this process lives. Without a folder for that it has a name all
// the same, and nobody clears up after it.
func newOwner(dir string) *owner {
	o := &owner{dir: dir, home: strings.ToLower(rand.Text())}
	if dir == "" {
		return o
	}
	var err error
	if o.file, err = alive.New(dir); err == nil {
		o.home, err = homeOf(dir)
	}
	if err != nil {
		o.why = "machines of a server that has crashed end by their own time only: " + err.Error()
		_ = o.leave()
		o.file = nil
	}
	return o
}

// homeOf returns what is the same for all processes that share a folder, and for no
// others.
func homeOf(dir string) (string, error) {
	path := filepath.Join(dir, "home")
	made := filepath.Join(dir, "home."+strings.ToLower(rand.Text()))
	if err := os.WriteFile(made, []byte(strings.ToLower(rand.Text())), 0o600); err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(made) }() // it was for the link
	if err := os.Link(made, path); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !isName(string(b), 64, "") {
		return "", fmt.Errorf("%s does not hold what belongs there: remove it", path)
	}
	return string(b), nil
}

// name is that of this process.
func (o *owner) name() string {
	if o == nil || o.file == nil {
		return "unknown"
	}
	return o.file.ID
}

// sweep ends the machines of processes of this folder that have died, and returns what
// is to be said of that.
func (o *owner) sweep(ctx context.Context, c *control) []string {
	if o == nil || o.file == nil {
		if o != nil && o.why != "" {
			return []string{o.why}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	others := alive.Others(o.dir, o.file)
	if len(others) == 0 {
		return nil
	}
	// Who is listed is asked first: a process that starts meanwhile is not taken for dead.
	running, err := c.list(ctx, metaHome, o.home)
	if err != nil {
		return nil // the check says what is wrong, or the next start does it
	}
	byOwner := map[string][]string{}
	for i, m := range running {
		if i < sweepMost {
			byOwner[m.Metadata[metaOwner]] = append(byOwner[m.Metadata[metaOwner]], m.SandboxID)
		}
	}
	for _, path := range others {
		dead, ok := alive.Dead(path)
		if !ok {
			continue
		}
		done := true
		for _, id := range byOwner[dead.ID] {
			done = c.kill(ctx, id) == nil && done
		}
		if done {
			_ = dead.Remove() // the next start finds nothing to do
		} else {
			_ = dead.Leave() // for the next start
		}
	}
	return nil
}

// leave ends in order: there is nothing left to clear up.
func (o *owner) leave() error {
	if o == nil || o.file == nil {
		return nil
	}
	return o.file.Remove()
}

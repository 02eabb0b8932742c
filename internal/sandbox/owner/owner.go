// Package owner lets processes that have something made elsewhere, which outlives them,
// end what those of them have left that died.
//
//	o, err := owner.Join(dir)
//	… // what is made bears o.Home and o.ID()
//	err = o.Sweep(list, end) // at the start
//	…
//	err = o.Leave(err) // at the end
//
// Processes that share a folder are of one home. Nothing of another home is touched, nor
// anything whose maker is not known to be dead.
package owner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/internal/alive"
)

// An Owner is this process among those of its home.
type Owner struct {
	Home string // the same for all processes that share the folder, and for no others
	dir  string
	file *alive.File
}

// Join notes in a folder that this process lives.
func Join(dir string) (*Owner, error) {
	f, err := alive.New(dir)
	if err != nil {
		return nil, err
	}
	home, err := homeOf(dir)
	if err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return &Owner{Home: home, dir: dir, file: f}, nil
}

// ID is the name of this process.
func (o *Owner) ID() string { return o.file.ID }

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
	if len(b) == 0 || len(b) > 64 || strings.Trim(string(b), "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", fmt.Errorf("%s does not hold what belongs there: remove it", path)
	}
	return string(b), nil
}

// Sweep ends what the dead of this home have left. List returns what there is of the
// home, by the name of its maker; it is not asked where there was nobody else. What
// could not be ended is for the next start.
func (o *Owner) Sweep(list func() (map[string][]string, error), end func(id string) error) error {
	others := alive.Others(o.dir, o.file)
	if len(others) == 0 {
		return nil
	}
	left, err := list()
	if err != nil {
		return err
	}
	var all []error
	for _, path := range others {
		dead, ok := alive.Dead(path)
		if !ok {
			continue
		}
		var errs []error
		for _, id := range left[dead.ID] {
			errs = append(errs, end(id))
		}
		if err := errors.Join(errs...); err != nil {
			all = append(all, err)
			_ = dead.Leave() // for the next start
		} else {
			all = append(all, dead.Remove())
		}
	}
	return errors.Join(all...)
}

// Leave says that this process ends: in order, or with something left that could not be
// ended, which the next start tries again.
func (o *Owner) Leave(failed error) error {
	if failed != nil {
		return o.file.Leave()
	}
	return o.file.Remove()
}

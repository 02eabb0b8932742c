package hostlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/internal/places"
)

// Usual are the places of logs: those that an operator named, or the usual ones.
type usual struct {
	*places.Places[root]
	unnamed bool
}

func newPlaces(paths []string) (usual, error) {
	unnamed := len(paths) == 0
	if unnamed {
		paths = defaultPaths()
	}
	p, err := places.New(paths, openRoot, func(r root) error {
		_, err := os.Stat(filepath.Join(r.dir, r.only))
		return err
	})
	return usual{p, unnamed}, err
}

// look returns the roots that are there, and says which are not.
func (p usual) look() (rs roots, missing []string) {
	rs, absent := p.Look()
	for _, m := range absent {
		if !p.unnamed || !errors.Is(m.Err, fs.ErrNotExist) { // not every machine has each of the usual ones
			missing = append(missing, plain(m.Path, 200)+": "+reason(m.Err))
		}
	}
	return rs, missing
}

// absent says of paths that are missing what it means.
func absent(missing []string) string {
	return "of the paths that the operator set, not there now: " + strings.Join(missing[:min(len(missing), 10)], "; ")
}

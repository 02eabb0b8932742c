package hostlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Places are the paths that an operator named, or the usual ones. One that is not
// there now may be there later, and the other way round, so they are looked at anew
// for each call. What a path led to when it was found stays what it leads to.
type places struct {
	paths []string // absolute
	usual bool
	known sync.Map // path to root
}

func newPlaces(paths []string) (*places, error) {
	p := &places{usual: len(paths) == 0}
	if p.usual {
		paths = defaultPaths()
	}
	for _, given := range paths {
		abs, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		p.paths = append(p.paths, abs)
	}
	return p, nil
}

// look returns the roots that are there, and says which are not.
func (p *places) look() (rs roots, missing []string) {
	for _, path := range p.paths {
		r, err := p.root(path)
		switch {
		case err == nil:
			rs = append(rs, r)
		case !p.usual || !errors.Is(err, fs.ErrNotExist): // not every machine has each of the usual ones
			missing = append(missing, plain(path, 200)+": "+reason(err))
		}
	}
	return rs, missing
}

func (p *places) root(path string) (root, error) {
	known, _ := p.known.Load(path)
	if r, ok := known.(root); ok {
		_, err := os.Stat(filepath.Join(r.dir, r.only))
		return r, err
	}
	r, err := openRoot(path)
	if err == nil {
		p.known.Store(path, r)
	}
	return r, err
}

// absent says of paths that are missing what it means.
func absent(missing []string) string {
	return "of the paths that the operator set, not there now: " + strings.Join(missing[:min(len(missing), 10)], "; ")
}

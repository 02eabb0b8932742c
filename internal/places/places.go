// Package places keeps the paths that an operator has named for a server. One that is not
// there now may be there later, and the other way round, so they are looked at anew at each
// use. What a path led to when it was found stays what it leads to: a link that somebody
// changes since opens nothing else.
//
//	p, err := places.New(paths, openFolder, stillThere)
//	there, missing := p.Look()
package places

import (
	"path/filepath"
	"sync"
)

// Places are paths, each of which leads to a T.
type Places[T any] struct {
	paths []string // absolute
	open  func(path string) (T, error)
	still func(T) error
	known sync.Map // path to T
}

// A Missing is a path that leads nowhere now.
type Missing struct {
	Path string
	Err  error
}

// New returns the places at these paths. What a path leads to is found by open, once, and
// still says at each further look why it is not there any more.
func New[T any](paths []string, open func(path string) (T, error), still func(T) error) (*Places[T], error) {
	p := &Places[T]{open: open, still: still}
	for _, given := range paths {
		abs, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		p.paths = append(p.paths, abs)
	}
	return p, nil
}

// Look returns what is there, and the paths that lead nowhere, each in the order in which
// they were given.
func (p *Places[T]) Look() (there []T, missing []Missing) {
	for _, path := range p.paths {
		if t, err := p.at(path); err == nil {
			there = append(there, t)
		} else {
			missing = append(missing, Missing{path, err})
		}
	}
	return there, missing
}

func (p *Places[T]) at(path string) (T, error) {
	known, _ := p.known.Load(path)
	if t, ok := known.(T); ok {
		return t, p.still(t)
	}
	t, err := p.open(path)
	if err == nil {
		p.known.Store(path, t)
	}
	return t, err
}

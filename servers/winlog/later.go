package winlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// A spot is the folder of files that the operator named. It may come later than this
// server, and go away: each call looks for it.
type spot struct {
	dir string

	mu    sync.Mutex
	found *folder
}

// newSpot returns the folder at dir. It fails where that is there and no folder.
func newSpot(dir string) (*spot, error) {
	p := &spot{dir: dir}
	if _, err := p.folder(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return p, nil
}

func (p *spot) folder() (*folder, error) {
	p.mu.Lock()
	f := p.found
	p.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := openFolder(p.dir)
	if err != nil {
		return nil, p.absent(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = f
	return f, nil
}

// absent says of a folder that is not there what that means.
func (p *spot) absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &absentError{fmt.Sprintf("%s, the folder of .evtx files that the operator set with the option dir (or WINLOG_DIR), is not there now. It is looked for again at each call", plain(p.dir, 200))}
	}
	return err
}

// An absentError says what is not there.
type absentError struct{ text string }

func (e *absentError) Error() string        { return e.text }
func (e *absentError) Is(target error) bool { return target == fs.ErrNotExist }

func (p *spot) logs(ctx context.Context, part string) (listing, error) {
	f, err := p.folder()
	if err != nil {
		return listing{}, err
	}
	l, err := f.logs(ctx, part)
	return l, p.absent(err)
}

func (p *spot) scan(ctx context.Context, log string, flt *filter, visit func(found) bool) (scanned, error) {
	f, err := p.folder()
	if err != nil {
		return scanned{}, err
	}
	s, err := f.scan(ctx, log, flt, visit)
	return s, p.absent(err)
}

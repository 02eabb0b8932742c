// Package flock locks files against other processes. A lock ends with its process,
// whatever ends that.
//
//	f, err := flock.Wait(ctx, path+".lock")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//
// On Unix it is flock(2), on Windows LockFileEx.
package flock

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// every is how often Wait tries.
const every = 5 * time.Millisecond

// Wait opens the file, which it makes where it is missing, for its owner alone,
// and waits for the lock, at most until ctx ends. Close it to let go.
func Wait(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !Try(f) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close() // it was not locked
			return nil, context.Cause(ctx)
		}
	}
	return f, nil
}

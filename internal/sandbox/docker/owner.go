package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/alive"
)

// Labels of containers.
const (
	labelPlace = "tenon.sandbox.place" // whose processes know of each other
	labelOwner = "tenon.sandbox.owner"
	labelPID   = "tenon.sandbox.pid"
	labelStart = "tenon.sandbox.start"
)

// An owner is this process, among those that share a folder.
type owner struct {
	mu    sync.Mutex
	dir   string
	place string
	began string
	file  *alive.File
}

// join makes this process known. The caller holds the lock.
func (o *owner) join() error {
	if o.file != nil {
		return nil
	}
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir() // a service without a home
		}
		o.dir = filepath.Join(cache, "tenon", "docker-sandboxes")
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	f, err := alive.New(dir)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{host, strconv.Itoa(os.Getuid()), dir}, "\x00")))
	o.dir, o.file, o.place, o.began = dir, f, hex.EncodeToString(sum[:12]), time.Now().UTC().Format(time.RFC3339)
	return nil
}

// labels are those of a container of this process.
func (o *owner) labels() (map[string]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.join(); err != nil {
		return nil, err
	}
	return map[string]string{labelPlace: o.place, labelOwner: o.file.ID, labelPID: strconv.Itoa(os.Getpid()), labelStart: o.began}, nil
}

// sweep removes the containers of those that share the folder and live no more.
func (o *owner) sweep(ctx context.Context, e *engine) error {
	mine, err := o.labels()
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, startLimit)
	defer cancel()
	list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", labelPlace+"="+mine[labelPlace])})
	if err != nil {
		return e.failed(ctx, "list containers", err)
	}
	// Whoever has made one of them was there before the list.
	living := map[string]bool{mine[labelOwner]: true}
	var dead []*alive.File
	for _, path := range alive.Others(o.dir, o.file) {
		if f, ok := alive.Dead(path); ok {
			dead = append(dead, f)
		} else {
			living[strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))] = true
		}
	}
	var errs []error
	for _, c := range list.Items {
		if c.Labels[labelPlace] == mine[labelPlace] && !living[c.Labels[labelOwner]] {
			errs = append(errs, e.remove(ctx, c.ID))
		}
	}
	err = errors.Join(errs...)
	for _, f := range dead {
		if err == nil {
			err = f.Remove()
		} else {
			_ = f.Leave() // the next one tries again
		}
	}
	return err
}

// leave says that this process ends, where it leaves nothing behind.
func (o *owner) leave(failed error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return nil
	}
	f := o.file
	o.file = nil
	if failed != nil {
		return f.Leave()
	}
	return f.Remove()
}

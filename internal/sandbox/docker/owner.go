package docker

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/sandbox/owner"
)

// Labels of containers.
const (
	labelPlace = "tenon.sandbox.place" // whose processes know of each other
	labelOwner = "tenon.sandbox.owner"
	labelPID   = "tenon.sandbox.pid"
	labelStart = "tenon.sandbox.start"
)

// A maker is this process, among those that share a folder. It joins them when it first
// makes a container.
type maker struct {
	mu    sync.Mutex
	dir   string
	began string
	own   *owner.Owner
}

// join makes this process known.
func (m *maker) join() (*owner.Owner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own != nil {
		return m.own, nil
	}
	dir := m.dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir() // a service without a home
		}
		dir = filepath.Join(cache, "tenon", "docker-sandboxes")
	}
	var err error
	m.own, err = owner.Join(dir)
	m.began = time.Now().UTC().Format(time.RFC3339)
	return m.own, err
}

// labels are those of a container of this process.
func (m *maker) labels() (map[string]string, error) {
	own, err := m.join()
	if err != nil {
		return nil, err
	}
	return map[string]string{labelPlace: own.Home, labelOwner: own.ID(), labelPID: strconv.Itoa(os.Getpid()), labelStart: m.began}, nil
}

// sweep removes the containers of those that share the folder and live no more.
func (m *maker) sweep(ctx context.Context, e *engine) error {
	own, err := m.join()
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, startLimit)
	defer cancel()
	return own.Sweep(func() (map[string][]string, error) {
		list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", labelPlace+"="+own.Home)})
		if err != nil {
			return nil, e.failed(ctx, "list containers", err)
		}
		left := map[string][]string{}
		for _, c := range list.Items {
			if by := c.Labels[labelOwner]; c.Labels[labelPlace] == own.Home {
				left[by] = append(left[by], c.ID)
			}
		}
		return left, nil
	}, func(id string) error { return e.remove(ctx, id) })
}

// leave says that this process ends.
func (m *maker) leave(failed error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own == nil {
		return nil
	}
	own := m.own
	m.own = nil
	return own.Leave(failed)
}

package tenon

import (
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/listcache"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// memory is what a gateway remembers of the lists of its servers from one start
// to the next. The zero value remembers nothing.
type memory struct {
	cache *listcache.Cache
	log   *slog.Logger
	hide  func(tools []json.RawMessage) []json.RawMessage // takes secrets out of them
	tasks sync.WaitGroup                                  // writes
	names atomic.Pointer[string]                          // of the servers whose tools are remembered, joined
}

// open opens the lists on disk, for a gateway that has a folder for them.
func (r *memory) open(cfg *config.Config, o Options, secrets *redact.Redactor) {
	r.log = o.Logger
	r.hide = func(tools []json.RawMessage) []json.RawMessage { return withoutSecrets(secrets, tools) }
	dir := cacheDir(o.Env)
	if dir == "" || !o.Start || !cfg.Gateway.RememberTools {
		return
	}
	r.cache = listcache.New(listcache.Options{Dir: filepath.Join(dir, "tenon", "tools")})
	r.tasks.Go(func() {
		if err := r.cache.Prune(); err != nil {
			r.log.Warn("old lists of tools cannot be removed", "error", err)
		}
	})
}

// listKey returns the key of what a server offers: all that decides it.
func listKey(s *config.Server) string {
	parts := []string{string(s.Transport), s.Command, s.Cwd, s.URL}
	parts = append(parts, s.Args...)
	for _, texts := range []map[string]tool.Secret{s.Env, s.Headers} {
		parts = append(parts, "")
		for _, k := range slices.Sorted(maps.Keys(texts)) {
			parts = append(parts, k, texts[k].Reveal())
		}
	}
	return listcache.Key(parts...)
}

// recall offers the tools that a server had when it last ran, until it says
// itself what it has.
func (k maker) recall(s *config.Server, m *member) {
	if k.memory.cache == nil || m.err != nil || s.Bundled != "" || s.Care.Agent != nil {
		return
	}
	m.listKey = listKey(s)
	kept, ok := k.memory.cache.Get(m.listKey)
	if !ok {
		return
	}
	m.recalled.Store(&kept)
	m.tools = kept.Tools
}

// remember keeps the tools that a server has just listed.
func (r *memory) remember(m *member, tools []json.RawMessage) {
	m.recalled.Store(nil)
	if m.listKey == "" {
		return
	}
	r.tasks.Go(func() {
		if err := r.cache.Put(m.listKey, r.hide(tools)); err != nil {
			r.log.Warn("list of tools cannot be kept for the next start", "server", m.name, "error", err)
		}
	})
}

// nameRecalled notes which members' tools are remembered.
func (r *memory) nameRecalled(members []*member) {
	var names []string
	for _, m := range members {
		if m.recalled.Load() != nil {
			names = append(names, m.name)
		}
	}
	joined := strings.Join(names, "\n")
	r.names.Store(&joined)
}

// recalledNames returns the names of the servers whose tools are remembered, each
// on a line.
func (r *memory) recalledNames() string {
	if names := r.names.Load(); names != nil {
		return *names
	}
	return ""
}

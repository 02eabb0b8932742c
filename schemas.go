package tenon

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/schema"
	"github.com/tenon-mcp/tenon/tool"
)

// schemas are the compiled schemas of the tools that have been called. One is
// compiled on the first call of its tool, and again when the tool's server lists
// another one.
type schemas struct {
	log *slog.Logger

	mu       sync.RWMutex
	compiled map[tool.ID]compiled
}

// A compiled is the schema of one tool of one snapshot of the catalog.
type compiled struct {
	tool   *tool.Tool
	schema *schema.Schema
}

func newSchemas(log *slog.Logger) *schemas {
	return &schemas{log: log, compiled: map[tool.ID]compiled{}}
}

// check holds arguments against the schema of a tool.
func (s *schemas) check(t *tool.Tool, args []byte) call.Checked {
	sch := s.of(t)
	if sch.Accepts(args) {
		return call.Checked{}
	}
	out := sch.Check(args, mayMend(t))
	return call.Checked{Arguments: out.Arguments, Repairs: out.Repairs, Problem: out.Problem}
}

// of returns the schema of a tool.
func (s *schemas) of(t *tool.Tool) *schema.Schema {
	s.mu.RLock()
	c := s.compiled[t.ID]
	s.mu.RUnlock()
	if c.tool == t {
		return c.schema
	}
	if c.tool == nil || !bytes.Equal(c.tool.Schema, t.Schema) {
		c.schema = schema.Compile(t.Schema)
		if why := c.schema.Unchecked(); why != "" && len(t.Schema) > 0 {
			s.log.Warn("arguments are not checked", "server", t.Server, "tool", t.Name, "reason", why)
		}
	}
	c.tool = t
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compiled[t.ID] = c
	return c.schema
}

// mayMend reports whether the arguments of a tool may be mended at all: what
// destroys something gets exactly what was asked for, or nothing. A server's own
// hint can make its tool stricter here, never laxer.
func mayMend(t *tool.Tool) bool {
	if t.Meta.Destructive {
		return false
	}
	var hints struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
	}
	if len(t.Annotations) > 0 && json.Unmarshal(t.Annotations, &hints) != nil {
		return false
	}
	return t.Meta.ReadOnly || hints.ReadOnly || !hints.Destructive
}

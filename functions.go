package tenon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// functionServer is the server that the tools of AddTool belong to.
const functionServer = "go"

// A function is a Go function that AddTool made a tool.
type function struct {
	name string
	meta tool.Meta
	add  func(*mcp.Server, *slog.Logger) error
}

// A Function describes a Go function to the model.
type Function struct {
	Name        string
	Description string
	// Meta is what is declared of the tool; nil is tool.DefaultMeta.
	Meta *tool.Meta
}

// AddTool makes a Go function a tool of the pool that o opens, on the server
// "go". In and Out are structs: their fields, with json and jsonschema tags, are
// the tool's schema, which arguments are checked against before fn sees them. An
// error of fn is the tool's error, for the model to read.
func AddTool[In, Out any](o *Options, f Function, fn func(ctx context.Context, in In) (Out, error)) {
	meta := tool.DefaultMeta()
	if f.Meta != nil {
		meta = *f.Meta
		meta.Registered = true
	}
	o.functions = append(o.functions, function{name: f.Name, meta: meta, add: func(srv *mcp.Server, log *slog.Logger) (err error) {
		// The SDK panics on a type that makes no schema: that is a mistake of the
		// program, and Open reports it.
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("tool %s: %v", f.Name, p)
			}
		}()
		mcp.AddTool(srv, &mcp.Tool{Name: f.Name, Description: f.Description},
			func(ctx context.Context, _ *mcp.CallToolRequest, in In) (_ *mcp.CallToolResult, out Out, err error) {
				defer func() {
					if p := recover(); p != nil {
						log.Error("a function panicked", "tool", f.Name, "panic", p, "stack", string(debug.Stack()))
						err = fmt.Errorf("tool %s is broken: its program panicked. Calling it again with the same arguments is of no use", f.Name)
					}
				}()
				out, err = fn(ctx, in)
				return nil, out, err
			})
		return nil
	}})
}

// functions makes the server of the functions, or takes that of the pool before.
func (k maker) functions(old *pool) error {
	if old != nil {
		m := old.byName[functionServer]
		k.members, k.byName[functionServer] = append(k.members, m), m
		return nil
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: functionServer, Version: version.String()}, nil)
	m := &member{name: functionServer, role: role{meta: map[string]tool.Meta{}}}
	for _, f := range k.o.functions {
		if _, twice := m.meta[f.name]; twice {
			return fmt.Errorf("tool %s is added twice", f.name)
		}
		m.meta[f.name] = f.meta
		if err := f.add(srv, k.log); err != nil {
			return err
		}
	}
	tools, err := toolsOf(k.closing, srv)
	if err != nil {
		return fmt.Errorf("server %s: %w", functionServer, err)
	}
	k.byName[functionServer] = m
	m.server, err = upstream.New(upstream.Options{
		Name: functionServer, Dial: k.inProcess(srv), Tools: tools, Logger: k.log,
		Listed: func(tools []json.RawMessage) { k.Gateway.listed(m, tools) }, Changed: func() { k.changed(m.name) },
	})
	if err != nil {
		return err
	}
	k.members = append(k.members, m)
	return nil
}

package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// redactOptions returns what a configuration says is secret.
func redactOptions(cfg *config.Config) redact.Options {
	r := cfg.Policy.Redact
	o := redact.Options{Secrets: cfg.Secrets, Keys: r.Keys}
	for _, p := range r.Patterns {
		o.Patterns = append(o.Patterns, redact.Pattern{Name: p.Name, Expr: p.Pattern})
	}
	return o
}

// hideInTools takes known secrets out of definitions, where results have none either.
// It comes after they were judged: what was accepted is what the server says.
func (k maker) hideInTools(m *member, tools []tool.Tool) {
	if !k.cfg.Policy.Redact.Results {
		return
	}
	for i := range tools {
		t := &tools[i]
		hidden := k.secrets.Values(t.Raw)
		if bytes.Equal(hidden, t.Raw) {
			continue
		}
		u, err := catalog.Parse(hidden)
		if err != nil || u.Name != t.Name {
			// Without its name nobody could call it.
			k.log.Warn("the definition of a tool holds a secret in its name", "server", m.name, "tool", t.Name)
			continue
		}
		u.ID, u.Held = t.ID, t.Held
		*t = u
	}
}

// withoutSecrets returns definitions as they may be written to disk: without known
// secrets, and without the tools that have one in their name.
func withoutSecrets(r *redact.Redactor, tools []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(tools))
	for _, raw := range tools {
		hidden := r.Values(raw)
		if !bytes.Equal(hidden, raw) {
			was, err := catalog.Parse(raw)
			is, broken := catalog.Parse(hidden)
			if err != nil || broken != nil || was.Name != is.Name {
				continue
			}
		}
		out = append(out, hidden)
	}
	return out
}

// A maskingHandler hides the secrets in what is logged.
type maskingHandler struct {
	slog.Handler
	m *redact.Redactor
}

// Handle implements slog.Handler.
func (h maskingHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.m.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskingHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.m.Text(v.String()))
	case slog.KindAny:
		var text string
		switch v := v.Any().(type) {
		case error:
			text = v.Error()
		case []byte:
			text = string(v)
		case json.RawMessage:
			text = string(v)
		default:
			text = fmt.Sprint(v)
		}
		masked := h.m.Text(text)
		if _, ok := v.Any().(error); ok || masked != text {
			a.Value = slog.StringValue(masked)
		}
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, g := range v.Group() {
			group = append(group, h.attr(g))
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h maskingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return maskingHandler{h.Handler.WithAttrs(masked), h.m}
}

// WithGroup implements slog.Handler.
func (h maskingHandler) WithGroup(name string) slog.Handler {
	return maskingHandler{h.Handler.WithGroup(name), h.m}
}

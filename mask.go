package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A masker hides the secrets of the configuration in texts that others wrote: what
// a server says when it dies often has its key in it.
type masker struct{ *masked }

// masked are the secrets that were ever known: one of an earlier configuration may
// still be in what a server says.
type masked struct {
	mu      sync.Mutex
	secrets map[string]bool
	replace atomic.Pointer[strings.Replacer]
}

func newMasker(secrets []tool.Secret) masker {
	m := masker{&masked{secrets: map[string]bool{}}}
	m.learn(secrets)
	return m
}

// learn hides more secrets from now on.
func (m masker) learn(secrets []tool.Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range secrets {
		m.secrets[s.Reveal()] = true
		quoted := jsonrpc.Quote(nil, s.Reveal())
		m.secrets[string(quoted[1:len(quoted)-1])] = true // as it stands in JSON
	}
	dots := tool.Secret{}.String()
	var pairs []string
	// The longest first: of two that begin alike the whole one is to be hidden.
	for _, s := range slices.SortedFunc(maps.Keys(m.secrets), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	}) {
		pairs = append(pairs, s, dots)
	}
	m.replace.Store(strings.NewReplacer(pairs...))
}

// mask returns text without the secrets.
func (m masker) mask(text string) string { return m.replace.Load().Replace(text) }

// maskJSON returns JSON without the secrets. What would be none any more is left
// out as a whole.
func (m masker) maskJSON(raw []byte) []byte {
	text := m.mask(string(raw))
	if text == string(raw) {
		return raw
	}
	if out := []byte(text); json.Valid(out) {
		return out
	}
	return []byte(`{"content":[{"type":"text","text":"What the server said held a secret and is left out."}],"isError":true,` +
		`"code":-32603,"message":"what the server said held a secret and is left out"}`)
}

// A maskingHandler hides the secrets in what is logged.
type maskingHandler struct {
	slog.Handler
	m masker
}

// Handle implements slog.Handler.
func (h maskingHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.m.mask(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskingHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.m.mask(v.String()))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			a.Value = slog.StringValue(h.m.mask(err.Error()))
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

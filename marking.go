package tenon

import (
	"errors"
	"slices"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// marking says how the answers of a tool are marked that strangers wrote. The text of
// somebody else's server is theirs: unless the configuration says otherwise it passes
// as it came.
func marking(v view, t *tool.Tool) call.Marking {
	if !slices.Contains(t.Meta.Labels, tool.LabelUntrusted) {
		return call.Unmarked
	}
	return markingOf(v.byName[t.Server])
}

// markingOf says how answers of a server are marked that hold what strangers wrote.
func markingOf(m *member) call.Marking {
	switch {
	case m == nil: // of this process itself: a page that was fetched
		return call.Fenced
	case m.entry == nil: // a function of the program that Tenon is linked into
		return call.InMeta
	}
	own := m.meta != nil
	switch how := m.entry.Care.Untrusted; {
	case how == "mark", how == "" && !own:
		return call.InMeta
	case m.delegate != nil: // it says what it was told
		return call.Fenced
	case own: // reading tells the words of a document from its own in one answer
		return call.OnceOnly
	}
	return call.Distrusted
}

// believed reports whether a server is believed what it says in the _meta of a result
// under one of Tenon's names: all where it comes with this program, else only what it has
// taken, if its entry says so.
func (p *pool) believed(server, name string) bool {
	m := p.byName[server]
	return m == nil || m.entry == nil || m.meta != nil || m.entry.TrustUsage && name == tool.UsageKey
}

// judged returns what a server answered a request with that is no call of a tool, without
// what it is not believed, and with the mark of strangers where its tools have that label.
func (p *pool) judged(m *member, labels []tool.Label, raw tool.Bytes, err error) (tool.Bytes, error) {
	how := call.Unmarked
	if slices.Contains(labels, tool.LabelUntrusted) {
		how = markingOf(m)
	}
	if err != nil {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Raw != nil && how != call.Unmarked {
			return nil, call.MarkedError(e, how == call.Distrusted)
		}
		return nil, err
	}
	a, err := jsonrpc.ReadAnswer(raw)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s answered with something that is no result: %v", m.name, err)
	}
	if a.Own {
		raw = call.WithoutOwn(raw, a.Meta, func(name string) bool { return p.believed(m.name, name) })
	}
	if how != call.Unmarked {
		return call.Marked(raw)
	}
	return raw, nil
}

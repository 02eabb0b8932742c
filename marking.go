package tenon

import (
	"slices"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// marking says how the answers of a tool are marked that strangers wrote. The text of
// somebody else's server is theirs: unless the configuration says otherwise it passes
// as it came.
func (v view) marking(t *tool.Tool) call.Marking {
	if !slices.Contains(t.Meta.Labels, tool.LabelUntrusted) {
		return call.Unmarked
	}
	m := v.byName[t.Server]
	switch {
	case m == nil: // of this process itself: a page that was fetched
		return call.Fenced
	case m.entry == nil: // a function of the program that Tenon is linked into
		return call.InMeta
	}
	own := m.entry.Bundled != ""
	switch how := m.entry.Care.Untrusted; {
	case how == "mark", how == "" && !own:
		return call.InMeta
	case own: // reading tells the words of a document from its own in one answer
		return call.OnceOnly
	}
	return call.Fenced
}

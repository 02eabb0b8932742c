package call

import (
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// leastBeside is what a result may always have beside its content, whatever the limit of
// its tool: no model reads it, and clients find their way by it.
const leastBeside = 4 << 10

// maxOwn bounds what stays of a _meta that is too long: the few words that are Tenon's.
const maxOwn = 2 << 10

// standing are the members of a result that the protocol has. The last one is _meta.
var standing = []string{"content", "structuredContent", "isError", "resultType", "_meta"}

// besides returns how many bytes of a result may stand beside its content.
func (s *shaper) besides() int { return max(s.limit, leastBeside) }

// beside takes from a result what stands beside its content and is too long together: what
// the protocol does not know, and _meta where that alone is still too long, but for the
// words in it that are Tenon's. The whole result, as whole was, is kept.
func (s *shaper) beside(whole tool.Bytes) {
	var spans [5]jsonrpc.Span
	if jsonrpc.Members(s.res.Raw, standing, spans[:]) != nil {
		return
	}
	before := s.res.Raw.Len()
	out := tool.OneOf([]byte{'{'})
	for i, name := range standing {
		if !spans[i].Found() {
			continue
		}
		value := spans[i].In(s.res.Raw)
		if i == len(standing)-1 && value.Len() > s.besides() {
			value = tool.OneOf(jsonrpc.OnlyOwn(s.res.Raw, spans[i], maxOwn))
			if value.Len() == 0 {
				continue
			}
		}
		lead := `"` + name + `":`
		if len(out) > 1 {
			lead = "," + lead
		}
		out = append(append(out, []byte(lead)), value...)
	}
	out = append(out, []byte{'}'})
	s.res.Raw = out
	s.r.Note("shape", "%d bytes beside the content were left out, of _meta or of members that the protocol does not know: too long%s",
		before-out.Len(), keptAs(s.keep("", whole)))
}

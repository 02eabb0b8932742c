package call

import (
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// joints are what callers write between a server and its tool.
var joints = []string{"__", "/", ".", ":", "_"}

// maxRespelt is the longest name that is looked at in more than one way.
const maxRespelt = 300

// respelt reads a name of a tool that holds its server too, in whatever form: those of
// the command line and of MCP, and what models make of these. It reports whether there
// is one tool that can be meant, which then is the target, and returns the refusal where
// the caller must not see it.
func (r *Request) respelt() (found bool, refused *tool.Result) {
	if len(r.Tool) > maxRespelt {
		return false, nil
	}
	var meant tool.ID
	for _, joint := range joints {
		for at := 1; at < len(r.Tool)-len(joint); at++ {
			if !strings.HasPrefix(r.Tool[at:], joint) {
				continue
			}
			id := tool.ID{Server: r.Tool[:at], Name: r.Tool[at+len(joint):]}
			if id == meant || r.Server != "" && r.Server != id.Server || !r.View.HasServer(id.Server) {
				continue
			}
			if t, d := r.View.Find(id); t == nil && d == nil {
				continue
			}
			if meant.Name != "" {
				return false, nil // two can be meant
			}
			meant = id
		}
	}
	if meant.Name == "" {
		return false, nil
	}
	if found, refused = r.take(meant); found && refused == nil {
		r.Note("resolve", "there is no tool %s: taken for tool %s of server %s", r.Tool, meant.Name, meant.Server)
	}
	return found, refused
}

// calledBy returns a tool as the caller of r has to name it.
func calledBy(r *Request, id tool.ID) string {
	if r.flat != nil && r.Caller.Via == "mcp" && r.Caller.Through == "" {
		if name := r.flat(id); name != "" {
			return name
		}
	}
	return id.String()
}

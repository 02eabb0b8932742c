package catalog

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/terms"
	"github.com/tenon-mcp/tenon/tool"
)

// readVerbs begin the names of tools that look at something, the better the
// earlier, where several tools speak of the same thing.
var readVerbs = []string{"get", "list", "read", "show", "status", "describe", "search", "find", "query", "fetch", "view", "inspect", "check", "count"}

// writeVerbs are what a tool does, not to what.
var writeVerbs = []string{
	"create", "add", "insert", "new", "make", "update", "edit", "set", "put", "patch", "change", "modify", "write", "append", "save", "store",
	"delete", "remove", "drop", "clear", "move", "rename", "copy", "upload", "send", "post", "publish", "push", "start", "stop", "restart",
	"run", "execute", "apply", "open", "close", "cancel", "enable", "disable", "merge", "commit", "do",
}

// Reader returns the name of a tool that only reads and can tell what a call of t
// has done: of the tools of its server, the one that speaks of the same things. It
// is "" where there is none.
func (s *Snapshot) Reader(t *tool.Tool) string {
	things, _ := nameParts(t.Name)
	tools, _ := s.Server(t.Server)
	best, score := "", 0
	for i := range tools {
		if !tools[i].Meta.ReadOnly || tools[i].Name == t.Name {
			continue
		}
		candidate := tools[i].Name
		theirs, verb := nameParts(candidate)
		shared := 0
		for _, t := range things {
			if slices.Contains(theirs, t) {
				shared++
			}
		}
		if shared == 0 {
			continue
		}
		points := 1000*shared - 100*(len(theirs)-shared) - verb
		if best == "" || points > score {
			best, score = candidate, points
		}
	}
	return best
}

// nameParts returns the things that a tool's name speaks of, in the singular, and
// the rank of its verb among those that read.
func nameParts(name string) (things []string, verb int) {
	verb = len(readVerbs)
	for w := range terms.Split(name) {
		w = strings.ToLower(w)
		if i := slices.Index(readVerbs, w); i >= 0 {
			verb = min(verb, i)
			continue
		}
		if slices.Contains(writeVerbs, w) {
			continue
		}
		switch {
		case strings.HasSuffix(w, "ies") && len(w) > 4:
			w = w[:len(w)-3] + "y"
		case strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
			w = w[:len(w)-2]
		case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && len(w) > 3:
			w = w[:len(w)-1]
		}
		things = append(things, w)
	}
	return things, verb
}

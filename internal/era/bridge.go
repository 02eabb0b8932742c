package era

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// TasksExtension is the name of the extension for tasks of the modern era.
const TasksExtension = "io.modelcontextprotocol/tasks"

// A Gap is what clients of a server do not have as they would have it directly, since
// they are of another era, or since of how the server is configured.
type Gap struct {
	Client Era // Unknown is both
	// Lost is set for what cannot be bridged, and not for what goes in another way.
	Lost bool
	Text string
}

// Gaps returns the gaps before a server: said is its answer to initialize or to
// server/discover, all are its tools, and own is whether clients may have connections of
// their own.
func Gaps(server Era, said []byte, all []tool.Tool, own bool) []Gap {
	var c struct {
		Capabilities struct {
			Tasks      json.RawMessage            `json:"tasks"`
			Extensions map[string]json.RawMessage `json:"extensions"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(said, &c) // what cannot be read declares nothing
	var out []Gap
	add := func(client Era, lost bool, format string, args ...any) {
		out = append(out, Gap{client, lost, fmt.Sprintf(format, args...)})
	}
	switch server {
	case Legacy:
		if own {
			add(Modern, false, "what it asks its client (sampling, elicitation, roots) comes as input_required, under names that the gateway gives, and is to be answered within 5 minutes")
		} else {
			add(Unknown, true, "it can ask its client nothing (sampling, elicitation, roots): with isolation session or call, clients have no connections of their own")
		}
		if c.Capabilities.Tasks != nil {
			add(Modern, false, "its tasks are those of %s: clients that know the extension for tasks get a handle of calls of tools that run only so, and all other calls are answered when they are done%s", LatestLegacy, alone(all))
		}
	case Modern:
		add(Legacy, false, "what it wants to know (sampling, elicitation, roots) is asked of the client during the request, at most 10 times")
		if _, ok := c.Capabilities.Extensions[TasksExtension]; ok {
			add(Legacy, false, "its tasks are those of the extension of %s: clients that call a tool as a task get a handle, and all other calls are answered when they are done%s", ModernFirst, alone(all))
		}
		if odd := toolsThat(all, func(t *tool.Tool) bool { return !answersObjects(t.Output) }); odd != "" {
			add(Legacy, true, "structured results that are no objects are unknown to %s, and a client may refuse them: %s", LatestLegacy, odd)
		}
	case Unknown:
		return nil
	}
	for _, needs := range needsOf(all) {
		who := strings.ReplaceAll(needs, " ", ", ")
		add(Unknown, false, "only clients that declare %s are offered: %s", who, toolsThat(all, func(t *tool.Tool) bool { return t.Needs == needs }))
	}
	return out
}

// For reports whether a gap is one for clients of that era.
func (g Gap) For(client Era) bool { return g.Client == Unknown || g.Client == client }

// alone names the tools that run only as tasks, as the rest of a sentence.
func alone(all []tool.Tool) string {
	if must := toolsThat(all, func(t *tool.Tool) bool { return TaskSupport(t.Raw) == TaskRequired }); must != "" {
		return ", also those of tools that run only so: " + must
	}
	return ""
}

// maxNamed is how many tools a gap names.
const maxNamed = 5

// toolsThat names the tools that are so; empty where there are none.
func toolsThat(all []tool.Tool, so func(*tool.Tool) bool) string {
	var names []string
	for i := range all {
		if so(&all[i]) {
			names = append(names, all[i].Name)
		}
	}
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// needsOf returns what tools need of a client, each once.
func needsOf(all []tool.Tool) []string {
	var out []string
	for i := range all {
		if n := all[i].Needs; n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// TaskRequired is what a tool says of itself that runs only as a task.
const TaskRequired = "required"

// TaskSupport returns what a tool says of running as a task.
func TaskSupport(raw []byte) string {
	var t struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	_ = json.Unmarshal(raw, &t) // one that cannot be read says nothing
	return t.Execution.TaskSupport
}

// answersObjects reports whether structured results of a schema are objects, as they
// all are in the legacy era; so are those of a schema that does not say.
func answersObjects(schema []byte) bool {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	return len(schema) == 0 || json.Unmarshal(schema, &s) != nil || s.Type == nil || string(s.Type) == `"object"`
}

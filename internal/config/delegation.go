package config

import (
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A Delegation is an entry that hands its subtask to a tool of the pool, or, without a
// Tool, to a model that may call some.
type Delegation struct {
	Server   string // of the entry
	Tool     tool.ID
	Argument string
	// Where they are written, without texts. Without an argument the second is the first.
	ToolAt, ArgumentAt Problem
}

// noteAgent keeps where an agent names tools, which later checks point at.
func noteAgent(e *entry, in *object) {
	a := e.server.Care.Agent
	place := func(n *source.Node) Problem { return source.Problems([]source.Mistake{n.Mistake("", "")})[0] }
	if a.Tool.Name != "" {
		d := &Delegation{Server: e.server.Name, Tool: a.Tool, Argument: a.Argument, ToolAt: place(in.at("tool"))}
		d.ArgumentAt = d.ToolAt
		if in.has("argument") {
			d.ArgumentAt = place(in.at("argument"))
		}
		e.agent.to = d
	}
	if a.Tool.Server == e.server.Name {
		in.fail(in.at("tool"), "tool: an agent cannot hand its work to itself", "name the tool of another server")
	}
	if len(a.Tools) == 0 || len(a.Tools) != len(in.seen["tools"].Items) {
		return
	}
	e.agent.to = &Delegation{Server: e.server.Name, ToolAt: place(in.at("tools"))}
	for i, n := range in.seen["tools"].Items {
		e.agent.tools = append(e.agent.tools, named.At(n, agentPattern(a.Tools[i]), ""))
	}
}

// agentNames is where an agent names tools.
type agentNames struct {
	to    *Delegation // nil: it names none
	tools []named.Name
}

package config

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// An Agent says that an entry is another agent, which is shown as a server with the
// one tool execute_subtask: a tool of the pool, a model that works with its tools,
// or an agent elsewhere.
type Agent struct {
	Description string
	MaxResult   int // characters
	MaxDepth    int // agents that call each other

	Tool     tool.ID // that does the work; or
	Argument string  // of it, which gets the subtask

	A2A     string // URL of an agent that speaks A2A; or
	Headers map[string]tool.Secret
	Way     // to it

	Model Model
	AgentLimits
	Instructions string
	Skill        string
	Mode         tool.Mode
	Tools        []string // patterns of tools that the model may call
}

// AgentLimits bound one subtask.
type AgentLimits struct {
	MaxIters  int // rounds of the model with tools
	MaxCalls  int // of tools
	MaxTokens int // of all rounds; 0 is no bound
}

// readAgent reads the key agent.
func readAgent(e *entry, o *object) {
	n := o.key("agent")
	if n == nil {
		return
	}
	a := &Agent{MaxResult: 100_000, MaxDepth: 2, Argument: "subtask", AgentLimits: AgentLimits{MaxIters: 3, MaxCalls: 20}}
	e.server.Care.Agent = a
	in := newObject(n, o.ex, o.to)
	in.text("description", &a.Description)
	in.integer("max_result_chars", 100, 1_000_000, &a.MaxResult)
	in.integer("max_depth", 1, 8, &a.MaxDepth)
	readDelegate(in, a, e.dir)
	in.text("instructions", &a.Instructions)
	in.text("skill", &a.Skill)
	var mode string
	modes := []string{"normal", "ask_destructive", "read_only"}
	in.enum("mode", words(modes...), modes, &mode)
	a.Mode = tool.Mode(mode)
	in.integer("max_iters", 1, 50, &a.MaxIters)
	in.integer("max_calls", 1, 1000, &a.MaxCalls)
	in.integer("max_tokens", 0, 1_000_000_000, &a.AgentLimits.MaxTokens)
	in.texts("tools", &a.Tools)
	for _, p := range a.Tools {
		if !strings.Contains(p, "/") || glob.Check(p) != nil {
			in.fail(in.at("tools"), fmt.Sprintf("tools: %q is no pattern of tools", clip(p)), `write "server/tool"; * stands for any text`)
		}
	}
	noteAgent(e, in)
	in.refuse()
	checkAgent(in)
}

// readDelegate reads who does the work.
func readDelegate(in *object, a *Agent, dir string) {
	var to string
	in.text("tool", &to)
	in.text("argument", &a.Argument)
	if to != "" {
		var ok bool
		if a.Tool.Server, a.Tool.Name, ok = strings.Cut(to, "/"); !ok || a.Tool.Server == "" || a.Tool.Name == "" {
			in.fail(in.at("tool"), fmt.Sprintf("tool: %q names no tool", clip(to)), `write "server/tool"`)
		}
	}
	in.text("a2a", &a.A2A)
	in.secrets("headers", wrongHeader, &a.Headers)
	in.readWay(&a.Way, dir)
	if u, err := url.Parse(a.A2A); a.A2A != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil) {
		in.fail(in.at("a2a"), "a2a wants http://host… or https://host…, without user and password", "its card is at /.well-known/agent-card.json below it")
	}
	if n := in.key("model"); n != nil {
		a.Model.read(n, in, dir)
	}
}

// checkAgent looks at what goes together.
func checkAgent(in *object) {
	loop := []string{"instructions", "skill", "mode", "max_iters", "max_calls", "max_tokens", "tools"}
	keys := map[string][]string{"model": loop, "tool": {"argument"}, "a2a": {"headers", "proxy", "ca_file"}} // of one kind alone
	kind := ""
	for _, k := range []string{"model", "tool", "a2a"} {
		if in.has(k) {
			if kind != "" {
				kind = "two"
				break
			}
			kind = k
		}
	}
	if keys[kind] == nil {
		in.fail(in.n, "agent wants one of model, tool and a2a", "model is an endpoint that works with tools of the pool, tool a tool of the pool that takes the subtask, a2a the URL of an agent elsewhere")
		return
	}
	for of, all := range keys {
		for _, key := range all {
			if of != kind && in.has(key) {
				in.fail(in.at(key), key+" means nothing here", "it goes with "+of)
			}
		}
	}
}

// Allows reports whether the agent's model may call a tool, of those that policy lets
// its caller see.
func (a *Agent) Allows(id tool.ID) bool {
	if len(a.Tools) == 0 {
		return a.Skill != ""
	}
	for _, p := range a.Tools {
		if glob.MatchID(agentPattern(p), id) {
			return true
		}
	}
	return false
}

func agentPattern(text string) tool.ID {
	server, name, _ := strings.Cut(text, "/")
	return tool.ID{Server: server, Name: name}
}

func (a *Agent) shown() map[string]any {
	if a == nil {
		return nil
	}
	m := map[string]any{"max_depth": a.MaxDepth, "max_result_chars": a.MaxResult}
	for key, v := range map[string]string{"description": a.Description, "instructions": a.Instructions, "skill": a.Skill, "mode": string(a.Mode)} {
		if v != "" {
			m[key] = v
		}
	}
	if a.Tool.Name != "" {
		m["tool"], m["argument"] = path.Join(a.Tool.Server, a.Tool.Name), a.Argument
		return m
	}
	if a.A2A != "" {
		m["a2a"] = a.A2A
		if len(a.Headers) > 0 {
			m["headers"] = a.Headers
		}
		a.Way.show(m)
		return m
	}
	m["tools"], m["max_iters"], m["max_calls"], m["max_tokens"] = a.Tools, a.MaxIters, a.MaxCalls, a.AgentLimits.MaxTokens
	m["model"] = a.Model.shown()
	return m
}

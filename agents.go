package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/agent"
	"github.com/tenon-mcp/tenon/internal/agent/a2a"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// subtaskTool is the one tool of a server that is an agent.
const subtaskTool = "execute_subtask"

// A delegate is another agent that a member stands for. Its calls of tools go through
// the pipeline in the name of whoever called it, so that it can never do what its caller
// may not.
type delegate struct {
	entry *config.Server
	set   *config.Agent
	run   agent.Runner // where it is a model
	there *a2a.Agent   // where it is one elsewhere
}

type subtaskInput struct {
	Subtask string `json:"subtask" jsonschema:"what the agent is to do or to find out, with all that it needs to know: it sees nothing of this conversation"`
}

// delegate fills in o for an entry that is an agent. Its server in this process does
// nothing but to list the tool: see view.delegate.
func (k maker) delegate(o *upstream.Options, s *config.Server, m *member) error {
	a := s.Care.Agent
	d := &delegate{entry: s, set: a}
	switch {
	case a.A2A != "":
		var err error
		if d.there, err = elsewhere(k, d); err != nil {
			return err
		}
	case a.Tool.Name == "":
		client, err := modelOf(k.cfg, "agent", &a.Model)
		if err != nil {
			return fmt.Errorf("agent: %w", err)
		}
		d.run = agent.Runner{
			Ask: client.Ask, Instructions: a.Instructions,
			MaxIters: a.MaxIters, MaxCalls: a.MaxCalls, MaxTokens: a.AgentLimits.MaxTokens, MaxAnswer: a.Model.MaxTokens,
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: s.Name, Version: version.String()}, nil)
	description := cmp.Or(a.Description, "Hands a subtask to another agent, which works on it by itself and returns what it found.")
	mcp.AddTool(srv, &mcp.Tool{Name: subtaskTool, Description: description},
		func(context.Context, *mcp.CallToolRequest, subtaskInput) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("an agent works through the gateway alone")
		})
	var err error
	if o.Tools, err = toolsOf(k.closing, srv); err != nil {
		return err
	}
	o.Dial = k.inProcess(srv)
	m.delegate, m.probe = d, probeAgent(k.cfg, d)
	m.meta = map[string]tool.Meta{subtaskTool: {
		Registered: true, ReadOnly: a.Tool.Name == "" && a.A2A == "" && a.Mode == tool.ModeReadOnly,
		SideEffect: tool.EffectExternal, RiskLevel: tool.RiskMedium, MaxResultChars: a.MaxResult,
		SearchHint: "agent delegate subtask sub-agent 代理 子任务 委托",
		Labels:     []tool.Label{tool.LabelUntrusted}, AsksModels: d.run.Ask != nil,
	}}
	if a.A2A != "" { // what it is told leaves this pool
		m.meta[subtaskTool] = withLabel(m.meta[subtaskTool], tool.LabelEgress)
	}
	return nil
}

func withLabel(m tool.Meta, l tool.Label) tool.Meta {
	m.Labels = append(m.Labels, l)
	return m
}

// delegate carries out a call of an agent.
func (v view) delegate(ctx context.Context, d *delegate, r *call.Request, params []byte) (tool.Bytes, error) {
	var p struct {
		Arguments subtaskInput `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Arguments.Subtask == "" {
		return agentFailed("subtask is missing: say what the agent is to do.", nil), nil
	}
	depth := agent.Depth(ctx, params)
	if depth >= d.set.MaxDepth {
		return agentFailed(fmt.Sprintf("Not begun: agents have already called agents %d deep, and %s is for at most %d. Do this part yourself.", depth, d.entry.Name, d.set.MaxDepth), nil), nil
	}
	ctx = agent.WithDepth(ctx, d.entry.Name, depth+1)
	w := &deputy{view: v, delegate: d, asked: r, depth: depth + 1}
	if d.set.Tool.Name != "" {
		return w.pass(ctx, p.Arguments.Subtask)
	}
	if d.there != nil {
		return w.call(ctx, p.Arguments.Subtask, params)
	}
	return w.work(ctx, p.Arguments.Subtask)
}

// A deputy is an agent at work for one call.
type deputy struct {
	view
	*delegate
	asked *call.Request
	depth int
}

// do calls a tool of the pool, as the agent's caller and no laxer than they asked.
func (w *deputy) do(ctx context.Context, id tool.ID, arguments json.RawMessage) *tool.Result {
	params, err := json.Marshal(map[string]any{
		"name": id.Name, "arguments": arguments, "_meta": map[string]any{agent.DepthKey: w.depth},
	})
	if err != nil {
		return &tool.Result{Kind: tool.Invalid, Message: "the arguments are no JSON object"}
	}
	if agent.Working(ctx, id.Server) {
		return &tool.Result{Kind: tool.Failed, Message: "Not begun: the agent " + id.Server + " waits for this very work, and would wait for itself."}
	}
	r, caller := w.asked, w.asked.Caller
	caller.Through = cmp.Or(caller.Through, r.Target.String())
	return w.Call(ctx, tool.Call{
		Server: id.Server, Tool: id.Name, Arguments: arguments, Params: params,
		Session: r.Session, Task: r.Task, Skill: cmp.Or(w.set.Skill, r.Skill), Mode: w.set.Mode.Stricter(r.Mode),
		Caller: caller, Person: r.Person, Progress: r.Call.Progress,
	})
}

// pass hands the subtask to a tool of the pool.
func (w *deputy) pass(ctx context.Context, subtask string) (tool.Bytes, error) {
	arguments, err := json.Marshal(map[string]string{w.set.Argument: subtask})
	if err != nil {
		return nil, err
	}
	res := w.do(ctx, w.set.Tool, arguments)
	w.asked.Notes = append(w.asked.Notes, res.Notes...)
	if res.Raw.Len() > 0 {
		return res.Raw, nil
	}
	if w.misuses(res) {
		return w.mendable(res)
	}
	if res.Kind != "" {
		return nil, &tool.Error{Kind: res.Kind, Text: res.Text(), Err: res.Err}
	}
	return agentAnswer(res.Text(), nil), nil
}

// work has a model work on the subtask with the tools that it may call.
func (w *deputy) work(ctx context.Context, subtask string) (tool.Bytes, error) {
	r := w.asked
	offer, err := w.Offer(ctx, Viewer{Caller: r.Caller, Session: r.SessionName(), Skill: cmp.Or(w.set.Skill, r.Skill), Mode: w.set.Mode.Stricter(r.Mode)})
	if err != nil {
		return nil, err
	}
	ids, tools := map[string]tool.ID{}, []model.Tool{}
	for _, t := range offer.tools {
		if !w.set.Allows(t.ID) || agent.Working(ctx, t.Server) || w.depth >= w.set.MaxDepth && w.isAgent(t.Server) {
			continue
		}
		name := offer.snap.AliasOf(t)
		ids[name] = t.ID
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tools = append(tools, model.Tool{Name: name, Description: t.Description, Schema: schema})
	}
	if len(tools) == 0 && len(w.set.Tools) > 0 {
		r.Note("agent", "the agent %s works without tools: none that its entry names can be called here. The operator should look at its tools and mode", w.entry.Name)
	}
	steps := 0
	told := r.ProgressFunc()
	tell := func(step string) {
		if steps++; told == nil {
			return
		}
		b, err := json.Marshal(map[string]any{"progressToken": 0, "progress": steps, "message": step})
		if err == nil {
			told(tool.OneOf(b))
		}
	}
	run := w.run
	run.Spent = func(u model.Usage) error {
		r.Spend(u)
		if broke := r.Broke(); broke != nil {
			return broke
		}
		return nil
	}
	run.Refuse = w.refuse
	out, err := run.Run(ctx, subtask, tools, func(ctx context.Context, name string, arguments json.RawMessage) (string, bool) {
		res := w.do(ctx, ids[name], arguments)
		return res.Text(), res.Kind != ""
	}, tell)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if out.Rounds == 0 && isAway(err) {
			return nil, w.unbegun(egress.Plain(w.secrets.Text(err.Error()), 600), err)
		}
		return w.unfinished(&out, err), nil
	}
	if out.Stopped != "" {
		r.Note("agent", "the agent %s had to answer early: %s", w.entry.Name, out.Stopped)
	}
	out.Text = shortened(out.Text, w.set.MaxResult)
	return agentAnswer(out.Text, &out), nil
}

// unfinished returns the result of an agent that ended without an answer: what its tools
// have found is not lost with it. Where a bound ended it, that is no failure.
func (w *deputy) unfinished(out *agent.Outcome, err error) tool.Bytes {
	why := strings.TrimRight(err.Error(), ". ")
	did := fmt.Sprintf("after %s and %s: %s.", agent.Count(out.Rounds, "round"), agent.Count(len(out.Calls), "call"), why)
	if out.Stopped != "" {
		did += " Before, " + out.Stopped + "."
	}
	head := fmt.Sprintf("UNFINISHED: the agent %s ended without an answer %s What its tools did stays done. What it has found so far follows as its tools gave it; it has drawn no conclusion from it.\n\n", w.entry.Name, did)
	found := out.Found(w.set.MaxResult - utf8.RuneCountInString(head))
	if found == "" {
		return agentFailed(fmt.Sprintf("The agent %s gave up %s What its tools did stays done.", w.entry.Name, did), out)
	}
	out.Text, out.Unfinished = shortened(head+found, w.set.MaxResult), true
	if refused, ok := errors.AsType[*tool.Error](err); out.Stopped == "" && (!ok || refused.Kind == tool.Failed) {
		return agentFailed(out.Text, out)
	}
	w.asked.Note("agent", "the agent %s ended without an answer: %s", w.entry.Name, why)
	return agentAnswer(out.Text, out)
}

// refuse returns what an agent is told that asks for a tool which it was not offered: that
// its entry, or what its caller may do, refuses it. The latter the way of a call decides. It
// is empty where there is no such tool, and for agents, which may wait for this one.
func (w *deputy) refuse(ctx context.Context, name string, arguments json.RawMessage) string {
	server, own, _ := strings.Cut(name, "__")
	id := tool.ID{Server: server, Name: own}
	if t, ok := w.catalog.Snapshot().Alias(name); ok {
		id = t.ID
	} else if !w.catalog.Snapshot().Blacklisted(id) {
		return ""
	}
	if w.isAgent(id.Server) {
		return ""
	}
	if !w.set.Allows(id) {
		return notCarriedOut("The tool " + name + " is not among those that the entry of this agent allows.")
	}
	res := w.do(ctx, id, arguments)
	if res.Kind == tool.Denied {
		return notCarriedOut(res.Text())
	}
	return res.Text()
}

func notCarriedOut(why string) string {
	return "Refused, and not carried out: " + why + " Go on without it, and say in your answer what you could not do."
}

func (w *deputy) isAgent(server string) bool {
	m := w.byName[server]
	return m != nil && m.delegate != nil
}

// shortened cuts a text that is longer than its bound, and says so within it.
func shortened(text string, most int) string {
	const note = "\n[cut]"
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-len(note)]) + note
}

func agentAnswer(text string, out *agent.Outcome) tool.Bytes { return agentResult(text, out, false) }

func agentFailed(text string, out *agent.Outcome) tool.Bytes { return agentResult(text, out, true) }

func agentResult(text string, out *agent.Outcome, failed bool) tool.Bytes {
	result := map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}}
	if failed {
		result["isError"] = true
	}
	if out != nil {
		result["structuredContent"] = out
	}
	b, err := json.Marshal(result)
	if err != nil {
		panic("tenon: the result of an agent: " + err.Error()) // texts and numbers
	}
	return tool.OneOf(b)
}

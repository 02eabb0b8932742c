package tenon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// The names of the tools of the property test. Some are near others, so that a
// correction has somewhere to go.
var anyTool = []string{"read_file", "read_files", "write_file", "delete_file", "notify", "kubectl", "fetch"}

// A run is one execution of a tool, with the arguments that it was given.
type run struct {
	name string
	args json.RawMessage
}

// ran keeps what really ran.
type ran struct {
	mu   sync.Mutex
	runs []run
}

func (r *ran) add(name string, in anyInput) {
	args, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, run{name, args})
}

// since returns what ran since the last time.
func (r *ran) since() []run {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := r.runs
	r.runs = nil
	return runs
}

type anyInput struct {
	Verb string `json:"verb,omitempty"`
	Path string `json:"path,omitempty"`
}

// drawPolicy is a configuration, with whatever an operator may say.
func drawPolicy(t *rapid.T, dir string) string {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	some := func(of []string, name string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 3, rapid.ID[string]).Draw(t, name)
	}
	var b strings.Builder
	b.WriteString("version: 1\ntools:\n  \"go/nothing\": {read_only: true}\n")
	for _, name := range anyTool {
		switch rapid.IntRange(0, 6).Draw(t, name) {
		case 0:
			fmt.Fprintf(&b, "  \"go/%s\": {read_only: true}\n", name)
		case 1:
			fmt.Fprintf(&b, "  \"go/%s\": {destructive: true}\n", name)
		case 2:
			fmt.Fprintf(&b, "  \"go/%s\": {risk_level: high}\n", name)
		case 3:
			fmt.Fprintf(&b, "  \"go/%s\": {is_notification: true}\n", name)
		case 4:
			fmt.Fprintf(&b, "  \"go/%s\": {risk_level: high, is_read_only_for_input: 'args.verb == \"get\"'}\n", name)
		case 5:
			fmt.Fprintf(&b, "  \"go/%s\": {side_effect: network}\n", name)
		}
	}
	mode := rapid.SampledFrom(tool.Modes()).Draw(t, "mode")
	fmt.Fprintf(&b, "policy:\n  mode: %s\n  block_high_risk: %v\n  allow_notification: %v\n", mode, flag("block"), flag("notification"))
	if ruled := some(anyTool, "ruled"); len(ruled) > 0 {
		b.WriteString("  parameters:\n")
		for _, name := range ruled {
			fmt.Fprintf(&b, "    \"go/%s\": {path: {glob: \"/data/**\"}}\n", name)
		}
	}
	if black := some(anyTool, "black"); len(black) > 0 {
		fmt.Fprintf(&b, "blacklist: [go/%s]\n", strings.Join(black, ", go/"))
	}
	fmt.Fprintf(&b, "fallbacks: {\"go/fetch\": [\"go/read_file\", \"go/delete_file\"]}\n")
	entries := some([]string{"go/read_*", "write_file", "go__kubectl", "delete_file", "*", "go/fetch"}, "skill")
	for i, e := range entries {
		entries[i] = fmt.Sprintf("%q", e)
	}
	skill := fmt.Sprintf("---\nname: sk\ndescription: d\nallowed_tools: [%s]\nstrict: %v\n---\n", strings.Join(entries, ", "), flag("strict"))
	if err := os.MkdirAll(filepath.Join(dir, "skills", "sk"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "skills", "sk", "SKILL.md"), []byte(skill), 0o600); err != nil {
		t.Fatal(err)
	}
	b.WriteString("skills: {built_in: false, dirs: [skills]}\n")
	return b.String()
}

// TestRefusedIsRefusedEverywhere: whatever the policy, a tool that is refused at
// the list is on no other list and runs on no path, and one that is refused for
// its arguments does not run with them.
func TestRefusedIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	base, checks := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		dir := filepath.Join(base, strconv.Itoa(checks))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "tenon.yaml")
		if err := os.WriteFile(path, []byte(drawPolicy(t, dir)), 0o600); err != nil {
			t.Fatal(err)
		}
		count := &ran{}
		o := tenon.Options{Config: path, Env: []string{"HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_STATE_HOME=" + dir}}
		for _, name := range anyTool {
			tenon.AddTool(&o, tenon.Function{Name: name, Description: "does " + name}, func(_ context.Context, in anyInput) (struct{}, error) {
				count.add(name, in)
				return struct{}{}, nil
			})
		}
		g, err := tenon.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		defer refusing(t, g)()
		p := paths{t, g, count, tool.Call{}}
		p.call.Mode = rapid.SampledFrom(append(tool.Modes(), "")).Draw(t, "wish")
		if rapid.Bool().Draw(t, "skilled") {
			p.call.Skill = "sk"
		}
		listed := map[string]bool{}
		for _, name := range anyTool {
			listed[name] = p.explain(name, nil).Listed
		}
		p.lists(listed)
		for _, args := range rapid.SliceOfN(rapid.SampledFrom([]string{
			``, `{"path":"/data/x"}`, `{"path":"/etc/x","verb":"get"}`, `{"verb":"get","path":"/data/x"}`, `{"Verb":"get"}`,
			`{"path":"/data/../etc"}`, `{"path":"/data/x","verb":"delete"}`, `{"PATH":"/data/x"}`, `{"path":1}`,
		}), 1, 3).Draw(t, "args") {
			p.calls(json.RawMessage(args), rapid.SampledFrom(anyTool).Draw(t, "tool"))
		}
	})
}

// paths are the ways to tools of one pool, for callers of one kind.
type paths struct {
	*rapid.T

	g     *tenon.Gateway
	count *ran
	call  tool.Call // what all calls have in common
}

func (p *paths) explain(name string, args json.RawMessage) *tenon.Explanation {
	c := p.call
	c.Server, c.Tool, c.Arguments = "go", name, args
	e, err := p.g.Policy().Explain(p.Context(), c)
	if err != nil {
		p.Fatal(err)
	}
	return e
}

// lists looks at every list.
func (p *paths) lists(listed map[string]bool) {
	who := tenon.Viewer{Skill: p.call.Skill, Mode: p.call.Mode}
	l, err := p.g.Tools(p.Context(), tenon.ListOptions{Viewer: who})
	if err != nil {
		p.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range l.Servers {
		for _, x := range s.Tools {
			seen[x.Name] = true
		}
	}
	for name, want := range listed {
		if seen[name] != want {
			p.Errorf("%s is on the list: %v, and is explained as listed: %v", name, seen[name], want)
		}
	}
	offer, err := p.g.Offered(who)
	if err != nil {
		p.Fatal(err)
	}
	found, err := p.g.Find(p.Context(), tenon.FindOptions{Viewer: who, Words: strings.Join(anyTool, " "), Limit: 100})
	if err != nil {
		p.Fatal(err)
	}
	for flat, x := range offer.All {
		if strings.HasPrefix(flat, "go__") && !listed[x.Name] {
			p.Errorf("%s is offered, and is not listed", flat)
		}
	}
	for _, name := range anyTool {
		if slices.ContainsFunc(found, func(m tenon.Match) bool { return m.Name == name }) && !listed[name] {
			p.Errorf("%s is found, and is not listed", name)
		}
	}
}

// calls makes calls of a tool with these arguments on every path, and looks at
// what ran.
func (p *paths) calls(args json.RawMessage, name string) {
	for _, spelled := range [][2]string{
		{"go", name}, {"", name}, {"other", name}, {"go", name + "s"}, {"go", strings.ToUpper(name)}, {"", "go__" + name}, {"go", "go__" + name},
	} {
		c := p.call
		c.Server, c.Tool, c.Arguments = spelled[0], spelled[1], args
		res := p.g.Call(p.Context(), c)
		ran := p.count.since()
		p.mayRun(c, ran)
		p.sameByName(c, res, ran)
		if id, ok := p.g.Named(c.Tool); ok {
			c.Server, c.Tool = id.Server, id.Name
		}
		p.g.CallBatch(p.Context(), []tool.Call{c, c})
		p.mayRun(c, p.count.since())
		if spelled != [2]string{"go", name} || p.explain(name, nil).Listed {
			continue
		}
		if res.Kind != tool.Denied {
			p.Errorf("the call of %s, which is not listed, ends with %q: %s", name, res.Kind, res.Text())
		}
	}
}

// sameByName makes the call by the tool that calls others, in both of its spellings, and
// holds what comes of it against what came of the call itself.
func (p *paths) sameByName(c tool.Call, direct *tool.Result, ran []run) {
	if strings.Contains(c.Tool, "__") {
		return // a flat name is taken apart here, and by front ends elsewhere
	}
	name := c.Tool
	if c.Server != "" {
		name = c.Server + "__" + c.Tool
	}
	wish := map[string]any{"tool_name": name}
	if len(c.Arguments) > 0 {
		wish["arguments"] = c.Arguments
		if len(name)%2 == 0 {
			delete(wish, "arguments")
			wish["arguments_json"] = string(c.Arguments)
		}
	}
	raw, err := json.Marshal(wish)
	if err != nil {
		p.Fatal(err)
	}
	by := c
	by.Server, by.Tool, by.Arguments = "", "mcp_execute_tool", raw
	res := p.g.Call(p.Context(), by)
	again := p.count.since()
	if res.Kind != direct.Kind || res.Server != direct.Server || res.Tool != direct.Tool || what(again) != what(ran) {
		p.Errorf("%s/%s with %s: the call is %q by %s/%s and runs %s; by mcp_execute_tool %q by %s/%s, and runs %s\n%s\n%s", c.Server, c.Tool, c.Arguments,
			direct.Kind, direct.Server, direct.Tool, ran, res.Kind, res.Server, res.Tool, again, direct.Text()+noteTexts(direct), res.Text()+noteTexts(res))
	}
}

// what says what ran, whether once or twice: a read may be repeated.
func what(runs []run) string {
	var texts []string
	for _, r := range runs {
		texts = append(texts, r.name+" "+string(r.args))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\n")
}

// refusing is a person who refuses whatever is asked, at once, until it is called.
func refusing(t *rapid.T, g *tenon.Gateway) func() {
	ctx, cancel := context.WithCancel(t.Context())
	told := g.Approvals().Watch(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
			}
			all, _ := g.Approvals().Pending(ctx, 100) // none when it is over
			for _, a := range all {
				_, _ = g.Approvals().Decide(ctx, a.ID, tool.Verdict{By: "me"}) // its call may have ended
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// mayRun holds what ran, with the arguments that arrived, against what is
// explained.
func (p *paths) mayRun(c tool.Call, runs []run) {
	for _, r := range runs {
		e := p.explain(r.name, r.args)
		if e.Decision.Behavior != tool.Allow || !e.Listed {
			p.Errorf("the call of %s/%s with %s ran %s with %s, which is %s: %s", c.Server, c.Tool, c.Arguments, r.name, r.args, e.Decision.Behavior, e.Decision.Reason)
		}
	}
}

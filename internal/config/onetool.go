package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/source"
)

// oneTools reads one-tool files, whose servers start in the folder project.
type oneTools struct {
	*loader

	project string
}

// read reads a file that holds one server.
func (t oneTools) read(d *document) *entry {
	key := d.root.Field("name")
	if key == nil || key.Kind != source.Text || key.Text == "" {
		key = &source.Node{File: d.root.File, Line: d.root.Line, Column: d.root.Column, Kind: source.Text, Text: stem(d.path)}
	}
	e, o := t.newEntry(key, d.root, t.project, false)
	e.file = stem(d.path)
	o.ex.Mandatory = true
	t.what(e, o)
	e.reach(o)
	e.life(o)
	o.rest(func(key *source.Node) {
		t.warn(key, fmt.Sprintf("key %q means nothing in a one-tool file", clip(key.Text)), suggest(key.Text, o.known, "known here"))
	})
	e.check(t.bundled)
	return e
}

// broken returns the entry of a one-tool file that cannot be read.
func (t oneTools) broken(at *source.Node, name string, why source.Mistake) *entry {
	key := &source.Node{File: at.File, Line: at.Line, Column: at.Column, Kind: source.Text, Text: name}
	e, _ := t.newEntry(key, whole(at.File), t.project, false)
	e.file, e.mistakes = name, []source.Mistake{why}
	e.server.Isolation = IsolationSession
	return e
}

// stem returns a file's name without its folder and ending.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// what reads the keys that say which server it is. They differ from those of a
// tenon.yaml.
func (t oneTools) what(e *entry, o *object) {
	s := &e.server
	s.Isolation = IsolationSession
	o.text("name", &s.Name)
	o.text("tool_command", &s.Command)
	o.text("command", &s.Command)
	o.text("bundled", &s.Bundled)
	e.options(o)
	var transport string
	spellings := []string{"auto", "stdio", "streamable-http", "sse"}
	o.enum("type", transports, spellings, &transport)
	o.enum("transport", transports, spellings, &transport)
	if transport != "" {
		s.Transport = Transport(transport)
	}
	switch {
	case s.Command == "python":
		s.Command = t.python()
	case strings.HasPrefix(s.Command, "http://") || strings.HasPrefix(s.Command, "https://"):
		// The layout has no key for an address: a command that is one is SSE.
		s.URL, s.Command = s.Command, ""
		e.places["url"], e.places["tool_command"] = e.places["tool_command"], nil
		if s.Transport == TransportAuto {
			s.Transport = TransportSSE
		}
	}
}

// python returns the interpreter of the project: that of the virtual environment
// that is active, else what the system calls Python 3.
func (t oneTools) python() string {
	venv := t.env[envKey("VIRTUAL_ENV")]
	switch {
	case venv != "" && runtime.GOOS == "windows":
		return filepath.Join(venv, "Scripts", "python.exe")
	case venv != "":
		return filepath.Join(venv, "bin", "python")
	case runtime.GOOS == "windows":
		return "python"
	}
	return "python3"
}

func isWindowsPath(command string) bool {
	return runtime.GOOS == "windows" && strings.Contains(command, `\`)
}

// folder reads the one-tool files of a folder by name, or those that its agent
// file picks where it has one.
func (t oneTools) folder(at *source.Node, dir string) {
	tools, agents := t.files(at, dir)
	switch {
	case len(agents) > 1:
		var names []string
		for _, a := range agents {
			names = append(names, filepath.Base(a.path))
		}
		t.fail(at, "folder holds several agent files: "+strings.Join(names, ", "), "name the one to use")
	case len(agents) == 1:
		t.agent(agents[0], tools)
	case len(tools) == 0:
		t.fail(at, fmt.Sprintf("folder %s holds no %s and no one-tool files (*.yaml)", dir, mainFile), "")
	default:
		t.add(tools...)
	}
}

// files reads the YAML files of a folder by name. One that cannot be read is a
// broken entry, so that it does not stop the others.
func (t oneTools) files(at *source.Node, dir string) (tools []*entry, agents []*document) {
	t.note(dir)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.fail(at, reason(err).Error(), "")
		return nil, nil
	}
	for _, f := range list {
		ext := strings.ToLower(filepath.Ext(f.Name()))
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(dir, f.Name())
		file := t.newFile(path)
		root, bad := t.parse(file, path)
		switch {
		case bad != nil:
			tools = append(tools, t.broken(whole(file), stem(path), *bad))
		case isAgent(root):
			agents = append(agents, &document{root, shapeAgent, path})
		default:
			tools = append(tools, t.read(&document{root, shapeOneTool, path}))
		}
	}
	return tools, agents
}

// isAgent tells whether a file picks one-tool files.
func isAgent(root *source.Node) bool {
	for _, section := range agentSections(root) {
		if section.Field("tool_config") != nil || section.Field("tool_blacklist") != nil {
			return true
		}
		if tools := section.Field("tools"); section != root && tools != nil && tools.Kind == source.List {
			return true
		}
	}
	return false
}

// agentSections returns the maps of an agent file that may pick tools: the file
// itself, its main agent and its sub-agents.
func agentSections(root *source.Node) []*source.Node {
	out := []*source.Node{root}
	if n := root.Field("main_agent"); n != nil {
		out = append(out, n)
	}
	if n := root.Field("sub_agents"); n != nil {
		for _, p := range n.Pairs {
			out = append(out, p.Value)
		}
	}
	return out
}

// agent adds the one-tool files that an agent file picks, in its order, and its
// blacklist. They are picked out of pool, or where that is empty out of the
// folder `tool` beside the file, or its own. Other keys of an agent file are not
// for Tenon.
func (t oneTools) agent(d *document, pool []*entry) {
	if pool == nil {
		pool = t.pool(d)
	}
	ex := t.expander(nil)
	ex.Mandatory = true
	picked := make(map[*entry]bool)
	all := true
	for _, section := range agentSections(d.root) {
		if section.Kind != source.Map {
			continue
		}
		o := newObject(section, ex, &t.mistakes)
		names := o.list("tool_config")
		all = all && section.Field("tool_config") == nil
		if section != d.root && o.has("tools") {
			names = append(slices.Clone(names), o.list("tools")...)
			all = false
		}
		for _, n := range names {
			if text, ok := o.scalar(n); ok {
				t.pick(n, text, pool, picked)
			}
		}
		t.blacklist(o, "tool_blacklist")
	}
	if all { // a blacklist alone picks nothing, so the whole folder counts
		t.add(pool...)
	}
}

// pool returns the one-tool files beside an agent file.
func (t oneTools) pool(d *document) []*entry {
	beside := filepath.Dir(d.path)
	for _, dir := range []string{filepath.Join(beside, "tool"), filepath.Join(beside, "tools"), filepath.Join(beside, "..", "tool")} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			tools, _ := t.files(whole(d.root.File), dir)
			return tools
		}
	}
	tools, _ := t.files(whole(d.root.File), beside)
	return tools
}

// pick adds the entry of one name. A name that is not there is a broken entry.
func (t oneTools) pick(n *source.Node, text string, pool []*entry, picked map[*entry]bool) {
	name := stem(filepath.FromSlash(text))
	if filepath.Ext(text) != ".yaml" && filepath.Ext(text) != ".yml" {
		name = text
	}
	known := make(map[string]*entry)
	for _, e := range pool {
		known[e.server.Name] = e
	}
	for _, e := range pool { // a file's name wins over a name within another
		if e.file != "" {
			known[e.file] = e
		}
	}
	if e := known[name]; e != nil {
		if !picked[e] {
			t.add(e)
		}
		picked[e] = true
		return
	}
	why := n.Mistake(fmt.Sprintf("no one-tool file %q", clip(name)), suggest(name, slices.Collect(maps.Keys(known)), "there are"))
	t.add(t.broken(n, name, why))
}

package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/internal/browser"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/definitions"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// Definitions compares what servers say of their tools with what was accepted, and
// accepts it. It is got from a Gateway.
type Definitions struct{ g *Gateway }

// Definitions returns what compares and accepts definitions.
func (g *Gateway) Definitions() Definitions { return Definitions{g} }

// A DefinitionReport says how the definitions of servers differ from those that were
// accepted.
type DefinitionReport struct {
	OK    bool   `json:"ok"`              // nothing differs, and nothing is blocked
	Lock  string `json:"lock"`            // path of the file with the accepted ones
	Error string `json:"error,omitempty"` // why that cannot be read
	// Servers are those of the configuration in its order, then those that only the
	// file has.
	Servers []ServerDefinitions `json:"servers"`

	narrow bool
}

// ServerDefinitions is what a DefinitionReport says of one server.
type ServerDefinitions struct {
	Name  string `json:"name"`
	State string `json:"state"`           // equal, changed, new, removed or unreachable
	Error string `json:"error,omitempty"` // why it is unreachable
	Count int    `json:"tools"`           // that it has
	// Source are the changes of its command, its version and its instructions, Tools
	// those of its tools.
	Source []definitions.Field      `json:"source,omitempty"`
	Tools  []definitions.ToolChange `json:"changes,omitempty"`
	// Findings are what may be hidden in its definitions.
	Findings []Finding `json:"findings,omitempty"`
	// Floating is the package where no version of it is named, so that another one may
	// run tomorrow.
	Floating string `json:"floating,omitempty"`

	now *definitions.Server
}

// The states of a server in a report.
const (
	definitionsEqual       = "equal"
	definitionsChanged     = "changed"
	definitionsNew         = "new"
	definitionsRemoved     = "removed"
	definitionsUnreachable = "unreachable"
)

// Compare starts or connects all servers, or only those that are named, side by side,
// and compares what they list with what was accepted. told is called as each of them
// is done, and may be nil. The error is a *tool.Error for a server that is not
// configured, or for a pool that no file can lie beside, or the cause of ctx.
func (d Definitions) Compare(ctx context.Context, names []string, told func(server string)) (*DefinitionReport, error) {
	p := d.g.pool.Load()
	if p.trust.file == "" {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "the built-in pool has no configuration that definitions could be accepted for: write a tenon.yaml first"}
	}
	var members []*member
	for _, name := range names {
		if p.byName[name] == nil {
			return nil, noServer(view{d.g, p}, name)
		}
	}
	for _, m := range p.members {
		if m.entry != nil && (len(names) == 0 || slices.Contains(names, m.name)) {
			members = append(members, m)
		}
	}
	errs := d.reach(ctx, members, told)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	lock, err := definitions.Read(p.trust.file)
	r := &DefinitionReport{OK: err == nil, Lock: p.trust.file, narrow: len(names) > 0}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Error = fmt.Sprintf("there is no %s: tenon lock writes it", filepath.Base(r.Lock))
	case err != nil:
		r.Error = err.Error()
	}
	view := maker{d.g, p}
	scanner := definitions.NewScanner(view.names())
	for i, m := range members {
		s := view.compare(m, errs[i], lock.Server(m.name), scanner)
		r.OK = r.OK && s.State == definitionsEqual && !view.blocked(&s, lock)
		r.Servers = append(r.Servers, s)
	}
	if lock != nil && !r.narrow {
		for _, name := range lock.Servers() {
			if m := p.byName[name]; m == nil || m.entry == nil {
				r.Servers = append(r.Servers, ServerDefinitions{Name: name, State: definitionsRemoved})
				r.OK = false
			}
		}
	}
	return r, nil
}

// reach starts members and waits until their tools are known.
func (d Definitions) reach(ctx context.Context, members []*member, told func(string)) []error {
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			errs[i] = m.await(ctx)
			if told != nil {
				told(m.name)
			}
		})
	}
	wg.Wait()
	return errs
}

// names returns the names of all tools that are known, by server.
func (k maker) names() map[string][]string {
	pool := map[string][]string{}
	for _, t := range k.catalog.Snapshot().Tools() {
		pool[t.Server] = append(pool[t.Server], t.Name)
	}
	return pool
}

// compare says how a member differs from what was accepted of it.
func (k maker) compare(m *member, err error, accepted *definitions.Server, scanner *definitions.Scanner) ServerDefinitions {
	out := ServerDefinitions{Name: m.name, State: definitionsEqual}
	if err != nil {
		out.State, out.Error = definitionsUnreachable, k.trust.hide(tool.Flatten(err))
		return out
	}
	raw := k.Gateway.toolsOf(m)
	now := definitions.Server{
		Name: m.name, Source: k.source(m), Instructions: k.trust.hide(m.about().Instructions), Tools: definitions.Definitions(raw, k.trust.clean),
	}
	if k.trust.scan != config.ScanOff && m.entry.Bundled == "" { // those of this program hide nothing
		out.Findings = scanner.Instructions(m.name, now.Instructions)
		for _, r := range raw {
			out.Findings = append(out.Findings, scanner.Tool(m.name, r, k.trust.clean)...)
		}
	}
	for i := range now.Tools {
		for j := range out.Findings {
			if f := &out.Findings[j]; f.Tool == now.Tools[i].Name && f.Serious() && !slices.Contains(now.Tools[i].Found, f.Rule) {
				now.Tools[i].Found = append(now.Tools[i].Found, f.Rule)
			}
		}
		slices.Sort(now.Tools[i].Found)
	}
	if now.Source.Floating() {
		out.Floating = now.Source.Package
	}
	c := definitions.Compare(accepted, &now)
	out.Source, out.Tools, out.Count, out.now = c.Source, c.Tools, len(now.Tools), &now
	switch {
	case c.New:
		out.State = definitionsNew
	case !c.Equal():
		out.State = definitionsChanged
	}
	return out
}

// blocked reports whether the pool would hold back a tool of the server for what was
// found in it.
func (k maker) blocked(s *ServerDefinitions, lock *definitions.Lock) bool {
	if k.trust.scan != config.ScanBlock || s.now == nil {
		return false
	}
	accepted := lock.Server(s.Name)
	for i := range s.now.Tools {
		t := &s.now.Tools[i]
		if slices.ContainsFunc(t.Found, func(rule string) bool { return !accepted.Accepts(t, rule) }) {
			return true
		}
	}
	return false
}

// toolsOf returns the tools of a member as it listed them last.
func (g *Gateway) toolsOf(m *member) []json.RawMessage {
	g.offering.Lock()
	defer g.offering.Unlock()
	return m.tools
}

// about returns what the member said of itself.
func (m *member) about() upstream.About {
	if m.server == nil {
		return upstream.About{}
	}
	return m.server.About()
}

// source says what a member is, without secrets.
func (k maker) source(m *member) definitions.Source {
	s := m.entry.Shown()
	var out definitions.Source
	switch {
	case s.Bundled != "":
		return definitions.Source{Kind: "bundled", Run: s.Bundled, Version: version.String()}
	case s.Care.Agent != nil:
		return definitions.Source{Kind: "bundled", Run: "agent", Version: version.String()}
	case s.Care.Browser != nil && s.Command == "":
		out = definitions.Command(k.cfg.Dir, "npx", []string{"-y", browser.Package})
	case s.Command != "":
		out = definitions.Command(k.cfg.Dir, s.Command, s.Args)
	default:
		out = definitions.URL(s.URL)
	}
	if about := m.about(); about.Name != "" {
		out.Reported = k.trust.hide(about.Name + " " + about.Version)
	}
	return out
}

// The changes of a tool since it was accepted.
const (
	ToolAdded   = definitions.Added
	ToolRemoved = definitions.Removed
	ToolRenamed = definitions.Renamed // the same definition under another name
	ToolChanged = definitions.Changed // another definition under the same name
)

// Visible returns a text that a server wrote with escapes for what cannot be seen, or
// would control a terminal.
func Visible(text string) string { return definitions.Show(text, false) }

// Accept writes what a report says of its servers to the file, whole or not at all,
// and reports whether that changes it. Of a report on some servers the others stay as
// they were accepted. The error is a *tool.Error of kind Unavailable where one could
// not be reached.
func (d Definitions) Accept(r *DefinitionReport) (changed bool, err error) {
	lock, err := definitions.Read(r.Lock)
	switch {
	case err == nil:
	case r.narrow && !errors.Is(err, fs.ErrNotExist):
		return false, &tool.Error{Kind: tool.Invalid, Text: err.Error() + ": accept all servers to write it anew", Err: err}
	default:
		lock = &definitions.Lock{}
	}
	before := string(lock.Bytes())
	for i := range r.Servers {
		switch s := &r.Servers[i]; s.State {
		case definitionsUnreachable:
			return false, &tool.Error{Kind: tool.Unavailable, Text: fmt.Sprintf("server %s cannot be reached, so nothing is accepted: %s", s.Name, s.Error)}
		case definitionsRemoved:
			lock.Remove(s.Name)
		default:
			lock.Accept(s.now)
		}
	}
	if err == nil && string(lock.Bytes()) == before {
		return false, nil
	}
	return true, lock.Write(r.Lock)
}

// Findings returns what is found in the definitions of all tools that are known.
func (d Definitions) Findings() []Finding {
	p := d.g.pool.Load()
	k := maker{d.g, p}
	if p.trust.scan == config.ScanOff {
		return nil
	}
	scanner := definitions.NewScanner(k.names())
	var out []Finding
	for _, m := range p.members {
		if m.entry == nil || m.entry.Bundled != "" {
			continue
		}
		out = append(out, scanner.Instructions(m.name, p.trust.hide(m.about().Instructions))...)
		for _, r := range d.g.toolsOf(m) {
			out = append(out, scanner.Tool(m.name, r, p.trust.clean)...)
		}
	}
	return out
}

package tenon

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/definitions"
	"github.com/tenon-mcp/tenon/tool"
)

// A Finding is a place in a tool's definition that looks as if it were there to steer
// a model without a person's noticing.
type Finding = definitions.Finding

// trust is what a pool makes of the definitions of tools: it knows those that were
// accepted, and what was found in those that are offered.
type trust struct {
	mode  config.Trust
	scan  config.Scan
	file  string              // of the lock, or ""
	lock  *definitions.Lock   // nil where there is none, or none that can be read
	err   error               // why the lock cannot be read
	state string              // of the file, to notice another one
	clean func(string) string // hides secrets

	mu    sync.Mutex
	looks map[string]map[[32]byte]looked // by server, and the sum of a tool's text
}

// looked is what was found in one text.
type looked struct {
	tool     definitions.Tool
	findings []Finding
}

// newTrust reads the lock of a configuration.
func newTrust(cfg *config.Config, log *slog.Logger) *trust {
	d := cfg.Policy.Definitions
	t := &trust{mode: d.Mode, scan: d.Scan, file: cfg.LockFile(), clean: cleaner(cfg.Secrets), looks: map[string]map[[32]byte]looked{}}
	if t.scan == "" {
		t.scan = config.ScanReport
	}
	if t.file != "" {
		t.lock, t.err = definitions.Read(t.file)
		t.state = lockState(t.lock, t.err)
	}
	if t.mode == "" {
		t.mode = config.TrustAll
		if t.file != "" && !errors.Is(t.err, fs.ErrNotExist) {
			t.mode = config.TrustReport
		}
	}
	if t.mode != config.TrustAll && t.err != nil {
		log.Warn("accepted definitions cannot be read", "file", t.file, "error", t.err)
	}
	return t
}

// lockState tells one lock from another.
func lockState(l *definitions.Lock, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return l.Sum()
}

// same reports whether the lock is the one that was read.
func (t *trust) same() bool {
	if t.file == "" {
		return true
	}
	return t.state == lockState(definitions.Read(t.file))
}

// cleaner returns what hides secrets in texts, or nil where there are none.
func cleaner(secrets []tool.Secret) func(string) string {
	if len(secrets) == 0 {
		return nil
	}
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s.Reveal(), tool.Secret{}.String())
	}
	return strings.NewReplacer(pairs...).Replace
}

// look returns what is found in the tools of a server. What was looked at before is
// not looked at again. Without a scanner nothing is looked for.
func (t *trust) look(server string, raw []json.RawMessage, s *definitions.Scanner) []looked {
	t.mu.Lock()
	old := t.looks[server]
	t.mu.Unlock()
	now := make(map[[32]byte]looked, len(raw))
	out := make([]looked, len(raw))
	for i, r := range raw {
		sum := sha256.Sum256(r)
		l, ok := old[sum]
		if !ok {
			if s != nil {
				l.findings = s.Tool(server, r, t.clean)
			}
			if t.mode != config.TrustAll || len(l.findings) > 0 {
				l.tool, _ = definitions.New(r, t.clean) // what is no tool is not offered
				l.tool = l.tool.Sum()
			}
		}
		now[sum], out[i] = l, l
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looks[server] = now
	return out
}

// inspect looks at what a member has listed, before anybody waits for it.
func (g *Gateway) inspect(m *member, raw []json.RawMessage) {
	p := g.pool.Load()
	if p == nil || m.entry == nil || p.trust.idle() {
		return
	}
	names := make([]tool.Tool, 0, len(raw))
	for _, r := range raw {
		if t, err := catalog.Parse(r); err == nil {
			names = append(names, t)
		}
	}
	p.trust.look(m.name, raw, maker{g, p}.scanner(m, names))
}

// idle reports whether nobody looks at definitions.
func (t *trust) idle() bool { return t.mode == config.TrustAll && t.scan == config.ScanOff }

// scanner returns a scanner that knows the tools of the pool, and these of a member.
// There is none for a bundled server: its definitions are those of this program.
func (k maker) scanner(m *member, tools []tool.Tool) *definitions.Scanner {
	if k.trust.scan == config.ScanOff || m.entry.Bundled != "" {
		return nil
	}
	server := m.name
	pool := map[string][]string{}
	for _, t := range k.catalog.Snapshot().Tools() {
		if t.Server != server {
			pool[t.Server] = append(pool[t.Server], t.Name)
		}
	}
	for i := range tools {
		pool[server] = append(pool[server], tools[i].Name)
	}
	return definitions.NewScanner(pool)
}

// judge says of each tool of a member why it may not be used, if it may not, and
// tells the operator what there is to know of the others.
func (k maker) judge(m *member, tools []tool.Tool) {
	t := k.trust
	if m.entry == nil || t.idle() {
		m.concerns.Store(nil)
		return
	}
	raw := make([]json.RawMessage, len(tools))
	offered := make(map[string]bool, len(tools))
	for i := range tools {
		raw[i] = tools[i].Raw
		offered[tools[i].Name] = true
	}
	scanner := k.scanner(m, tools)
	all := t.look(m.name, raw, scanner)
	accepted := t.lock.Server(m.name)
	var concerns []string
	if about := m.about(); about.Instructions != "" && scanner != nil {
		for _, f := range scanner.Instructions(m.name, t.hide(about.Instructions)) {
			concerns = append(concerns, concernOf(&f)...)
		}
	}
	for i := range tools {
		l := &all[i]
		held, concern := t.difference(accepted, &l.tool, func(name string) bool { return offered[name] })
		switch {
		case concern == "":
		case accepted == nil: // all tools have the same
			concern = "all tools: " + concern
			if !slices.Contains(concerns, concern) {
				concerns = append(concerns, concern)
			}
		default:
			concerns = append(concerns, definitions.Show(tools[i].Name, false)+": "+concern)
		}
		for j := range l.findings {
			f := &l.findings[j]
			if accepted.Accepts(&l.tool, f.Rule) {
				continue
			}
			concerns = append(concerns, concernOf(f)...)
			if f.Serious() && t.scan == config.ScanBlock && held == "" {
				held = fmt.Sprintf("its definition may hold hidden instructions (%s at %s)", f.Rule, definitions.Show(f.Place, false))
			}
		}
		tools[i].Held = held
	}
	k.concern(m, concerns)
}

// hide hides secrets.
func (t *trust) hide(text string) string {
	if t.clean == nil {
		return text
	}
	return t.clean(text)
}

// concernOf tells an operator of a finding, if it is one to be told.
func concernOf(f *Finding) []string {
	if !f.Serious() {
		return nil
	}
	where := f.Tool
	if where == "" {
		where = "instructions"
	}
	return []string{fmt.Sprintf("%s: %s at %s: %s: %s", definitions.Show(where, false), f.Rule, definitions.Show(f.Place, false), f.Why, f.Text)}
}

// difference says why a tool may not be used, and what the operator is told of it.
func (t *trust) difference(accepted *definitions.Server, d *definitions.Tool, offered func(string) bool) (held, concern string) {
	if t.mode == config.TrustAll {
		return "", ""
	}
	name := filepath.Base(t.file)
	switch {
	case t.file == "":
		concern = "there is no configuration that a file with accepted definitions could lie beside"
	case errors.Is(t.err, fs.ErrNotExist):
		concern = fmt.Sprintf("there is no %s with accepted definitions", name)
	case t.err != nil:
		concern = fmt.Sprintf("%s with the accepted definitions cannot be read", name)
	case accepted == nil:
		concern = "its server is not in " + name
	default:
		change, was, members := accepted.Judge(d, offered)
		switch change {
		case definitions.Added:
			concern = "it is new since the definitions of its server were accepted"
		case definitions.Renamed:
			concern = fmt.Sprintf("it is a new name for %s, which was accepted", definitions.Show(was, false))
		case definitions.Changed:
			concern = "its definition is not the one that was accepted"
			if len(members) > 0 {
				concern += " (" + definitions.Show(strings.Join(members, ", "), false) + ")"
			}
		case definitions.Removed:
		}
	}
	if t.mode == config.TrustPinned {
		held = concern
	}
	return held, concern
}

// maxConcerns is how many concerns of one server are told.
const maxConcerns = 20

// concern keeps what there is to know of a member's definitions, and logs what is
// new of it.
func (k maker) concern(m *member, concerns []string) {
	if len(concerns) > maxConcerns {
		concerns = append(concerns[:maxConcerns:maxConcerns], fmt.Sprintf("and %d more: tenon verify tells all", len(concerns)-maxConcerns))
	}
	told := map[string]bool{}
	if before := m.concerns.Load(); before != nil {
		for _, c := range *before {
			told[c] = true
		}
	}
	for _, c := range concerns {
		if !told[c] {
			k.log.Warn("definition of a tool is not trusted", "server", m.name, "what", c)
		}
	}
	m.concerns.Store(&concerns)
}

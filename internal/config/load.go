package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

const maxServers = 1000

// Load reads the files. The error is an *Error with every mistake outside server
// entries, and with `strict: true` every mistake. It is safe for concurrent use.
func Load(src Source) (*Config, error) {
	l := newLoader(src)
	l.main(src.Path)
	return l.finish()
}

func newLoader(src Source) *loader {
	l := &loader{
		files:        files{env: environ(src.Env), secrets: make(map[string]bool), noted: make(map[string]bool)},
		bundled:      src.Bundled,
		otherNames:   otherNames{src.Aliases, src.AliasOptions},
		builtInRules: src.Rules, checkAddress: src.CheckAddress,
		checkParameter: src.CheckParameter, checkReadOnlyFor: src.CheckReadOnlyFor,
		skillReader: skillReader{loadSkills: src.LoadSkills},
		names:       make(map[string]*source.Node),
		outside:     outside{keyring: make(map[string]string), told: make(map[string]bool)},
	}
	l.cfg, _ = defaults()
	l.cfg.Path = src.Path
	return l
}

// A loader is one load under way: what was read so far. The readers of each
// layout (sections, oneTools, clients) add to it.
type loader struct {
	files
	outside
	skillReader

	bundled []string
	otherNames
	builtInRules []string
	checkAddress func(string) error

	checkParameter   func(ParameterRule) error
	checkReadOnlyFor func(string) error

	cfg      Config
	entries  []*entry
	names    map[string]*source.Node // the first entry of each name
	warnings []source.Mistake
	patterns []located // for checks when all servers are known
	timeouts []limited // for checks when the gateway's limits are known
}

type located struct {
	id       tool.ID
	at       *source.Node
	argument string // of a rule for one
}

type limited struct {
	d  time.Duration
	at *source.Node
}

func (l *loader) warn(at *source.Node, text, hint string) {
	l.warnings = append(l.warnings, at.Mistake(text, hint))
}

// expander returns what puts the environment into the texts of e, or of a
// section where e is nil.
func (l *loader) expander(e *entry) *interpolate.Expander {
	x := &interpolate.Expander{Lookup: l.lookup, Sources: elsewhere{l, l.cfg.Dir}.sources()}
	if e == nil {
		return x // an address to listen on is to be seen
	}
	x.Sources = elsewhere{l, e.dir}.sources()
	x.Found = func(name, value string) {
		l.hide(name, value)
		if !slices.Contains(e.server.hidden, value) {
			e.server.hidden = append(e.server.hidden, value)
		}
	}
	return x
}

// main reads what the source names, and .env beside it.
func (l *loader) main(path string) {
	file := l.newFile(path)
	if path == "" {
		l.fail(whole(file), "no configuration is named", "")
		return
	}
	wd, err := filepath.Abs(".")
	if err != nil {
		l.fail(whole(file), "the working folder is unknown: "+err.Error(), "")
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		l.fail(whole(file), reason(err).Error(), nearestFile(path, err))
		return
	}
	if info.IsDir() {
		l.cfg.Dir = under(wd, path)
		l.dotenv(path, ".")
		l.folder(whole(file), path, wd)
		return
	}
	l.cfg.Dir = under(wd, filepath.Dir(path))
	l.dotenv(filepath.Dir(path), ".")
	if d := l.document(file, path); d != nil {
		l.place(d, wd)
	}
}

// folder reads a folder: its tenon.yaml, or else its one-tool files.
func (l *loader) folder(at *source.Node, dir, project string) {
	own := filepath.Join(dir, mainFile)
	if _, err := os.Stat(own); err != nil {
		oneTools{l, project}.folder(at, dir)
		return
	}
	if d := l.document(l.newFile(own), own); d != nil {
		l.place(d, project)
	}
}

// place puts what a document holds into the configuration. Servers of a one-tool
// file start in the folder project.
func (l *loader) place(d *document, project string) {
	switch d.shape {
	case shapeTenon:
		sections{l, d}.read()
	case shapeClient:
		clients{l, workspace(d.dir())}.read(d)
	case shapeOneTool:
		l.add(oneTools{l, project}.read(d))
	case shapeAgent:
		oneTools{l, project}.agent(d, nil)
	}
}

// add keeps entries. Of two with one name the first stays: nobody can tell which
// of them a call means.
func (l *loader) add(entries ...*entry) {
	for _, e := range entries {
		first := l.names[e.server.Name]
		if first == nil {
			l.names[e.server.Name] = e.key
		} else {
			e.double = true
			e.mistakes = []source.Mistake{e.key.Mistake(
				fmt.Sprintf("a server %q is there already, so this one is left out", clip(e.server.Name)),
				fmt.Sprintf("the first is in %s:%d", first.File.Path, first.Line))}
		}
		l.entries = append(l.entries, e)
	}
}

// finish checks what only the whole shows and returns it.
func (l *loader) finish() (*Config, error) {
	l.checkTimeouts()
	l.checkPatterns()
	l.markSampled()
	skills := l.readSkills()
	if len(l.entries) > maxServers {
		l.fail(l.entries[maxServers].key, fmt.Sprintf("is one of more than %d servers", maxServers), "")
	}
	var broken []source.Mistake
	for _, e := range l.entries {
		if len(e.mistakes) > 0 {
			e.server.Err = &Error{Problems: source.Problems(e.mistakes)}
		}
		broken = append(broken, e.mistakes...)
		l.keepSecrets(e.server)
		if !e.double {
			l.cfg.Servers = append(l.cfg.Servers, e.server)
			l.cfg.Named = append(l.cfg.Named, e.agent.tools...)
			if e.agent.to != nil && len(e.mistakes) == 0 {
				l.cfg.Delegations = append(l.cfg.Delegations, *e.agent.to)
			}
		}
	}
	l.cfg.Broken = source.Problems(broken)
	l.cfg.Warnings = append(source.Problems(l.warnings), skills.Warnings...)
	l.cfg.Secrets = l.allSecrets()
	l.cfg.Files = slices.Sorted(maps.Keys(l.noted))
	if l.cfg.Strict || len(l.mistakes)+len(skills.Mistakes) > 0 {
		l.mistakes = append(l.mistakes, broken...)
	}
	if all := append(source.Problems(l.mistakes), skills.Mistakes...); len(all) > 0 {
		return nil, &Error{Problems: all}
	}
	cfg := l.cfg
	return &cfg, nil
}

// checkTimeouts wants no timeout beyond the gateway's cap: it would be cut
// without a word.
func (l *loader) checkTimeouts() {
	most := l.cfg.Gateway.MaxCallTimeout
	text := func(d time.Duration) string {
		return fmt.Sprintf("timeout %s is longer than max_call_timeout %s of the gateway", short(d), short(most))
	}
	for _, t := range l.timeouts {
		if t.d > most {
			l.fail(t.at, text(t.d), "")
		}
	}
	for _, e := range l.entries {
		if e.server.Timeout > most && !e.double {
			e.fail("timeout", text(e.server.Timeout), "")
		}
	}
}

// checkPatterns tells where a rule names a server that is not there: a misspelled
// name in a blacklist guards nothing.
func (l *loader) checkPatterns() {
	const hints = 100 // for each costs a look at all names
	names := slices.Sorted(maps.Keys(l.names))
	unknown := 0
	for _, p := range l.patterns {
		if slices.ContainsFunc(names, func(n string) bool { return glob.Match(p.id.Server, n) }) {
			l.cfg.Named = append(l.cfg.Named, named.At(p.at, p.id, p.argument))
			continue
		}
		if p.argument != "" { // of its tool it is told
			continue
		}
		text := fmt.Sprintf("%q names no server of this configuration", clip(p.id.String()))
		hint := ""
		if unknown++; unknown <= hints {
			hint = suggest(p.id.Server, names, "there are")
		}
		if l.cfg.Strict {
			l.fail(p.at, text, hint)
			continue
		}
		l.warn(p.at, text, hint)
	}
}

// otherNames are those of bundled servers, and the options that these have under them.
type otherNames struct{ aliases, aliasOptions map[string]string }

// keepModel keeps the secrets of a model, and keepWay those of the way to an endpoint.
func (l *loader) keepModel(m *Model) {
	if key := m.Key.Reveal(); key != "" {
		l.hide("key", key)
	}
	l.keepWay(&m.Way)
}

func (l *loader) keepWay(w *Way) {
	if u, err := url.Parse(w.Proxy.Reveal()); err == nil && u.User != nil {
		l.hide("proxy", w.Proxy.Reveal())
		if password, ok := u.User.Password(); ok {
			l.hide("proxy", password)
		}
	}
}

// keepSecrets keeps what an entry's child or server is given.
func (l *loader) keepSecrets(s Server) {
	if a := s.Care.Login; a != nil {
		for name, v := range map[string]tool.Secret{"client_secret": a.ClientSecret, "client_key": a.ClientKey} {
			if v.Reveal() != "" {
				l.hide(name, v.Reveal())
			}
		}
	}
	if a := s.Care.Agent; a != nil {
		l.keepModel(&a.Model)
		l.keepWay(&a.Way)
	}
	headers := []map[string]tool.Secret{s.Env, s.Headers}
	if a := s.Care.Agent; a != nil {
		headers = append(headers, a.Headers)
	}
	for _, values := range headers {
		for name, v := range values {
			l.hide(name, v.Reveal())
		}
	}
	var options any
	if text := s.Options.Reveal(); text != "" && json.Unmarshal([]byte(text), &options) == nil {
		l.hideOptions("", options)
	}
}

// hideOptions hides what the options of a bundled server hold under a name.
func (l *loader) hideOptions(name string, value any) {
	switch v := value.(type) {
	case string:
		l.hide(name, v)
	case []any:
		for _, item := range v {
			l.hideOptions(name, item)
		}
	case map[string]any:
		for key, item := range v {
			l.hideOptions(key, item)
		}
	}
}

// allSecrets returns the secrets worth hiding, the longest first, so that one
// within another does not spoil it.
func (l *loader) allSecrets() (all []tool.Secret) {
	const least = 6
	texts := slices.Sorted(maps.Keys(l.secrets))
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
	for _, t := range texts {
		if len(strings.TrimSpace(t)) < least || l.names[t] != nil { // no name of a server is a secret
			continue
		}
		all = append(all, tool.NewSecret(t))
	}
	return all
}

package config

import (
	"fmt"
	"regexp"

	"github.com/tenon-mcp/tenon/internal/source"
)

// Redact is the part `redact:` of the section policy: what is hidden as a secret.
type Redact struct {
	Results  bool // in results as well; in records and logs it always is
	Patterns []RedactPattern
	Keys     []string // names of arguments whose values are hidden
}

// A RedactPattern is a form that secrets have.
type RedactPattern struct{ Name, Pattern string }

const (
	maxRedactPatterns = 100
	maxRedactPattern  = 1000 // bytes
)

// redact reads the part of that name: true, false, or a map.
func (s guards) redact(o *object) {
	n := o.key("redact")
	if n == nil {
		return
	}
	r := &s.cfg.Policy.Redact
	if n.Kind != source.Map {
		o.boolean("redact", &r.Results)
		return
	}
	r.Results = true
	in := newObject(n, o.ex, o.to)
	in.boolean("enabled", &r.Results)
	for i, item := range in.list("patterns") {
		if i == maxRedactPatterns {
			in.fail(item, fmt.Sprintf("patterns has more than %d members", maxRedactPatterns), "")
			break
		}
		if p, ok := redactPattern(in, item); ok {
			r.Patterns = append(r.Patterns, p)
		}
	}
	for _, item := range in.list("keys") {
		if text, ok := in.scalar(item); ok && text == "" {
			in.fail(item, "keys holds an empty name", "")
		} else if ok {
			r.Keys = append(r.Keys, text)
		}
	}
	in.refuse()
}

// redactPattern reads {name, pattern}.
func redactPattern(parent *object, n *source.Node) (RedactPattern, bool) {
	var p RedactPattern
	o := newObject(n, parent.ex, parent.to)
	before := len(*o.to)
	o.text("name", &p.Name)
	o.text("pattern", &p.Pattern)
	o.refuse()
	at := o.at("pattern")
	if v := o.seen["pattern"]; v != nil {
		at = v
	}
	if len(*o.to) == before && p.Name == "" {
		o.fail(n, "a pattern of redact has no name", `write {name: staff, pattern: "EMP-[0-9]{6}"}`)
	}
	if len(*o.to) > before {
		return p, false
	}
	if len(p.Pattern) > maxRedactPattern {
		o.fail(at, fmt.Sprintf("pattern %s is longer than %d bytes", clip(p.Name), maxRedactPattern), "")
		return p, false
	}
	re, err := regexp.Compile(p.Pattern)
	switch {
	case err != nil && dynamic(at):
		o.fail(at, fmt.Sprintf("pattern %s is no regular expression of RE2", clip(p.Name)), "")
	case err != nil:
		o.fail(at, fmt.Sprintf("pattern %s is no regular expression of RE2: %v", clip(p.Name), err), "there is no look-ahead and no \\1 in RE2")
	case re.MatchString(""):
		o.fail(at, fmt.Sprintf("pattern %s matches the empty text", clip(p.Name)), "it would match everywhere")
	}
	return p, len(*o.to) == before
}

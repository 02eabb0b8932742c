package config

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A LazyMode says whether two tools that find and call the others stand in place of the
// list.
type LazyMode string

// The modes.
const (
	LazyOff  LazyMode = "off"
	LazyOn   LazyMode = "on"
	LazyAuto LazyMode = "auto" // where the list is long
)

// DefaultLazyThreshold is how many tokens a list may have that is not long.
const DefaultLazyThreshold = 8000

// Lazy is the section of that name.
type Lazy struct {
	Mode      LazyMode  // empty is off
	Threshold int       // of auto, in tokens; 0 is the default
	Pinned    []tool.ID // patterns of the tools that are always in the list
}

// lazy reads the section: a mode, or a map.
func (s sections) lazy(o *object) {
	n := o.key("lazy")
	if n == nil {
		return
	}
	l := &s.cfg.Lazy
	if n.Kind != source.Map {
		l.mode(o, "lazy")
		return
	}
	in := newObject(n, o.ex, o.to)
	l.mode(in, "mode")
	if !in.has("mode") {
		in.fail(o.at("lazy"), "lazy lacks its mode", "write mode: off, on or auto")
	}
	in.integer("threshold", 1, 1e9, &l.Threshold)
	for _, item := range in.list("pinned") {
		text, ok := in.scalar(item)
		if !ok {
			continue
		}
		id, wrong := patternOf(text)
		if wrong != "" {
			in.fail(item, fmt.Sprintf("pinned: %s %s", quoteOf(item, text), wrong), `write "server/tool"; * stands for any text`)
			continue
		}
		l.Pinned = append(l.Pinned, id)
		s.patterns = append(s.patterns, located{id: id, at: item})
	}
	in.refuse()
}

// mode reads the mode. YAML 1.1 reads off as false and on as true, 1.2 as texts.
func (l *Lazy) mode(o *object, key string) {
	if n := o.key(key); n != nil && n.Kind == source.Bool {
		l.Mode = map[string]LazyMode{"true": LazyOn, "false": LazyOff}[n.Plain]
		return
	}
	o.enum(key, words("off", "on", "auto"), []string{"off", "on", "auto"}, (*string)(&l.Mode))
}

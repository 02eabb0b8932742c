package config

import (
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/internal/source"
)

// Skills is the section `skills:`, where the folders of skills are.
type Skills struct {
	Dirs     []string // absolute folders, each of which holds folders with a SKILL.md
	Disabled []string // names of skills that are left out
	Default  string   // the skill of whom no rule gives one, and who chooses none; empty is none
	BuiltIn  bool     // those that come with Tenon are there

	// Loaded is what the program has read from Dirs. This package does not look at
	// it: it is part of what two configurations are compared by.
	Loaded any `json:"-"`
}

// maxSkillDirs bounds the folders.
const maxSkillDirs = 100

// skills reads the section of that name.
func (s guards) skills(o *object) {
	n := o.key("skills")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	k := &s.cfg.Skills
	var dirs []string
	in.texts("dirs", &dirs)
	if len(dirs) > maxSkillDirs {
		in.fail(in.at("dirs"), fmt.Sprintf("dirs holds more than %d folders", maxSkillDirs), "")
		dirs = dirs[:maxSkillDirs]
	}
	for _, d := range dirs {
		if d == "" {
			in.fail(in.at("dirs"), "dirs holds an empty text", "")
			continue
		}
		s.note(under(s.doc.dir(), d))
		k.Dirs = append(k.Dirs, under(s.doc.dir(), d))
	}
	in.texts("disabled", &k.Disabled)
	in.text("default", &k.Default)
	s.disabled = references(in, "disabled", k.Disabled)
	if k.Default != "" {
		s.chosen = append(s.chosen, references(in, "default", []string{k.Default})...)
	}
	in.boolean("built_in", &k.BuiltIn)
	in.refuse()
}

// A SkillSet is what came of reading the skills.
type SkillSet struct {
	Loaded             any       // see Skills
	Names              []string  // of all that there are, disabled ones too; nil where nobody knows
	Files              []string  // that they were read from
	Mistakes, Warnings []Problem // with their places
}

// A skillReader reads the skills, once it is known which ones are wanted.
type skillReader struct {
	loadSkills func(Skills) SkillSet
	chosen     []reference // by default, by rules and by grants
	disabled   []reference
}

// A reference is the name of a skill.
type reference struct {
	name string
	at   *source.Node
}

// references returns the names that a key holds, each with its place.
func references(o *object, key string, names []string) []reference {
	n := o.seen[key]
	out := make([]reference, len(names))
	for i, name := range names {
		out[i] = reference{name, n}
		if n.Kind == source.List && i < len(n.Items) {
			out[i].at = n.Items[i]
		}
	}
	return out
}

// readSkills reads the skills, and wants those to be there that the files name.
func (l *loader) readSkills() SkillSet {
	if l.loadSkills == nil || l.vaultOnly {
		return SkillSet{}
	}
	set := l.loadSkills(l.cfg.Skills)
	l.cfg.Skills.Loaded = set.Loaded
	for _, path := range set.Files {
		l.note(path)
	}
	if set.Names == nil {
		return set
	}
	for _, r := range l.disabled {
		if !slices.Contains(set.Names, r.name) {
			l.warn(r.at, fmt.Sprintf("disabled: there is no skill %s", quoteOf(r.at, r.name)), suggest(r.name, set.Names, "there are"))
		}
	}
	for _, r := range l.chosen {
		switch {
		case !slices.Contains(set.Names, r.name):
			l.fail(r.at, fmt.Sprintf("there is no skill %s", quoteOf(r.at, r.name)), suggest(r.name, set.Names, "there are"))
		case slices.Contains(l.cfg.Skills.Disabled, r.name):
			l.fail(r.at, fmt.Sprintf("the skill %s is disabled", quoteOf(r.at, r.name)), "take it out of skills.disabled, or name another one")
		}
	}
	return set
}

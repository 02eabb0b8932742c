package config

import "fmt"

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
	in.boolean("built_in", &k.BuiltIn)
	in.refuse()
}

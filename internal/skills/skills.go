// Package skills reads skills: named lists of tools, each with a playbook that
// tells an agent how to go about a task with them.
//
// A skill is a folder that holds a file SKILL.md: a front matter in YAML between
// two lines of ---, and the playbook in Markdown below it. The format is the open
// one of Agent Skills, so a skill that was written for another program is read as
// it is, and the keys of Tenon are additions to it:
//
//	---
//	name: disk-cleanup
//	description: Finds what fills a disk. Use it where a disk is nearly full.
//	allowed_tools: [system/get_local_disk_usage, "system/scan_*"]
//	risk_level: low
//	---
//	# Disk cleanup
//	1. …
//
// Load reads folders of skills, and those that come with Tenon:
//
//	all, warnings, err := skills.Load(skills.Options{Dirs: []string{"/etc/tenon/skills"}, BuiltIn: true})
//
// The error is a *source.Error with every mistake and its place. The package
// decides nothing: what a list of tools allows is the business of package policy.
package skills

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// The bounds of what is read.
const (
	maxFile   = 256 << 10
	maxSkills = 1000
	maxTools  = 1000
	maxName   = 64
	maxText   = 1024 // of a description
	fileName  = "SKILL.md"
)

// A Skill is one skill as its file says it.
type Skill struct {
	Name          string         `json:"name"`
	DisplayName   string         `json:"display_name,omitempty"`
	Description   string         `json:"description"`
	Category      string         `json:"category,omitempty"`
	Platforms     []string       `json:"platforms,omitempty"`
	Tags          []string       `json:"tags,omitempty"`
	Triggers      []string       `json:"triggers,omitempty"` // words that make an agent choose it
	Tools         []string       `json:"allowed_tools"`
	RiskLevel     tool.RiskLevel `json:"risk_level,omitempty"`
	Strict        bool           `json:"strict,omitempty"` // tools that only read do not come along
	License       string         `json:"license,omitempty"`
	Compatibility string         `json:"compatibility,omitempty"`
	// Metadata are the further texts of its author.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Path is its file; empty for one that comes with Tenon.
	Path     string       `json:"path,omitempty"`
	Playbook string       `json:"-"` // Markdown
	Named    []named.Name `json:"-"` // the entries of Tools with their places
}

// Options say which skills there are.
type Options struct {
	// Dirs are folders that hold folders with a SKILL.md, or are one themselves. Of
	// two skills with one name, that of the earlier folder is an error for the later.
	Dirs []string
	// BuiltIn adds those that come with Tenon; one of Dirs with the same name
	// replaces one of them.
	BuiltIn bool
}

//go:embed builtin
var builtIn embed.FS

// Load reads the skills, sorted by name. The error is a *source.Error with every
// mistake; then all that is said of the skills is their names, and nothing where
// nobody can know them. Warnings are what was read over.
func Load(o Options) (all []Skill, warnings []source.Problem, err error) {
	r := &reader{byName: map[string]string{}}
	for _, dir := range o.Dirs {
		r.dir(dir)
	}
	if o.BuiltIn {
		own := r.skills
		r.skills = nil
		r.builtIn()
		r.skills = slices.DeleteFunc(r.skills, func(s Skill) bool {
			return slices.ContainsFunc(own, func(o Skill) bool { return o.Name == s.Name })
		})
		r.skills = append(own, r.skills...)
	}
	slices.SortFunc(r.skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	if len(r.mistakes) > 0 {
		return r.names(), source.Problems(r.warnings), &source.Error{Problems: source.Problems(r.mistakes)}
	}
	return r.skills, source.Problems(r.warnings), nil
}

// A reader reads skills one after the other.
type reader struct {
	skills   []Skill
	byName   map[string]string // name → path of its file
	mistakes []source.Mistake
	warnings []source.Mistake
	opened   int
	broken   []string // names of skills that cannot be used
	unknown  bool     // a folder could not be read
}

// names returns the skills with their names alone, broken ones too.
func (r *reader) names() []Skill {
	if r.unknown {
		return nil
	}
	out := []Skill{}
	for i := range r.skills {
		out = append(out, Skill{Name: r.skills[i].Name})
	}
	for _, name := range r.broken {
		out = append(out, Skill{Name: name})
	}
	return out
}

func (r *reader) file(path string) *source.File {
	r.opened++
	return source.NewFile(path, r.opened)
}

// dir reads a folder of skills. A file in it that is no folder is nothing to us.
func (r *reader) dir(dir string) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
		r.path(filepath.Join(dir, fileName), filepath.Base(dir))
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.mistakes = append(r.mistakes, r.file(dir).Mistake("the folder of skills cannot be read: "+reason(err), ""))
		r.unknown = true
		return
	}
	found := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), fileName)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if found++; len(r.skills) >= maxSkills {
			r.mistakes = append(r.mistakes, r.file(path).Mistake(fmt.Sprintf("is one of more than %d skills", maxSkills), ""))
			r.unknown = true
			return
		}
		r.path(path, e.Name())
	}
	if found == 0 {
		r.warnings = append(r.warnings, r.file(dir).Mistake("the folder holds no skill", "a skill is a folder with a file "+fileName))
	}
}

// path reads one file.
func (r *reader) path(path, folder string) {
	file := r.file(path)
	data, err := read(path)
	if err != nil {
		r.mistakes = append(r.mistakes, file.Mistake(reason(err), ""))
		r.broken = append(r.broken, folder)
		return
	}
	s, ok := r.parse(file, data, folder)
	if !ok {
		r.broken = append(r.broken, folder)
		if s.Name != "" && s.Name != folder {
			r.broken = append(r.broken, s.Name)
		}
		return
	}
	s.Path = path
	if first := r.byName[s.Name]; first != "" {
		r.mistakes = append(r.mistakes, file.MistakeAt(1, 1, fmt.Sprintf("a skill %q is there already", s.Name), "the first is "+first))
		return
	}
	r.byName[s.Name] = path
	r.skills = append(r.skills, s)
}

func (r *reader) builtIn() {
	entries, err := fs.ReadDir(builtIn, "builtin")
	for _, e := range entries {
		var data []byte
		path := "builtin/" + e.Name() + "/" + fileName
		if data, err = fs.ReadFile(builtIn, path); err != nil {
			break
		}
		if s, ok := r.parse(r.file(path), data, e.Name()); ok {
			r.skills = append(r.skills, s)
		}
	}
	if err != nil {
		r.mistakes = append(r.mistakes, r.file("builtin").Mistake(err.Error(), ""))
	}
}

func read(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("is larger than %d KiB", maxFile>>10)
	}
	return data, err
}

// reason returns what went wrong without the path, which is told anyway.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// clip keeps what is quoted short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

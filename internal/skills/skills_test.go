package skills_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/skills"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// folder writes skills, each under the name of its folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const whole = `---
name: disk_cleanup
display_name: Disk cleanup
description: |
  Finds what fills a disk.
category: host
platforms: [linux]
tags: [disk]
triggers: [disk full]
allowed_tools:
  - system/get_local_disk_usage
  - "system/scan_*"
  - find_large_files
  - docker__docker_ps
risk_level: medium
strict: true
license: Apache-2.0
metadata: {author: ops, version: "1.0"}
---
# Disk cleanup

1. Look first.
---
A rule in the text ends nothing.
`

func TestLoad(t *testing.T) {
	all, warnings, err := skills.Load(skills.Options{Dirs: []string{folder(t, map[string]string{"disk_cleanup": whole})}})
	if err != nil || len(warnings) > 0 || len(all) != 1 {
		t.Fatalf("skills %v, warnings %v, error %v; want one skill", all, warnings, err)
	}
	s := all[0]
	if s.Name != "disk_cleanup" || s.DisplayName != "Disk cleanup" || s.Description != "Finds what fills a disk." || s.Category != "host" ||
		s.RiskLevel != tool.RiskMedium || !s.Strict || s.License != "Apache-2.0" || s.Metadata["author"] != "ops" || s.Triggers[0] != "disk full" {
		t.Errorf("the skill is %+v", s)
	}
	if got := strings.Join(s.Tools, " "); got != "system/get_local_disk_usage system/scan_* find_large_files docker__docker_ps" {
		t.Errorf("its tools are %q", got)
	}
	if !strings.HasPrefix(s.Playbook, "# Disk cleanup") || !strings.HasSuffix(s.Playbook, "ends nothing.") {
		t.Errorf("its playbook is %q", s.Playbook)
	}
}

// TestOpenFormat: a skill that was written for another program is read as it is.
func TestOpenFormat(t *testing.T) {
	dir := folder(t, map[string]string{"pdf-processing": "\ufeff---\r\nname: pdf-processing\r\ndescription: Reads PDF files.\r\n" +
		"compatibility: needs python\r\nallowed-tools: Read Bash(git:*) files/read_*\r\nmodel: any\r\n---\r\nText.\r\n"})
	all, warnings, err := skills.Load(skills.Options{Dirs: []string{filepath.Join(dir, "pdf-processing")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all[0].Tools, " "); got != "Read files/read_*" || all[0].Playbook != "Text." {
		t.Errorf("tools are %q and the playbook %q", got, all[0].Playbook)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "Bash(git:*)") || warnings[0].Line != 5 {
		t.Errorf("warnings are %v, want one for the tool of another program in line 5", warnings)
	}
}

func TestMistakes(t *testing.T) {
	head := "---\nname: a\ndescription: d\n"
	for name, tt := range map[string]struct {
		text, want string
		line       int
	}{
		"no front matter":  {"# a\n", "does not begin with a front matter", 1},
		"no end":           {"---\nname: a\n", "does not begin with a front matter", 1},
		"no YAML":          {"---\nname: [a\n---\n", "", 2},
		"no map":           {"---\n- a\n---\n", "no map", 1},
		"no name":          {"---\ndescription: d\nallowed_tools: [x]\n---\n", "name is missing", 1},
		"bad name":         {"---\nname: a b\ndescription: d\nallowed_tools: [x]\n---\n", "not allowed", 2},
		"long name":        {"---\nname: " + strings.Repeat("a", 65) + "\n---\n", "longer than 64", 2},
		"misspelled list":  {head + "alowed_tools: [x]\n---\n", `unknown key "alowed_tools"`, 4},
		"misspelled list2": {head + "allowedTools: [x]\n---\n", `unknown key "allowedTools"`, 4},
		"misspelled flag":  {head + "allowed_tools: [x]\nstric: true\n---\n", `unknown key "stric"`, 5},
		"other case":       {head + "allowed_tools: [x]\nStrict: true\n---\n", `unknown key "Strict"`, 5},
		"flag as text":     {head + "allowed_tools: [x]\nstrict: \"true\"\n---\n", "strict wants true or false", 5},
		"both lists":       {head + "allowed_tools: [x]\nallowed-tools: y\n---\n", "both given", 5},
		"twice":            {head + "allowed_tools: [x]\nallowed_tools: [y]\n---\n", "", 5},
		"no tool":          {head + "allowed_tools: [\"a/\"]\n---\n", "names no tool", 4},
		"no pattern":       {head + "allowed_tools: [x,\n  \"a/[\"]\n---\n", "no pattern", 5},
		"map of tools":     {head + "allowed_tools: {a: b}\n---\n", "wants a list", 4},
		"list in a list":   {head + "allowed_tools: [[a]]\n---\n", "wants texts", 4},
		"risk":             {head + "allowed_tools: [x]\nrisk_level: huge\n---\n", "low, medium or high", 5},
		"not UTF-8":        {head + "allowed_tools: [x]\n---\n\xff", "UTF-8", 1},
		"too large":        {head + "allowed_tools: [x]\n---\n" + strings.Repeat("x", 300_000), "larger than", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := skills.Load(skills.Options{Dirs: []string{folder(t, map[string]string{"a": tt.text})}})
			e, ok := errors.AsType[*source.Error](err)
			if !ok {
				t.Fatalf("error is %v, want mistakes", err)
			}
			if !slices.ContainsFunc(e.Problems, func(p source.Problem) bool {
				return strings.Contains(p.Text, tt.want) && p.Line == tt.line && strings.HasSuffix(p.File, "SKILL.md")
			}) {
				t.Errorf("problems are %v, want %q in line %d", e.Problems, tt.want, tt.line)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"lists nothing":  {"---\nname: a\ndescription: d\n---\n", "lists no tools"},
		"no description": {"---\nname: a\nallowed_tools: [x]\n---\n", "description is missing"},
		"other folder":   {"---\nname: b\ndescription: d\nallowed_tools: [x]\n---\n", "folder of another name"},
		"unknown key":    {"---\nname: a\ndescription: d\nallowed_tools: [x]\ncolour: red\n---\n", `"colour" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			all, warnings, err := skills.Load(skills.Options{Dirs: []string{folder(t, map[string]string{"a": tt.text})}})
			if err != nil || len(all) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0].Text, tt.want) {
				t.Errorf("skills %v, warnings %v, error %v; want one skill and a warning with %q", all, warnings, err, tt.want)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	text := func(name string) string {
		return "---\nname: " + name + "\ndescription: d\nallowed_tools: [x]\n---\n"
	}
	one := folder(t, map[string]string{"b": text("b"), "a": text("a")})
	if err := os.WriteFile(filepath.Join(one, "README.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, _, err := skills.Load(skills.Options{Dirs: []string{one}})
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("skills %v, error %v; want a and b", all, err)
	}
	_, _, err = skills.Load(skills.Options{Dirs: []string{one, folder(t, map[string]string{"a": text("a")})}})
	if err == nil || !strings.Contains(err.Error(), `"a" is there already`) {
		t.Errorf("error is %v, want one that tells the name is taken", err)
	}
	_, _, err = skills.Load(skills.Options{Dirs: []string{filepath.Join(one, "none")}})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("error is %v, want one that tells the folder is not there", err)
	}
	_, warnings, err := skills.Load(skills.Options{Dirs: []string{t.TempDir()}})
	if err != nil || len(warnings) != 1 {
		t.Errorf("warnings %v, error %v; want one for the empty folder", warnings, err)
	}
	many := map[string]string{}
	for i := range 1001 {
		many[fmt.Sprintf("s%d", i)] = text(fmt.Sprintf("s%d", i))
	}
	if _, _, err = skills.Load(skills.Options{Dirs: []string{folder(t, many)}}); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("error is %v, want one that tells there are too many", err)
	}
}

// TestBuiltIn: the skills that come with Tenon are sound, and one of the operator's
// own replaces one of them.
func TestBuiltIn(t *testing.T) {
	all, warnings, err := skills.Load(skills.Options{BuiltIn: true})
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	risk := map[string]tool.RiskLevel{}
	for _, s := range all {
		risk[s.Name] = s.RiskLevel
		if s.Playbook == "" || s.Description == "" || len(s.Triggers) == 0 || s.Path != "" {
			t.Errorf("the skill %s is not whole", s.Name)
		}
	}
	want := map[string]tool.RiskLevel{
		"host_resource_diagnosis": tool.RiskLow, "network_diagnosis": tool.RiskLow,
		"container_diagnosis": tool.RiskMedium, "generic_oncall": tool.RiskLow,
	}
	if fmt.Sprint(risk) != fmt.Sprint(want) {
		t.Errorf("the built-in skills are %v, want %v", risk, want)
	}
	own := folder(t, map[string]string{"generic_oncall": "---\nname: generic_oncall\ndescription: mine\nallowed_tools: [x]\n---\n"})
	all, _, err = skills.Load(skills.Options{BuiltIn: true, Dirs: []string{own}})
	if err != nil || len(all) != len(want) {
		t.Fatal(all, err)
	}
	for _, s := range all {
		if s.Name == "generic_oncall" && s.Description != "mine" {
			t.Error("the operator's own skill does not replace that of Tenon")
		}
	}
}

// FuzzLoad: no file makes the reader panic, and a list that is not understood
// allows nothing.
func FuzzLoad(f *testing.F) {
	f.Add(whole)
	f.Add("---\nname: a\nallowed-tools: a b\n---\n")
	f.Add("---\n? [a]: b\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a", "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, _, err := skills.Load(skills.Options{Dirs: []string{dir}})
		if err == nil && len(all) == 1 && all[0].Name == "" {
			t.Error("a skill without a name")
		}
	})
}

// BenchmarkLoad is what the skills that come with Tenon cost when a pool is opened.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, _, err := skills.Load(skills.Options{BuiltIn: true}); err != nil {
			b.Fatal(err)
		}
	}
}

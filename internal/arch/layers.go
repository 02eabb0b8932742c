package arch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A layer is one line of the file LAYERS.
type layer struct {
	pattern string   // folder of the package, "." for the root, or a pattern of path.Match
	imports []string // patterns of what it may import
	tests   []string // patterns of what its tests may import besides
	never   []string // modules or packages that it must not link, however far down
	line    int
}

// parseLayers reads the file LAYERS; its head describes the form.
func parseLayers(text string) ([]layer, []Finding) {
	var all []layer
	var found []Finding
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		l := layer{pattern: words[0], line: n}
		into := &l.imports
		for _, w := range words[1:] {
			switch w {
			case "tests:":
				into = &l.tests
			case "never:":
				into = &l.never
			default:
				*into = append(*into, w)
			}
		}
		if slices.ContainsFunc(all, func(o layer) bool { return o.pattern == l.pattern }) {
			found = append(found, Finding{fmt.Sprintf("LAYERS:%d", n), l.pattern + " is listed twice", "keep one line"})
		}
		all = append(all, l)
	}
	return all, found
}

// layerOf returns the line for the package in dir: one that names it, else the
// first whose pattern matches.
func layerOf(all []layer, dir string) (layer, bool) {
	i := slices.IndexFunc(all, func(l layer) bool { return l.pattern == dir })
	if i < 0 {
		i = slices.IndexFunc(all, func(l layer) bool { return matches(l.pattern, dir) })
	}
	if i < 0 {
		return layer{}, false
	}
	return all[i], true
}

func matches(pattern, dir string) bool {
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, dir) })
}

// layers: every package is listed in LAYERS, every line there has a package,
// and no package imports one of ours that its line does not name.
func layers(t *Tree) []Finding {
	all, found := parseLayers(t.texts["LAYERS"])
	everyTest, _ := layerOf(all, "tests")
	packages := t.packages()
	for _, dir := range sorted(packages) {
		l, ok := layerOf(all, dir)
		if !ok {
			found = append(found, Finding{
				dir, "the package is not in LAYERS",
				"add a line that says what it may import of ours, in the order of the flow",
			})
			continue
		}
		for _, f := range packages[dir] {
			found = append(found, t.wrongImports(f, l, everyTest)...)
		}
	}
	for _, l := range all {
		used := slices.ContainsFunc(sorted(packages), func(dir string) bool { return matches(l.pattern, dir) })
		if !used && l.pattern != "tests" {
			found = append(found, Finding{
				fmt.Sprintf("LAYERS:%d", l.line), "there is no package " + l.pattern,
				"remove the line, or correct the name",
			})
		}
	}
	return found
}

// wrongImports returns the imports of f that neither l nor, in a test, the line
// for all tests allows.
func (t *Tree) wrongImports(f *file, l, everyTest layer) []Finding {
	var found []Finding
	for _, dir := range t.ownImports(f) {
		switch {
		case matchesAny(l.imports, dir):
			continue
		case f.test && (dir == f.dir() || matchesAny(l.tests, dir) || matchesAny(everyTest.imports, dir)):
			continue
		}
		found = append(found, Finding{
			f.path, fmt.Sprintf("%s may not import %s", f.dir(), dir),
			"declare what you need where you use it (a function type, a small interface) and let the root pass it in; " +
				"a new arrow changes LAYERS in a commit of its own, with the reason",
		})
	}
	return found
}

// ownImports returns the folders of our own packages that f imports.
func (t *Tree) ownImports(f *file) []string {
	var dirs []string
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if name == Module {
			dirs = append(dirs, ".")
		} else if dir, ok := strings.CutPrefix(name, Module+"/"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Linked finds what packages link although LAYERS says never. deps returns the
// import paths of everything that the package in a folder links.
func Linked(t *Tree, deps func(dir string) ([]string, error)) ([]Finding, error) {
	all, _ := parseLayers(t.texts["LAYERS"])
	var found []Finding
	for _, l := range all {
		if len(l.never) == 0 {
			continue
		}
		linked, err := deps(l.pattern)
		if err != nil {
			return nil, err
		}
		for _, never := range l.never {
			i := slices.IndexFunc(linked, func(dep string) bool { return dep == never || strings.HasPrefix(dep, never+"/") })
			if i >= 0 {
				found = append(found, Finding{
					l.pattern, "links " + linked[i],
					"whoever uses the Go package would carry it: keep it in a front end or a bundled server",
				})
			}
		}
	}
	return found, nil
}

// Package arch holds the rules that this repository keeps about itself, as
// functions over its files. What is tested stays true; a sentence in a style
// guide does not.
//
// It is not a linter: what golangci-lint can check is in .golangci.yml. Here is
// what no linter knows: which package may import which (the file LAYERS), and
// the counts that tell a project that rots from one that does not: methods on
// a type, packages that one package imports, waivers.
//
// A [Tree] is the repository, parsed once. A [Rule] looks at it and returns a
// [Finding] for each breach, with what to do about it:
//
//	tree, err := arch.Load(os.DirFS(root))
//	for _, rule := range arch.Rules() {
//		for _, f := range rule.Check(tree) {
//			fmt.Println(f)
//		}
//	}
//
// Each rule is tested on a small tree with a planted fault, testdata/NAME.txtar,
// for a rule that has never been seen to fail may check nothing at all.
package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Module is the path of the module whose rules these are.
const Module = "github.com/tenon-mcp/tenon"

// A Finding is one breach of a rule.
type Finding struct {
	Where string // file, file:line or package folder
	What  string // the breach
	Fix   string // what to do about it
}

// String returns the finding in two lines, the second being the fix.
func (f Finding) String() string { return f.Where + ": " + f.What + "\n\tfix: " + f.Fix }

// A Rule is one thing that holds for the whole repository.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules returns all rules that need nothing but the files.
func Rules() []Rule {
	return []Rule{
		{"layers", layers},
		{"package-comments", packageComments},
		{"names", names},
		{"goroutines", goroutines},
		{"sleep", sleep},
		{"waivers", waivers},
		{"shape", shape},
		{"changelog", changelog},
		{"outside", outside},
		{"links", links},
	}
}

// A Tree is the repository as the rules see it.
type Tree struct {
	fset  *token.FileSet
	files []*file           // Go files of the module, in order of their path
	texts map[string]string // every text file by path, Go files too
}

// A file is one Go file.
type file struct {
	path string // from the root, with slashes
	ast  *ast.File
	test bool // *_test.go
	made bool // generated
}

// dir returns the folder of the package, "." for the root.
func (f *file) dir() string { return path.Dir(f.path) }

const maxText = 1 << 20 // larger files are data, not text

// Load reads and parses the repository at the root of fsys.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet(), texts: map[string]string{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{".git", ".cache", "dist", "node_modules"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return t.add(fsys, name)
	})
	if err != nil {
		return nil, fmt.Errorf("load the repository: %w", err)
	}
	t.leaveOutOtherModules()
	slices.SortFunc(t.files, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
	return t, nil
}

func (t *Tree) add(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if len(text) > maxText || strings.ContainsRune(string(text), 0) {
		return nil
	}
	t.texts[name] = string(text)
	if !strings.HasSuffix(name, ".go") || ignoredByGo(name) {
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &file{
		path: name,
		ast:  parsed,
		test: strings.HasSuffix(name, "_test.go"),
		made: ast.IsGenerated(parsed),
	})
	return nil
}

// ignoredByGo reports whether the go command leaves the file out of ./... .
func ignoredByGo(name string) bool {
	for elem := range strings.SplitSeq(name, "/") {
		if elem == "testdata" || strings.HasPrefix(elem, "_") || strings.HasPrefix(elem, ".") {
			return true
		}
	}
	return false
}

// leaveOutOtherModules forgets the Go files below a go.mod that is not the root's.
func (t *Tree) leaveOutOtherModules() {
	for name := range t.texts {
		if dir, base := path.Split(name); base == "go.mod" && dir != "" {
			t.files = slices.DeleteFunc(t.files, func(f *file) bool { return strings.HasPrefix(f.path, dir) })
		}
	}
}

// packages returns the Go files of each package by its folder, tests included.
func (t *Tree) packages() map[string][]*file {
	m := map[string][]*file{}
	for _, f := range t.files {
		m[f.dir()] = append(m[f.dir()], f)
	}
	return m
}

// at returns the place of a node as file:line.
func (t *Tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// sorted returns the keys of m in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// packageComments: each package has its comment in one file, which begins
// "Package NAME", or "Command NAME" for a main package.
func packageComments(t *Tree) []Finding {
	var found []Finding
	packages := t.packages()
	for _, dir := range sorted(packages) {
		var with []*file
		var last *file
		for _, f := range packages[dir] {
			if f.test {
				continue
			}
			last = f
			if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
				with = append(with, f)
			}
		}
		if last == nil {
			continue
		}
		start := "Package " + last.ast.Name.Name + " "
		if last.ast.Name.Name == "main" {
			start = "Command " + path.Base(dir) + " "
		}
		switch {
		case len(with) == 0:
			found = append(found, Finding{
				dir, "no package comment",
				"say in one file, beginning with \"" + start + "\", what it is for, what not, how its types relate, with an example",
			})
		case len(with) > 1:
			found = append(found, Finding{dir, "package comments in " + with[0].path + " and " + with[1].path, "keep one"})
		case !strings.HasPrefix(with[0].ast.Doc.Text(), start):
			found = append(found, Finding{with[0].path, "the package comment does not begin with \"" + start + "\"", "begin it so"})
		}
	}
	return found
}

// Names that say what a thing is made of, never what it gives.
var (
	bannedFiles    = []string{"common", "helper", "helpers", "manager", "managers", "misc", "types", "util", "utils"}
	bannedPackages = append([]string{"base", "lib", "models", "service", "services", "shared"}, bannedFiles...)
)

// names: no package and no file is called util, and no type is a Manager.
func names(t *Tree) []Finding {
	var found []Finding
	packages := t.packages()
	for _, dir := range sorted(packages) {
		if slices.Contains(bannedPackages, path.Base(dir)) {
			found = append(found, Finding{dir, "banned package name", "name it after what it gives (catalog, policy); two users may repeat five lines"})
		}
	}
	for _, f := range t.files {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if slices.Contains(bannedFiles, base) {
			found = append(found, Finding{f.path, "banned file name", "name it after its topic"})
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && strings.HasSuffix(spec.Name.Name, "Manager") {
				found = append(found, Finding{
					t.at(spec.Pos()), "type " + spec.Name.Name,
					"ask which noun it is: the supervisor of one server, a catalog, a record",
				})
			}
			return true
		})
	}
	return found
}

// goroutines: no go statement, for nobody waits for what it starts.
func goroutines(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.GoStmt); ok {
				found = append(found, Finding{
					t.at(stmt.Pos()), "a bare go statement",
					"start it with sync.WaitGroup.Go or an errgroup, and wait for it where it was started",
				})
			}
			return true
		})
	}
	return found
}

// sleep: time.Sleep stands only where time is not real: inside a call of
// synctest.Test, or of a test's own function with "bubble" in its name, or in a
// test's function whose comment says that it runs in a bubble.
func sleep(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.files {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && f.test && strings.Contains(fn.Doc.Text(), "bubble") {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if f.test && (isCall(n, "synctest", "Test") || makesBubble(n)) {
					return false
				}
				if isCall(n, "time", "Sleep") {
					found = append(found, Finding{
						t.at(n.Pos()), "time.Sleep",
						"wait for the event itself; a test of time runs in a testing/synctest bubble, " +
							"other code selects on a timer and on its context",
					})
				}
				return true
			})
		}
	}
	return found
}

// isCall reports whether n is the call pkg.name(…).
func isCall(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// makesBubble reports whether n is a call of a function named for a bubble.
func makesBubble(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && strings.Contains(strings.ToLower(name.Name), "bubble")
}

const maxWaivers = 10

// waivers: at most ten linter waivers in the whole repository. A limit that can
// be waived in the line is no limit.
func waivers(t *Tree) []Finding {
	var all []string
	for _, f := range t.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//nolint") {
					all = append(all, t.at(c.Pos()))
				}
			}
		}
	}
	if len(all) <= maxWaivers {
		return nil
	}
	return []Finding{{
		all[maxWaivers], fmt.Sprintf("%d nolint comments, %d are allowed:\n\t%s", len(all), maxWaivers, strings.Join(all, "\n\t")),
		"change the code, or the rule in .golangci.yml for everybody, with a reason",
	}}
}

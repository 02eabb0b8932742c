package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// The most of each thing. They are alarms, not goals: length alone does not
// tell good code from bad, but a type with forty methods is never good.
const (
	maxMethods      = 20
	maxImports      = 12
	maxFields       = 15
	maxPackageLines = 3000
	maxFileLines    = 500
	maxTestLines    = 1000
	maxFuncLines    = 80
)

// A count is how much of something one subject has.
type count struct {
	what    string // methods, imports, fields, package-lines, file-lines, func-lines
	subject string // a package, file, or package.Name
	where   string
	n, most int
	fix     string
}

// exceptionsFile lists what may be larger, one a line: what, subject, how much
// it may be, and why.
const exceptionsFile = "internal/arch/exceptions.txt"

// An exception allows one subject more than the rest.
type exception struct {
	most int
	line int
	used bool
}

// shape: nothing is larger than it may be, and no exception is left over.
func shape(t *Tree) []Finding {
	allowed, found := t.exceptions()
	for _, c := range t.counts() {
		if c.n <= c.most {
			continue
		}
		e := allowed[c.what+" "+c.subject]
		if e != nil {
			e.used = true
			if c.n <= e.most {
				continue
			}
		}
		found = append(found, Finding{c.where, fmt.Sprintf("%s has %d %s, at most %d", c.subject, c.n, c.what, c.most), c.fix})
	}
	for _, key := range sorted(allowed) {
		if e := allowed[key]; !e.used {
			found = append(found, Finding{
				fmt.Sprintf("%s:%d", exceptionsFile, e.line), "the exception " + key + " is not needed any more",
				"remove the line",
			})
		}
	}
	return found
}

func (t *Tree) exceptions() (map[string]*exception, []Finding) {
	var found []Finding
	all := map[string]*exception{}
	n := 0
	for line := range strings.Lines(t.texts[exceptionsFile]) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) >= 4 {
			if most, err := strconv.Atoi(words[2]); err == nil {
				all[words[0]+" "+words[1]] = &exception{most: most, line: n}
				continue
			}
		}
		found = append(found, Finding{
			fmt.Sprintf("%s:%d", exceptionsFile, n), "not an exception: " + strings.TrimSpace(line),
			"write: WHAT SUBJECT NUMBER REASON",
		})
	}
	return all, found
}

// counts returns the size of everything that is counted. Generated files are not.
func (t *Tree) counts() []count {
	var all []count
	packages := t.packages()
	for _, dir := range sorted(packages) {
		c := packageCounts{dir: dir, tree: t, methods: map[string]int{}, imports: map[string]bool{}}
		for _, f := range packages[dir] {
			if !f.made {
				c.file(f)
			}
		}
		all = append(all, c.all()...)
	}
	return all
}

// packageCounts gathers the counts of one package, file by file.
type packageCounts struct {
	dir     string
	tree    *Tree
	lines   int
	methods map[string]int
	imports map[string]bool
	done    []count
}

func (c *packageCounts) file(f *file) {
	lines := strings.Count(c.tree.texts[f.path], "\n")
	if f.test {
		c.done = append(c.done, count{"file-lines", f.path, f.path, lines, maxTestLines, "give each topic a file of its own"})
		return
	}
	c.lines += lines
	c.done = append(c.done, count{"file-lines", f.path, f.path, lines, maxFileLines, "give each topic a file of its own"})
	for _, dir := range c.tree.ownImports(f) {
		c.imports[dir] = true
	}
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			c.function(fn)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			c.structure(spec)
		}
		return true
	})
}

func (c *packageCounts) function(fn *ast.FuncDecl) {
	name := fn.Name.Name
	if fn.Recv != nil && len(fn.Recv.List) > 0 {
		receiver := receiverName(fn.Recv.List[0].Type)
		c.methods[receiver]++
		name = receiver + "." + name
	}
	lines := c.tree.fset.Position(fn.End()).Line - c.tree.fset.Position(fn.Pos()).Line + 1
	c.done = append(c.done, count{
		"func-lines", c.name(name), c.tree.at(fn.Pos()), lines, maxFuncLines,
		"it does several things: find the missing noun, or move each step to a function of its own",
	})
}

func (c *packageCounts) structure(spec *ast.TypeSpec) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok || strings.HasSuffix(spec.Name.Name, "Options") || strings.HasSuffix(spec.Name.Name, "Config") {
		return
	}
	fields, tagged := 0, 0
	for _, f := range body.Fields.List {
		n := max(len(f.Names), 1)
		fields += n
		if f.Tag != nil {
			tagged += n
		}
	}
	if tagged*2 > fields {
		return // the shape of a message or a file is not ours to choose
	}
	c.done = append(c.done, count{
		"fields", c.name(spec.Name.Name), c.tree.at(spec.Pos()), fields, maxFields,
		"group the fields that change together into a type with its own methods",
	})
}

// all returns the counts when every file has been seen.
func (c *packageCounts) all() []count {
	for _, receiver := range sorted(c.methods) {
		c.done = append(c.done, count{
			"methods", c.name(receiver), c.dir, c.methods[receiver], maxMethods,
			"a verb that needs three fields of it becomes a type of its own",
		})
	}
	c.done = append(c.done, count{
		"package-lines", c.dir, c.dir, c.lines, maxPackageLines,
		"split it by what it gives",
	})
	// The root and the commands join everything: that is what they are for.
	if c.dir != "." && c.dir != "servers" && c.dir != "frontend/cli" && path.Dir(c.dir) != "cmd" {
		c.done = append(c.done, count{
			"imports", c.dir, c.dir, len(c.imports), maxImports,
			"it knows too much of the rest: take functions from the root instead",
		})
	}
	return c.done
}

// name returns the subject of something declared in the package.
func (c *packageCounts) name(declared string) string { return c.dir + ":" + declared }

// receiverName returns T for the receivers T, *T and *T[K].
func receiverName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

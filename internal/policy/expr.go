package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/tenon-mcp/tenon/tool"
)

// The limits of expressions. What one call costs is counted in steps of the
// evaluation.
const (
	maxExpression = 4096 // bytes
	maxCost       = 100_000
	maxPrograms   = 10_000
)

// A Compiler compiles expressions in CEL. Nothing is made before the first one,
// for most processes have none. It is safe for concurrent use, and remembers what
// it compiled.
type Compiler struct {
	mu       sync.Mutex
	envs     [2]*cel.Env // by whether they know the caller and the value
	programs map[source]*program
}

// NewCompiler returns a compiler.
func NewCompiler() *Compiler { return &Compiler{programs: map[source]*program{}} }

type source struct {
	text  string
	param bool // of a parameter rule; else of what makes a tool read-only
}

// An ExpressionError is a mistake in an expression, with its place.
type ExpressionError struct {
	Offset       int // in bytes
	Line, Column int // from 1
	Text         string
}

// Error returns the text with the place.
func (e *ExpressionError) Error() string {
	return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Text)
}

// A program is a compiled expression. The one of an expression with a mistake has
// err alone.
type program struct {
	err  error
	run  cel.Program
	uses map[string]string // names and texts that the expression holds, by their folded form
	more map[string]bool   // all of them, as they are written
	tied bool              // it looks at who calls
}

// CheckParameter returns what is wrong with an expression of a parameter rule, an
// *ExpressionError, or nil.
func (c *Compiler) CheckParameter(text string) error {
	_, err := c.compile(source{text, true})
	return err
}

// CheckReadOnly returns what is wrong with an expression that says when a tool
// only reads, an *ExpressionError, or nil.
func (c *Compiler) CheckReadOnly(text string) error {
	_, err := c.readOnly(text)
	return err
}

func (c *Compiler) readOnly(text string) (*program, error) { return c.compile(source{text, false}) }

func (c *Compiler) compile(s source) (*program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.programs[s]; p != nil {
		return p, p.err
	}
	if len(c.programs) >= maxPrograms {
		clear(c.programs)
	}
	p, err := c.build(s)
	if err != nil {
		p = &program{err: err}
	}
	c.programs[s] = p
	return p, err
}

func (c *Compiler) build(s source) (*program, error) {
	if strings.TrimSpace(s.text) == "" {
		return nil, &ExpressionError{0, 1, 1, "it is empty"}
	}
	if len(s.text) > maxExpression {
		return nil, &ExpressionError{0, 1, 1, fmt.Sprintf("it is longer than %d bytes", maxExpression)}
	}
	env, err := c.env(s.param)
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(s.text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, placed(s.text, first.Location.Line(), first.Location.Column(), first.Message)
	}
	if t := checked.OutputType(); !t.IsExactType(types.BoolType) && !t.IsExactType(types.DynType) {
		return nil, &ExpressionError{0, 1, 1, fmt.Sprintf("it gives %s, and must give true or false", t)}
	}
	run, err := env.Program(checked, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &ExpressionError{0, 1, 1, err.Error()}
	}
	p := &program{run: run, uses: map[string]string{}, more: map[string]bool{}}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(p.note))
	return p, nil
}

// note writes down what the expression looks at.
func (p *program) note(e ast.Expr) {
	kind := e.Kind()
	if kind == ast.IdentKind {
		p.tied = p.tied || e.AsIdent() == "caller" || e.AsIdent() == "session"
	}
	if kind == ast.SelectKind {
		p.use(e.AsSelect().FieldName())
	}
	if kind == ast.LiteralKind {
		if s, ok := e.AsLiteral().Value().(string); ok {
			p.use(s)
		}
	}
}

func (p *program) use(name string) { p.uses[fold(name)], p.more[name] = name, true }

// placed returns a mistake at a line from 1 and a column from 0, in characters.
func placed(text string, line, column int, message string) *ExpressionError {
	message, _, _ = strings.Cut(message, " expecting {") // a list of tokens that helps nobody
	e := &ExpressionError{Line: max(line, 1), Column: max(column, 0) + 1, Text: strings.TrimSpace(message)}
	rest := text
	for range e.Line - 1 {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			break
		}
		rest = after
	}
	e.Offset = len(text) - len(rest)
	n := 0
	for i := range rest {
		if n == e.Column-1 {
			e.Offset += i
			return e
		}
		n++
	}
	e.Offset = len(text)
	return e
}

// env returns the environment of one kind of expressions.
func (c *Compiler) env(param bool) (*cel.Env, error) {
	i := 0
	options := []cel.EnvOption{
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("server", cel.StringType), cel.Variable("tool", cel.StringType),
		cel.ParserRecursionLimit(maxDepth), cel.ParserExpressionSizeLimit(maxExpression),
	}
	if param {
		i = 1
		options = append(options, cel.Variable("value", cel.DynType),
			cel.Variable("caller", cel.StringType), cel.Variable("session", cel.StringType))
	}
	if c.envs[i] == nil {
		env, err := cel.NewEnv(options...)
		if err != nil {
			return nil, err
		}
		c.envs[i] = env
	}
	return c.envs[i], nil
}

// holds evaluates the expression. The error says why there is no answer.
func (p *program) holds(a *arguments, t *tool.Tool, more map[string]any) (bool, error) {
	if p.err != nil {
		return false, p.err
	}
	switch {
	case a.doubt != "":
		return false, errors.New(a.doubt)
	case a.odd:
		return false, errors.New("the arguments hold text that is no valid Unicode")
	case a.handle:
		return false, errors.New("a reference to a result stands among the arguments, and what it stands for is not known here")
	}
	for _, name := range a.names {
		if other := p.misspelled(name); other != "" {
			return false, fmt.Errorf("the argument %q is written like %q", clip(name), clip(other))
		}
	}
	args, err := celValue(a.root)
	if err != nil {
		return false, err
	}
	vars := map[string]any{"args": args, "server": t.Server, "tool": t.Name}
	maps.Copy(vars, more)
	v, _, err := p.run.Eval(vars)
	if err != nil {
		return false, err
	}
	b, ok := v.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression gives %v, and must give true or false", v.Type())
	}
	return b, nil
}

// misspelled returns what the expression holds that name is a variant of: a
// program that reads names more freely would take it for that.
func (p *program) misspelled(name string) string {
	if p.more[name] {
		return ""
	}
	return p.uses[fold(name)]
}

// celValue returns a value with the numbers of CEL. One that neither fits into 64
// bits nor is a fraction is an error: it would be rounded.
func celValue(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		s := v.String()
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !strings.ContainsAny(s, ".eE") {
			return nil, fmt.Errorf("the number %s is too large", clip(s))
		}
		return f, nil
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = celValue(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		o := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if o[k], err = celValue(e); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
	return v, nil
}

// Place returns the offset of the mistake in the expression.
func (e *ExpressionError) Place() int { return e.Offset }

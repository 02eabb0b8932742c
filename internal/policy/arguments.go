package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// The limits of arguments that are judged. Beyond them nothing is understood.
const (
	maxArguments = 16 << 20 // bytes
	maxValues    = 200_000  // objects and lists take far more memory than their text
	maxDepth     = 64
)

// handleKey is that of a reference to a long result, which is replaced on the way.
// It is folded already.
const handleKey = "$handle"

// arguments are the arguments of a call, read in the strictest way: every program
// that reads the same bytes finds the same in them, or there is a doubt.
type arguments struct {
	root map[string]any // numbers are json.Number
	// doubt says why other programs may read something else; empty where none would.
	doubt string
	// odd is set where some text holds a character that stands for no character,
	// which programs replace, drop or keep.
	odd bool
	// handle is set where a reference stands among them: what it is replaced by is
	// not known.
	handle bool
	names  []string // of all objects, at every depth
}

// read parses arguments. It keeps no part of them.
func read(raw json.RawMessage) *arguments {
	a := &arguments{}
	if len(raw) > maxArguments {
		a.doubt = fmt.Sprintf("the arguments are longer than %d MiB", maxArguments>>20)
		return a
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		a.root = map[string]any{}
		return a
	}
	if !json.Valid(raw) {
		a.doubt = "the arguments are not valid JSON"
		return a
	}
	r := reader{a: a, text: raw}
	v := r.value(0)
	if a.doubt != "" {
		return a
	}
	root, ok := v.(map[string]any)
	if !ok {
		a.doubt = "the arguments are no JSON object"
		return a
	}
	a.root = root
	return a
}

// A reader reads a text that is valid JSON. Once there is a doubt, what it returns
// has no meaning.
type reader struct {
	a    *arguments
	text []byte
	at   int

	values int
}

// skip goes to the next byte that is no space, and returns it.
func (r *reader) skip() byte {
	for r.text[r.at] <= ' ' {
		r.at++
	}
	return r.text[r.at]
}

func (r *reader) value(depth int) any {
	if depth > maxDepth {
		r.a.doubt = fmt.Sprintf("the arguments are nested deeper than %d", maxDepth)
		return nil
	}
	if r.values++; r.values > maxValues {
		r.a.doubt = fmt.Sprintf("the arguments hold more than %d values", maxValues)
		return nil
	}
	switch c := r.skip(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		s := r.str()
		r.a.odd = r.a.odd || strings.ContainsRune(s, utf8.RuneError)
		return s
	case 't':
		r.at += len("true")
		return true
	case 'f':
		r.at += len("false")
		return false
	case 'n':
		r.at += len("null")
		return nil
	}
	start := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[r.at]) >= 0 {
		r.at++
	}
	return json.Number(r.text[start:r.at])
}

func (r *reader) list(depth int) any {
	list := []any{}
	for r.at++; r.skip() != ']'; {
		list = append(list, r.value(depth+1))
		if r.a.doubt != "" {
			return nil
		}
		if r.skip() == ',' {
			r.at++
		}
	}
	r.at++
	return list
}

func (r *reader) object(depth int) any {
	o := map[string]any{}
	for r.at++; r.skip() != '}'; {
		name := r.str()
		r.skip()
		r.at++ // the colon
		v := r.value(depth + 1)
		if r.a.doubt != "" {
			return nil
		}
		if _, ok := o[name]; ok {
			r.a.doubt = fmt.Sprintf("the argument %q is given twice", clip(name))
			return nil
		}
		if strings.ContainsRune(name, utf8.RuneError) {
			r.a.doubt = "the name of an argument is no valid text"
			return nil
		}
		o[name] = v
		r.a.handle = r.a.handle || fold(name) == handleKey
		r.a.names = append(r.a.names, name)
		if r.skip() == ',' {
			r.at++
		}
	}
	r.at++
	return o
}

// str reads a text.
func (r *reader) str() string {
	start, plain := r.at, true
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
			plain = false
		}
	}
	r.at++
	quoted := r.text[start:r.at]
	if inner := quoted[1 : len(quoted)-1]; plain && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		r.a.doubt = "the arguments are not valid JSON"
	}
	return s
}

// variant returns a name of the object that some program takes for the one
// wanted, without being it.
func variant(o map[string]any, wanted string) string {
	f := fold(wanted)
	for name := range o {
		if name != wanted && fold(name) == f {
			return name
		}
	}
	return ""
}

// fold returns what names have in common that programs take for the same: those
// that differ in case, in accents, in spaces and what is not seen, in the width or the
// shape of letters, or in how they join words.
func fold(name string) string {
	if isFolded(name) {
		return name
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		switch r = simplest(r); {
		case r == '.' || r == '[' || r == ']' || unicode.In(r, unicode.Pd, unicode.Pc), r >= 0x300 && r <= 0x36f,
			unicode.IsSpace(r), !unicode.IsGraphic(r), unseen.Is(r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'ı':
			b.WriteByte('i')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isFolded(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// simplest returns the first of the characters that differ only in case.
func simplest(r rune) rune {
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	return unicode.ToLower(least)
}

// A path leads to an argument: the names of objects, and the numbers of elements.
type path []string

// Steps returns the names that the path of an argument goes through; nil for all
// arguments, and for what is no path.
func Steps(argument string) []string {
	p, _ := parsePath(argument)
	return p
}

// parsePath reads a.b.c, or a JSON pointer /a/b. A lone dot is all arguments.
func parsePath(text string) (path, error) {
	switch {
	case text == ".":
		return nil, nil
	case text == "":
		return nil, errors.New("it names no argument")
	case text[0] == '/':
		steps := strings.Split(text[1:], "/")
		for i, s := range steps {
			if bad := strings.ReplaceAll(strings.ReplaceAll(s, "~0", ""), "~1", ""); strings.Contains(bad, "~") {
				return nil, fmt.Errorf("%q is no JSON pointer: a ~ stands before 0 or 1", clip(text))
			}
			steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
		}
		return steps, nil
	}
	steps := strings.Split(text, ".")
	if slices.Contains(steps, "") {
		return nil, fmt.Errorf("%q is no path of names: write a.b, or /a/b where a name holds a dot", clip(text))
	}
	return steps, nil
}

// lookup calls judge for each value that the path leads to: one, or each element
// of the lists on its way and at its end. It returns what is wrong, or "".
func lookup(v any, p path, judge func(any) string) string {
	switch v := v.(type) {
	case []any:
		return lookupList(v, p, judge)
	case map[string]any:
		if len(p) == 0 {
			return judge(v)
		}
		if other := variant(v, p[0]); other != "" {
			return fmt.Sprintf("%q is written like it", clip(other))
		}
		inner, ok := v[p[0]]
		if !ok {
			return "it is missing"
		}
		return lookup(inner, p[1:], judge)
	}
	if len(p) > 0 {
		return "it is missing"
	}
	return judge(v)
}

func lookupList(list []any, p path, judge func(any) string) string {
	if len(p) > 0 {
		if i, ok := index(p[0]); ok {
			if i >= len(list) {
				return "it is missing"
			}
			return lookup(list[i], p[1:], judge)
		}
	}
	if len(list) == 0 {
		return "it is an empty list"
	}
	for _, v := range list {
		if wrong := lookup(v, p, judge); wrong != "" {
			return wrong
		}
	}
	return ""
}

// index reads the number of an element.
func index(step string) (int, bool) {
	const most = 6 // digits
	if step == "" || len(step) > most || len(step) > 1 && step[0] == '0' {
		return 0, false
	}
	n := 0
	for i := range len(step) {
		if step[i] < '0' || step[i] > '9' {
			return 0, false
		}
		n = n*10 + int(step[i]-'0')
	}
	return n, true
}

// kindOf names the kind of a value, for texts.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case map[string]any:
		if _, ok := v[handleKey]; ok {
			return "a reference to a result, which is not known here"
		}
		return "an object"
	}
	return "a list"
}

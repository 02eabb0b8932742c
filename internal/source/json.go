package source

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON into a tree, with the comments and trailing commas that
// desktop clients allow.
func parseJSON(file *File, data []byte) (*Node, *syntaxError) {
	value, err := hujson.Parse(data)
	if err != nil {
		return nil, jsonError(data, err)
	}
	r := jsonReader{file: file, data: data, starts: []int{0}}
	for i, c := range data {
		if c == '\n' {
			r.starts = append(r.starts, i+1)
		}
	}
	root := r.read(&value, 0)
	if r.deep != nil {
		return nil, tooDeep(r.deep.Line, r.deep.Column)
	}
	return root, nil
}

// jsonError keeps the parser's place and its message, but for the literal that
// it quotes, which may be a secret.
func jsonError(data []byte, err error) *syntaxError {
	out := &syntaxError{text: "not valid JSON"}
	_, rest, ok := strings.Cut(err.Error(), "hujson: line ")
	if !ok {
		return out
	}
	var column int // in bytes
	if n, _ := fmt.Sscanf(rest, "%d, column %d:", &out.line, &column); n != 2 {
		return out
	}
	out.column = column
	if lines := strings.Split(string(data), "\n"); out.line <= len(lines) && column <= len(lines[out.line-1])+1 {
		out.column = utf8.RuneCountInString(lines[out.line-1][:column-1]) + 1
	}
	_, text, _ := strings.Cut(rest, ": ")
	if before, _, quotes := strings.Cut(text, "invalid literal"); quotes {
		text = before + "invalid literal"
	}
	out.text += ": " + text
	return out
}

type jsonReader struct {
	file   *File
	data   []byte
	starts []int // offset of each line
	deep   *Node // the first node that is nested too deep

	// Where the last node stands, so that the next one of a long line is counted
	// from there.
	at, line, column int
}

func (r *jsonReader) node(offset int, k Kind, text string) *Node {
	line := sort.SearchInts(r.starts, offset+1)
	if line != r.line || offset < r.at {
		r.at, r.line, r.column = r.starts[line-1], line, 1
	}
	column := r.column + utf8.RuneCount(r.data[r.at:offset])
	r.at, r.column = offset, column
	return &Node{File: r.file, Line: line, Column: column, Kind: k, Text: text}
}

func (r *jsonReader) read(v *hujson.Value, depth int) *Node {
	if depth > maxDepth {
		out := r.node(v.StartOffset, Null, "")
		if r.deep == nil {
			r.deep = out
		}
		return out
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		out := r.node(v.StartOffset, Map, "")
		for i := range x.Members {
			m := &x.Members[i]
			out.Pairs = append(out.Pairs, Pair{r.read(&m.Name, depth), r.read(&m.Value, depth+1)})
		}
		return out
	case *hujson.Array:
		out := r.node(v.StartOffset, List, "")
		for i := range x.Elements {
			out.Items = append(out.Items, r.read(&x.Elements[i], depth+1))
		}
		return out
	case hujson.Literal:
		out := r.literal(v.StartOffset, x)
		out.end = out.Column + utf8.RuneCount(x)
		return out
	}
	return r.node(v.StartOffset, Null, "")
}

func (r *jsonReader) literal(offset int, l hujson.Literal) *Node {
	text, k := string(l), Null
	switch l.Kind() {
	case '"':
		return r.node(offset, Text, l.String())
	case 't', 'f':
		k = Bool
	case '0':
		k = Int
		if strings.ContainsAny(text, ".eE") {
			k = Float
		}
	default:
		text = ""
	}
	out := r.node(offset, k, text)
	out.Plain = text
	return out
}

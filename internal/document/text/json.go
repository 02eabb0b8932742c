package text

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/page"
)

const (
	maxIndented = 8 << 20 // bytes of JSON that is indented anew
	maxNotebook = 64 << 20
	maxDepth    = 64     // levels that are indented
	maxValid    = 10_000 // levels that are checked
)

// JSON converts JSON to a block of code, indented where it is all on one line.
func JSON(ctx context.Context, src draft.Source, out *draft.Out) error {
	if src.Size > maxIndented {
		return fenced(src, out, "json")
	}
	r, _ := Decode(src, out)
	b, err := io.ReadAll(r)
	if err != nil {
		return draft.Damage(err, "the JSON cannot be read")
	}
	if notebook(b) {
		return Notebook(ctx, src, out)
	}
	if text := indented(b); text != "" {
		out.Code("json", text)
		return out.Err()
	}
	if err := json.Unmarshal(b, new(json.RawMessage)); err != nil && !lineWise(b) {
		if n := nesting(b); n > maxValid {
			out.Note("this JSON is nested %d levels deep, too deep to be checked or indented: it is shown as it is", n)
		} else {
			out.Note("this is no valid JSON%s: it is shown as it is", place(b, err))
		}
	}
	return fenced(src, out, "json")
}

// place says what is wrong with JSON, and in which line of it.
func place(b []byte, err error) string {
	e, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return ""
	}
	before := b[:min(max(int(e.Offset), 0), len(b))]
	return fmt.Sprintf(" (line %d: %v)", bytes.Count(before, []byte("\n"))+1, e)
}

// indented returns JSON that stands on one line indented, and "" where that would
// not help, or be far larger.
func indented(b []byte) string {
	if bytes.Count(bytes.TrimSpace(b), []byte("\n")) >= len(b)/500+1 || nesting(b) >= maxDepth {
		return ""
	}
	var to bytes.Buffer
	if json.Indent(&to, b, "", "  ") != nil || to.Len() >= 4*len(b)+100 {
		return ""
	}
	return to.String()
}

// nesting returns how deep JSON is nested.
func nesting(b []byte) int {
	depth, most := 0, 0
	for _, c := range b {
		switch c {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// lineWise reports whether each line is JSON by itself.
func lineWise(b []byte) bool {
	for line := range bytes.Lines(b) {
		if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) {
			return false
		}
	}
	return true
}

func notebook(b []byte) bool {
	return bytes.Contains(b, []byte(`"nbformat"`)) && bytes.Contains(b, []byte(`"cells"`))
}

// lines of a notebook are a string or a list of strings.
type joined string

func (j *joined) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*j = joined(one)
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) == nil { // anything else is nothing to read
		*j = joined(strings.Join(many, ""))
	}
	return nil
}

type cell struct {
	Type    string `json:"cell_type"`
	Source  joined `json:"source"`
	Outputs []struct {
		Type      string                     `json:"output_type"`
		Text      joined                     `json:"text"`
		Data      map[string]json.RawMessage `json:"data"`
		ErrorName string                     `json:"ename"`
		Error     string                     `json:"evalue"`
	} `json:"outputs"`
}

// Notebook converts a notebook of Jupyter: its texts, its code, and what that put out.
func Notebook(_ context.Context, src draft.Source, out *draft.Out) error {
	b, err := src.Bytes(maxNotebook)
	if err != nil {
		return err
	}
	var n struct {
		Cells    []cell `json:"cells"`
		Metadata struct {
			Title    string `json:"title"`
			Language struct {
				Name string `json:"name"`
			} `json:"language_info"`
			Kernel struct {
				Language string `json:"language"`
			} `json:"kernelspec"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(b, &n); err != nil {
		return draft.Damage(err, "the notebook is no JSON of the form that notebooks have")
	}
	language := n.Metadata.Language.Name
	if language == "" {
		language = n.Metadata.Kernel.Language
	}
	if language == "" {
		language = "python"
	}
	out.Set("title", n.Metadata.Title)
	out.Set("language", language)
	for _, c := range n.Cells {
		if err := out.Err(); err != nil {
			return err
		}
		switch c.Type {
		case "markdown":
			markdown(string(c.Source), out)
		case "code":
			if strings.TrimSpace(string(c.Source)) != "" {
				out.Code(language, string(c.Source))
			}
			outputs(c, out)
		case "raw":
			out.Code("", string(c.Source))
		}
	}
	return out.Err()
}

// outputs writes what a cell put out: of each output its most readable form.
func outputs(c cell, out *draft.Out) {
	for _, o := range c.Outputs {
		text := string(o.Text)
		if o.Type == "error" {
			text = o.ErrorName + ": " + o.Error
		}
		form := func(kind string) string {
			var s joined
			if raw, ok := o.Data[kind]; ok && s.UnmarshalJSON(raw) == nil {
				return string(s)
			}
			return ""
		}
		if table := form("text/html"); strings.Contains(table, "<table") {
			if page.Fragment(table, "", out) == nil {
				continue
			}
		}
		if md := form("text/markdown"); md != "" {
			markdown(md, out)
			continue
		}
		for kind := range o.Data {
			if strings.HasPrefix(kind, "image/") {
				out.Note("images that cells put out are left out")
			}
		}
		text += form("text/plain")
		if strings.TrimSpace(text) != "" {
			out.Block("Output:")
			out.Code("", text)
		}
	}
}

// markdown writes Markdown of another document, with its headings in the outline.
func markdown(text string, out *draft.Out) {
	fence := false
	var block strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(bare), "```") {
			fence = !fence
		}
		level := len(bare) - len(strings.TrimLeft(bare, "#"))
		if fence || level == 0 || level > 6 || len(bare) <= level || bare[level] != ' ' {
			block.WriteString(line)
			continue
		}
		out.Block(block.String())
		block.Reset()
		out.Heading(level, bare[level:])
	}
	out.Block(block.String())
}

// JSONLines converts JSON that stands line by line: objects with the same keys are a
// table, anything else code.
func JSONLines(_ context.Context, src draft.Source, out *draft.Out) error {
	r, _ := Decode(src, out)
	b := bufio.NewReaderSize(r, 64<<10)
	first, err := b.ReadSlice('\n')
	keys, flat := keysOf(first)
	if err != nil && !errors.Is(err, io.EOF) || !flat || len(keys) > 40 {
		return fenced(src, out, "json")
	}
	out.Table(keys)
	line, odd := bytes.Clone(first), false
	for rows := 1; ; rows++ {
		if len(bytes.TrimSpace(line)) > 0 {
			if !jsonRow(keys, line, out) && !odd {
				odd = true
				out.Note("line %d is no JSON object: such lines stand in the first column as they are", rows)
			}
		}
		if err := out.Err(); err != nil {
			return err
		}
		if line, err = readLine(b, line[:0]); errors.Is(err, errLong) {
			return draft.TooLarge("line %d has more than %d MiB", rows+1, maxIndented>>20)
		}
		if err != nil && len(line) == 0 {
			break
		}
	}
	out.EndTable()
	return out.Err()
}

var errLong = errors.New("a line is too long")

// readLine reads a line into b, as much as is indented at most.
func readLine(r *bufio.Reader, b []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		if b = append(b, piece...); len(b) > maxIndented {
			return nil, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b, err
		}
	}
}

// jsonRow writes an object as a row, and reports false where a line is none: then that
// is the row.
func jsonRow(keys []string, line []byte, out *draft.Out) bool {
	row := make([]string, len(keys))
	err := json.Unmarshal(line, new(anyObject))
	if err != nil {
		row[0] = string(bytes.TrimSpace(line))
	} else if fillRow(keys, row, line) {
		out.Note("keys that the first line does not have are left out")
	}
	out.Row(row)
	return err == nil
}

// anyObject takes an object, or null, without what is in it.
type anyObject struct{}

// fillRow puts the values of an object into a row, one by one: it may have far more than
// are wanted. It reports whether there are others.
func fillRow(keys, row []string, line []byte) (others bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		k, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return others
		}
		at := slices.Index(keys, fmt.Sprint(k))
		if at < 0 {
			others = true
			continue
		}
		row[at] = scalar(value)
	}
	return others
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// keysOf returns the keys of an object in their order, and whether their values are
// single ones.
func keysOf(line []byte) (keys []string, flat bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, false
		}
		keys = append(keys, fmt.Sprint(k))
		if v, err := d.Token(); err != nil || v == json.Delim('{') || v == json.Delim('[') {
			return nil, false
		}
	}
	return keys, len(keys) > 0
}

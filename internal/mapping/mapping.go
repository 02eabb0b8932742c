// Package mapping makes the arguments of one tool out of those of another:
//
//	t, err := mapping.Parse([]byte(`{"uri": "${arguments.url}", "depth": 2}`))
//	…
//	args, err := t.Fill([]byte(`{"url": "https://example.com/"}`))
//
// A text that is nothing but a reference becomes the argument as it is, whatever
// its type; one that the call does not have is left out. Within other text it
// becomes its text. "$${" stands for "${".
package mapping

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// A Template is a JSON value in whose texts ${arguments.NAME} stands for an
// argument. It is immutable.
type Template struct{ root any }

// absent is what an argument that the call does not have leaves behind; it is left
// out of the object or the list around it.
type absent struct{}

// reference is what stands for an argument, or writes "${" itself.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$\{|\$\{arguments\.([^{}]+)\}`) })

// Parse reads a template.
func Parse(text json.RawMessage) (*Template, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var t Template
	if err := d.Decode(&t.root); err != nil {
		return nil, err
	}
	return &t, nil
}

// Fill returns the arguments made of args, a JSON object or nothing. The error says
// what is wrong with args.
func (t *Template) Fill(args json.RawMessage) (json.RawMessage, error) {
	var values map[string]json.RawMessage
	if len(bytes.TrimSpace(args)) > 0 {
		if err := json.Unmarshal(args, &values); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fill(t.root, values))
}

func fill(v any, args map[string]json.RawMessage) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, member := range v {
			if filled := fill(member, args); filled != (absent{}) {
				out[k] = filled
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, member := range v {
			if filled := fill(member, args); filled != (absent{}) {
				out = append(out, filled)
			}
		}
		return out
	case string:
		return fillText(v, args)
	}
	return v
}

// fillText returns an argument as it is where the text is nothing else, and its
// text within another text.
func fillText(text string, args map[string]json.RawMessage) any {
	refs := reference().FindAllStringSubmatchIndex(text, -1)
	if len(refs) == 1 && refs[0][0] == 0 && refs[0][1] == len(text) && refs[0][2] >= 0 {
		value, ok := args[text[refs[0][2]:refs[0][3]]]
		if !ok {
			return absent{}
		}
		return value
	}
	var b strings.Builder
	end := 0
	for _, m := range refs {
		b.WriteString(text[end:m[0]])
		end = m[1]
		if m[2] < 0 {
			b.WriteString("${")
			continue
		}
		b.WriteString(plain(args[text[m[2]:m[3]]]))
	}
	b.WriteString(text[end:])
	return b.String()
}

// plain returns a JSON value as it reads within a text.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

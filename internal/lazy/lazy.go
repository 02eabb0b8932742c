// Package lazy is what stands in place of a long list of tools: one tool that finds the
// others, and one that calls them. A model that is shown two definitions in place of
// five hundred keeps its context for its work.
//
//	if lazy.Tokens(bytes) > 8000 {
//		… show lazy.Search and lazy.Execute in place of the rest …
//	}
//	in, err := lazy.ParseExecute(arguments)   // of a call of lazy.Execute
//	… carry out the call of in.Tool with in.Arguments, whole …
//
// The package knows no catalog and no policy. It reads the arguments of the two tools,
// and writes the answers of the first (answer.go) with the parameters of each tool on
// one line (signature.go). Who finds, and who may, is the caller's.
package lazy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// The names of the two tools.
const (
	Search  = "mcp_search_tools"
	Execute = "mcp_execute_tool"
)

// The number of tools that an answer holds: where the model says none, and at most.
const (
	DefaultLimit = 10
	MaxLimit     = 50
)

// Definition returns what the list says of one of the two tools, as JSON.
func Definition(name string) json.RawMessage {
	if name == Search {
		return json.RawMessage(searchDefinition)
	}
	return json.RawMessage(executeDefinition)
}

const searchDefinition = `{"name":"` + Search + `","title":"Find tools",` +
	`"description":"Finds tools that are not in this list, by words of what they do. Gives the name of each, what it does, and its parameters as name: type; ` +
	`? stands behind those that may be left out. Search for one need at a time. The exact name of a tool gives its whole description and JSON schema; ` +
	`no query gives an overview by server, or the tools of a server that is named. Call what was found with ` + Execute + `.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"query":{"type":"string","maxLength":1000,"description":"Words of what is needed, such as: disk usage of a host. Or the exact name of a tool."},` +
	`"server":{"type":"string","description":"Only tools of this server."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"Tools to give at most; 10 if left out."}` +
	`},"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

const executeDefinition = `{"name":"` + Execute + `","title":"Call a tool that was found",` +
	`"description":"Calls a tool by the name that ` + Search + ` gave. The result is that of the tool, and the same rules hold as if it were called directly.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"tool_name":{"type":"string","description":"Name of the tool, exactly as found."},` +
	`"arguments":{"type":"object","description":"Arguments of that tool, by its parameters."},` +
	`"arguments_json":{"type":"string","description":"In place of arguments: the same object as JSON text."}` +
	`},"required":["tool_name"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`

// Tokens estimates how many tokens of a model definitions of so many bytes are. JSON
// and English have about 4.4 bytes to a token.
func Tokens(size int) int { return (size*10 + 43) / 44 }

// A Wish is what a call of Execute asks for.
type Wish struct {
	Tool      string
	Arguments json.RawMessage // a JSON object, or empty where none were given
}

// ParseExecute reads the arguments of Execute. The error is a *tool.Error of kind
// Invalid that says how to call it.
func ParseExecute(args []byte) (Wish, error) {
	fields, err := members(args)
	if err != nil {
		return Wish{}, wrong("The arguments of "+Execute+" cannot be read: %v.", err)
	}
	var w Wish
	given := ""
	for _, f := range fields {
		switch f.key {
		case "tool_name":
			if json.Unmarshal(f.raw, &w.Tool) != nil || strings.TrimSpace(w.Tool) == "" || string(f.raw) == "null" {
				return Wish{}, wrong("tool_name must be the name of a tool.")
			}
			w.Tool = strings.TrimSpace(w.Tool)
		case "arguments", "arguments_json":
			if string(f.raw) == "null" {
				continue
			}
			if given != "" {
				return Wish{}, wrong("Give the arguments of the tool once: either in arguments or in arguments_json.")
			}
			given = f.key
			if w.Arguments, err = object(f.raw); err != nil {
				return Wish{}, wrong("%s %v.", f.key, err)
			}
		default:
			return Wish{}, wrong("%s has no parameter %s. The arguments of the tool that is called belong into arguments.", Execute, shortQuote(f.key))
		}
	}
	if w.Tool == "" {
		return Wish{}, wrong("tool_name is missing.")
	}
	return w, nil
}

// object returns the JSON object that a value is, or that it is the text of. A text
// within a text is nobody's arguments.
func object(raw json.RawMessage) (json.RawMessage, error) {
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, errors.New("is no JSON text")
		}
		raw = json.RawMessage(strings.TrimSpace(text))
		if len(raw) == 0 {
			return nil, nil
		}
		if !json.Valid(raw) {
			var v json.RawMessage
			return nil, fmt.Errorf("does not hold valid JSON: %v", json.Unmarshal(raw, &v))
		}
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("must be one JSON object, and is %s", kindOf(raw))
	}
	return raw, nil
}

func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// A Question is what a call of Search asks for.
type Question struct {
	Query  string
	Server string
	Limit  int // 0 is as usual
}

// ParseSearch reads the arguments of Search. The error is a *tool.Error of kind
// Invalid.
func ParseSearch(args []byte) (Question, error) {
	var q Question
	if len(bytes.TrimSpace(args)) == 0 {
		return q, nil
	}
	fields, err := members(args)
	if err != nil {
		return q, wrong("The arguments of "+Search+" cannot be read: %v.", err)
	}
	for _, f := range fields {
		if string(f.raw) == "null" {
			continue
		}
		switch f.key {
		case "query":
			err = json.Unmarshal(f.raw, &q.Query)
		case "server":
			err = json.Unmarshal(f.raw, &q.Server)
		case "limit":
			err = json.Unmarshal(f.raw, &q.Limit)
		default:
			return q, wrong("%s has no parameter %s. It takes query, server and limit.", Search, shortQuote(f.key))
		}
		if err != nil {
			return q, wrong("%s is %s, which it must not be.", f.key, kindOf(f.raw))
		}
	}
	q.Query, q.Server = strings.TrimSpace(q.Query), strings.TrimSpace(q.Server)
	q.Limit = min(max(q.Limit, 0), MaxLimit)
	return q, nil
}

func wrong(format string, args ...any) *tool.Error {
	return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf(format, args...)}
}

// shortQuote quotes a foreign word, of which a few characters are enough.
func shortQuote(s string) string { return strconv.Quote(clip(s, 60)) }

// A member is one of a JSON object.
type member struct {
	key string
	raw json.RawMessage
}

// members returns the members of a JSON object in their order. One that is there twice
// is an error: two readers could disagree about which one counts.
func members(obj []byte) ([]member, error) {
	obj = bytes.TrimSpace(obj)
	if len(obj) == 0 {
		return nil, errors.New("there are none")
	}
	if obj[0] != '{' {
		return nil, fmt.Errorf("they are %s, and must be an object", kindOf(obj))
	}
	d := json.NewDecoder(bytes.NewReader(obj))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, plain(err)
		}
		name, ok := key.(string)
		if !ok {
			return nil, plain(errNoKey)
		}
		m := member{key: name}
		if err := d.Decode(&m.raw); err != nil {
			return nil, plain(err)
		}
		if len(out) < maxMembers && slices.ContainsFunc(out, func(o member) bool { return o.key == m.key }) {
			return nil, fmt.Errorf("%s is there twice", shortQuote(m.key))
		}
		if out = append(out, m); len(out) > maxMembers {
			return nil, fmt.Errorf("there are more than %d", maxMembers)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, plain(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows behind the object")
	}
	return out, nil
}

// maxMembers bounds the members of an object that are looked at.
const maxMembers = 1000

var errNoKey = errors.New("a key is missing")

// plain says what is wrong with JSON, to somebody who does not know of Go.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

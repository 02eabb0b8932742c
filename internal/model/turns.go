package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Role says whose words a message is.
type Role string

// The roles. What is for the model before all of them is Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolReply Role = "tool" // what came of a call
)

// A Message is a part of a talk.
type Message struct {
	Role    Role
	Parts   []Part
	Calls   []Call // of an assistant
	ReplyTo string // of a ToolReply: the ID of its call
}

// A Tool is what a model is told of one.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its arguments
}

// A Call is one that the model asks for.
type Call struct {
	ID, Name  string
	Arguments string // as the model wrote them, which need be no JSON
	Mark      string // what Gemini wants to see again with the call
}

// turns returns all messages of a request.
func (r *Request) turns() []Message {
	if len(r.Parts) == 0 {
		return r.Messages
	}
	return append(slices.Clip(r.Messages), Message{Role: User, Parts: r.Parts})
}

// add adds a call to an answer. Some servers of open models give no IDs.
func (a *Answer) add(c Call) {
	if c.ID == "" {
		c.ID = "call_" + strconv.Itoa(len(a.Calls))
	}
	a.Calls = append(a.Calls, c)
}

// object returns the arguments of a call as JSON, for vendors that want an object again.
func (c *Call) object() json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Arguments), &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

func textOf(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Spoken returns what follows the thinking that some servers leave in an answer.
func Spoken(s string) string {
	const end = "</think>"
	if i := strings.Index(s, end); i >= 0 {
		if rest := strings.TrimSpace(s[i+len(end):]); rest != "" {
			return rest
		}
		s = s[:i]
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "<think>"))
}

package a2a

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"
)

// An Outcome is what came of a subtask: its answer, or a question.
type Outcome struct {
	Task, Context string
	Question      string // what the agent wants to know before it goes on
	Failed        string // why it gave up
	Open          bool   // its task waits all the same: cancel it
	Content       []any  // blocks of MCP
	Structured    any    // an object, or nothing
}

// outcome returns what came of it.
func (r *run) outcome() (Outcome, error) {
	out := Outcome{Task: string(r.task.ID), Context: r.task.ContextID}
	said := ""
	if m := r.task.Status.Message; m != nil {
		said = textOf(m.Parts)
	}
	switch s := r.task.Status.State; {
	case r.message != nil:
		out.add("message", r.message.Parts)
	case s == protocol.TaskStateInputRequired:
		out.Question = said
		if said == "" {
			out.Question = "It wants to know more."
		}
		return out, nil
	case s == protocol.TaskStateAuthRequired:
		out.Open, out.Failed = true, "it wants a login, which it cannot be given from here: "+said
	case s != protocol.TaskStateCompleted:
		word := strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_"))
		out.Failed = fmt.Sprintf("its task is %s: %s", word, said)
	}
	for _, a := range r.task.Artifacts {
		if a != nil {
			out.add(string(a.ID), a.Parts)
		}
	}
	if m := r.task.Status.Message; m != nil && len(out.Content) == 0 && out.Failed == "" {
		out.add("message", m.Parts)
	}
	if len(out.Content) == 0 && out.Failed == "" {
		for i := len(r.task.History) - 1; i >= 0 && len(out.Content) == 0; i-- {
			if m := r.task.History[i]; m != nil && m.Role == protocol.MessageRoleAgent {
				out.add("message", m.Parts)
			}
		}
	}
	return out, nil
}

// add adds parts as content of MCP.
func (o *Outcome) add(name string, parts protocol.ContentParts) {
	for i, p := range parts {
		if p == nil {
			continue
		}
		switch c := p.Content.(type) {
		case protocol.Text:
			o.Content = append(o.Content, map[string]any{"type": "text", "text": string(c)})
		case protocol.Data:
			o.data(c.Value)
		case protocol.Raw:
			o.Content = append(o.Content, file(fmt.Sprintf("a2a:///%s/%d", pathOf(name), i), p, c))
		case protocol.URL:
			link := map[string]any{"type": "resource_link", "uri": string(c), "name": nameOf(p, string(c))}
			if p.MediaType != "" {
				link["mimeType"] = p.MediaType
			}
			o.Content = append(o.Content, link)
		}
	}
}

// data adds a value: as structured content, and as text for those who read that alone.
func (o *Outcome) data(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	o.Content = append(o.Content, map[string]any{"type": "text", "text": string(b)})
	if object, ok := v.(map[string]any); ok && o.Structured == nil {
		o.Structured = object
		return
	}
	all, ok := o.Structured.(map[string]any)
	if list, many := all["data"].([]any); ok && many && len(all) == 1 {
		o.Structured = map[string]any{"data": append(list, v)}
		return
	}
	list := []any{v}
	if o.Structured != nil {
		list = []any{o.Structured, v}
	}
	o.Structured = map[string]any{"data": list}
}

// file returns a file as a block: what can be seen or heard, or a resource.
func file(uri string, p *protocol.Part, data []byte) map[string]any {
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil {
		kind = "application/octet-stream"
	}
	coded := base64.StdEncoding.EncodeToString(data)
	for _, seen := range []string{"image", "audio"} {
		if strings.HasPrefix(kind, seen+"/") {
			return map[string]any{"type": seen, "mimeType": kind, "data": coded}
		}
	}
	if p.Filename != "" {
		uri += "/" + pathOf(p.Filename)
	}
	resource := map[string]any{"uri": uri, "mimeType": kind, "blob": coded}
	if strings.HasPrefix(kind, "text/") {
		delete(resource, "blob")
		resource["text"] = strings.ToValidUTF8(string(data), "\uFFFD")
	}
	return map[string]any{"type": "resource", "resource": resource}
}

// pathOf returns a name as one element of a path.
func pathOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' || strings.ContainsRune("?#% ", r) {
			return '_'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[:120])
	}
	return name
}

func nameOf(p *protocol.Part, otherwise string) string {
	if p.Filename != "" {
		return p.Filename
	}
	return otherwise
}

// textOf returns the texts of parts.
func textOf(parts protocol.ContentParts) string {
	var all []string
	for _, p := range parts {
		if p == nil {
			continue
		}
		if t := strings.TrimSpace(p.Text()); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

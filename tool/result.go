package tool

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// A Result is what came of a call. There is always one, and it holds either a
// result or an error: Kind is empty exactly where the call succeeded.
//
// A result that came from a server keeps the server's CallToolResult in Raw,
// byte for byte; Text, Content and Structured read it when asked. A result that
// Tenon made itself (an error, most often) has Text only and no Raw.
type Result struct {
	ID      string
	Server  string // what really ran, after correction
	Tool    string
	Kind    Kind   // empty for success
	Message string // the text for the model where Raw is empty
	Raw     Bytes  // the server's CallToolResult; empty where there is none
	Notes   []Note
	// Truncated is set when something was cut; Handle then leads to the whole.
	Truncated bool
	Handle    *Handle
	Elapsed   time.Duration
	Attempts  int
	// Err is the chain behind an error, for the log. It never leaves the process.
	Err error
}

// A Note says what Tenon did to a call: corrected, repaired, retried, fell back,
// truncated, redacted.
type Note struct {
	Stage string `json:"stage"`
	Text  string `json:"text"`
}

// A Handle leads to a stored result that was too large to give.
type Handle struct {
	ID        string    `json:"id"`
	Size      int       `json:"size"` // bytes
	Kind      string    `json:"kind"`
	ExpiresAt time.Time `json:"expires_at"`
}

// callToolResult is the part of MCP's CallToolResult that Tenon reads.
type callToolResult struct {
	Content    []json.RawMessage
	Structured json.RawMessage
	Meta       json.RawMessage
}

// UnmarshalJSON reads the members of these very names: one in another case is another
// member, and means nothing.
func (r *callToolResult) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	r.Structured, r.Meta = m["structuredContent"], m["_meta"]
	if c := m["content"]; c != nil {
		return json.Unmarshal(c, &r.Content)
	}
	return nil
}

// texts are the members of an object of which Tenon reads those that are texts.
type texts map[string]json.RawMessage

func (t texts) of(name string) string {
	var s string
	if raw := t[name]; len(raw) > 0 && raw[0] == '"' {
		_ = json.Unmarshal(raw, &s) // it is valid
	}
	return s
}

// Text returns what the model is to read: all text of the content, joined by
// newlines; other content is named in brackets. It decodes Raw each time.
func (r *Result) Text() string {
	raw, err := r.decode()
	return r.text(raw, err)
}

// text returns what Text does, of Raw as it was decoded.
func (r *Result) text(raw callToolResult, err error) string {
	switch {
	case len(r.Raw) == 0:
		return r.Message
	case err != nil:
		return string(r.Raw.Join()) // not the usual shape: let the model see it all
	}
	parts := make([]string, 0, len(raw.Content))
	for _, c := range raw.Content {
		if s := blockText(c); s != "" {
			parts = append(parts, s)
		}
	}
	text := strings.Join(parts, "\n")
	switch {
	case strings.TrimSpace(text) != "":
		return text
	case len(raw.Structured) > 0 && string(raw.Structured) != "null":
		return string(raw.Structured)
	case r.Kind != "":
		return "Tool " + r.Tool + " reported an error and gave no text."
	case len(raw.Content) == 0:
		return "Tool " + r.Tool + " completed and returned no content. That may be expected."
	}
	return "Tool " + r.Tool + " completed and returned empty text. That may be expected."
}

func blockText(c json.RawMessage) string {
	var b, in texts
	if json.Unmarshal(c, &b) != nil {
		return string(c) // no block of the protocol: let the model see it
	}
	switch kind := b.of("type"); kind {
	case "text":
		return b.of("text")
	case "resource":
		_ = json.Unmarshal(b["resource"], &in) // one that cannot be read has nothing
		if text := in.of("text"); text != "" {
			return text
		}
		return fmt.Sprintf("[resource %s %s]", in.of("uri"), in.of("mimeType"))
	case "resource_link":
		return fmt.Sprintf("[resource link %s %s]", b.of("uri"), b.of("mimeType"))
	case "image", "audio":
		size := base64.StdEncoding.DecodedLen(max(0, len(b["data"])-2))
		return fmt.Sprintf("[%s %s, about %d bytes]", kind, b.of("mimeType"), size)
	default:
		return fmt.Sprintf("[content of type %q]", kind)
	}
}

// meta returns the _meta without what belongs to the protocol, or nil.
func (r *callToolResult) meta() json.RawMessage {
	var members map[string]json.RawMessage
	if len(r.Meta) == 0 || json.Unmarshal(r.Meta, &members) != nil {
		return nil
	}
	maps.DeleteFunc(members, func(key string, _ json.RawMessage) bool { return strings.HasPrefix(key, "io.modelcontextprotocol/") })
	if len(members) == 0 {
		return nil
	}
	out, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return out
}

// Content returns the content blocks as the server sent them, or nil.
func (r *Result) Content() []json.RawMessage {
	raw, _ := r.decode() // an odd shape has no content to show
	return raw.Content
}

// Structured returns the structured content as the server sent it, or nil.
func (r *Result) Structured() json.RawMessage {
	raw, _ := r.decode()
	return raw.Structured
}

// decode reads Raw. After an error nothing of it counts.
func (r *Result) decode() (raw callToolResult, err error) {
	if len(r.Raw) == 0 {
		return raw, nil
	}
	if err = json.Unmarshal(r.Raw.Join(), &raw); err != nil {
		return callToolResult{}, err
	}
	return raw, nil
}

// MarshalJSON prints the result object that REST and the command line give.
func (r *Result) MarshalJSON() ([]byte, error) {
	raw, err := r.decode()
	out := struct {
		ID         string            `json:"id"`
		Server     string            `json:"server_name"`
		Tool       string            `json:"tool_name"`
		Result     *string           `json:"result,omitempty"`
		Error      *string           `json:"error,omitempty"`
		Kind       Kind              `json:"error_kind,omitempty"`
		Content    []json.RawMessage `json:"content,omitempty"`
		Structured json.RawMessage   `json:"structured_content,omitempty"`
		Meta       json.RawMessage   `json:"_meta,omitempty"`
		Notes      []Note            `json:"notes,omitempty"`
		Truncated  bool              `json:"truncated,omitempty"`
		Handle     *Handle           `json:"handle,omitempty"`
		ElapsedMS  float64           `json:"elapsed_ms"`
		Attempts   int               `json:"attempts"`
	}{
		ID: r.ID, Server: r.Server, Tool: r.Tool, Kind: r.Kind,
		Content: raw.Content, Structured: raw.Structured, Meta: raw.meta(),
		Notes: r.Notes, Truncated: r.Truncated, Handle: r.Handle,
		ElapsedMS: float64(r.Elapsed.Microseconds()) / 1e3, Attempts: r.Attempts,
	}
	text := r.text(raw, err)
	if r.Kind == "" {
		out.Result = &text
	} else {
		out.Error = &text
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON printed, as a client of the REST API does.
func (r *Result) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	var text, failure string
	var elapsed float64
	*r = Result{}
	for name, to := range map[string]any{
		"id": &r.ID, "server_name": &r.Server, "tool_name": &r.Tool, "result": &text, "error": &failure,
		"error_kind": &r.Kind, "notes": &r.Notes, "truncated": &r.Truncated, "handle": &r.Handle,
		"elapsed_ms": &elapsed, "attempts": &r.Attempts,
	} {
		if raw := m[name]; raw != nil {
			if err := json.Unmarshal(raw, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	r.Message, r.Elapsed = text+failure, time.Duration(elapsed*float64(time.Millisecond))
	content, structured, meta := m["content"], m["structured_content"], m["_meta"]
	if content == nil && structured == nil && meta == nil {
		return nil
	}
	raw, err := json.Marshal(struct {
		Content    json.RawMessage `json:"content,omitempty"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
		Meta       json.RawMessage `json:"_meta,omitempty"`
	}{content, structured, r.Kind != "", meta})
	if err != nil {
		return err
	}
	r.Raw = OneOf(raw)
	return nil
}

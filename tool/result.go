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
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	Meta       json.RawMessage   `json:"_meta"`
}

type contentBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
	MIME string `json:"mimeType"`
	URI  string `json:"uri"`
	Data string `json:"data"`

	Resource struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType"`
		Text string `json:"text"`
	} `json:"resource"`
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
	var b contentBlock
	if err := json.Unmarshal(c, &b); err != nil {
		return ""
	}
	size := base64.StdEncoding.DecodedLen(len(b.Data))
	switch b.Type {
	case "text":
		return b.Text
	case "resource":
		if b.Resource.Text != "" {
			return b.Resource.Text
		}
		return fmt.Sprintf("[resource %s %s]", b.Resource.URI, b.Resource.MIME)
	case "resource_link":
		return fmt.Sprintf("[resource link %s %s]", b.URI, b.MIME)
	case "image", "audio":
		return fmt.Sprintf("[%s %s, about %d bytes]", b.Type, b.MIME, size)
	}
	return fmt.Sprintf("[content of type %q]", b.Type)
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
	var in struct {
		ID         string          `json:"id"`
		Server     string          `json:"server_name"`
		Tool       string          `json:"tool_name"`
		Result     string          `json:"result"`
		Error      string          `json:"error"`
		Kind       Kind            `json:"error_kind"`
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structured_content"`
		Meta       json.RawMessage `json:"_meta"`
		Notes      []Note          `json:"notes"`
		Truncated  bool            `json:"truncated"`
		Handle     *Handle         `json:"handle"`
		ElapsedMS  float64         `json:"elapsed_ms"`
		Attempts   int             `json:"attempts"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*r = Result{
		ID: in.ID, Server: in.Server, Tool: in.Tool, Kind: in.Kind, Message: in.Result + in.Error,
		Notes: in.Notes, Truncated: in.Truncated, Handle: in.Handle,
		Elapsed: time.Duration(in.ElapsedMS * float64(time.Millisecond)), Attempts: in.Attempts,
	}
	if in.Content == nil && in.Structured == nil && in.Meta == nil {
		return nil
	}
	raw, err := json.Marshal(struct {
		Content    json.RawMessage `json:"content,omitempty"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
		Meta       json.RawMessage `json:"_meta,omitempty"`
	}{in.Content, in.Structured, in.Kind != "", in.Meta})
	if err != nil {
		return err
	}
	r.Raw = OneOf(raw)
	return nil
}

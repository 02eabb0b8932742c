package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// shape keeps an answer within what the tool's metadata allows: its text is cut
// at a line, or at least at a character, and the end says how much there was.
func shape(_ *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		res := next(ctx, r)
		if r.Target == nil || r.Target.Meta.MaxResultChars == 0 {
			return res
		}
		limit := r.Target.Meta.MaxResultChars
		if res.Raw.Len() <= limit { // no text is longer than its JSON
			return res
		}
		cutResult(r, res, limit)
		return res
	}
}

// cutResult cuts the text of the content to limit characters in all. Content of
// other types stays.
func cutResult(r *Request, res *tool.Result, limit int) {
	raw := res.Raw.Join()
	var in struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return // no result that a model could read as text
	}
	total, left := 0, limit
	for i, block := range in.Content {
		text, ok := blockText(block)
		if !ok {
			continue
		}
		n := utf8.RuneCountInString(text)
		total += n
		if n > left {
			cut := cutText(text, left)
			in.Content[i] = withText(block, cut)
			n = left
		}
		left -= n
	}
	fields := []jsonrpc.Field{}
	if total > limit {
		end := fmt.Sprintf("[cut: %d of %d characters are shown. Ask for less at once to see the rest.]", limit, total)
		block := append(jsonrpc.Quote([]byte(`{"type":"text","text":`), end), '}')
		content, err := json.Marshal(append(in.Content, block))
		if err != nil {
			return // cannot happen: the blocks were just read
		}
		fields = append(fields, jsonrpc.Field{Key: "content", Value: content})
		r.Note("shape", "cut from %d to %d characters", total, limit)
	}
	if n := len(in.Structured); n > limit {
		fields = append(fields, jsonrpc.Field{Key: "structuredContent", Value: []byte("{}")})
		r.Note("shape", "left out structured content of %d bytes: over the limit of %d", n, limit)
	}
	if len(fields) == 0 {
		return
	}
	if edited, err := jsonrpc.Edit(raw, fields...); err == nil {
		res.Raw, res.Truncated = tool.OneOf(edited), true
	}
}

// blockText returns the text of a text block.
func blockText(block json.RawMessage) (string, bool) {
	var b struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(block, &b) != nil || b.Type != "text" {
		return "", false
	}
	return b.Text, true
}

func withText(block json.RawMessage, text string) json.RawMessage {
	out, err := jsonrpc.Edit(block, jsonrpc.Field{Key: "text", Value: jsonrpc.Quote(nil, text)})
	if err != nil {
		return block // cannot happen: it was just read
	}
	return out
}

// cutText returns at most n characters of text, up to the end of a line where
// that loses less than a fifth.
func cutText(text string, n int) string {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > end*4/5 {
		end = line + 1
	}
	return text[:end]
}

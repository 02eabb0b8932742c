package call

import (
	"bytes"
	"io"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// answerParts are the parts of a CallToolResult that shaping looks at. All of
// them are slices of the answer: nothing of it is copied.
type answerParts struct {
	raw            tool.Bytes
	content        jsonrpc.Span
	blocks         []block
	chars          int // of the text of all blocks, with a line end between two
	cost           int // of what they have beside it
	structured     tool.Bytes
	structuredSpan jsonrpc.Span
	// structuredChars is the length of the structured content, as JSON.
	structuredChars int
	restructured    bool // structured is not what raw has
}

// A block is one content block.
type block struct {
	raw    tool.Bytes
	text   tool.Bytes   // its text as a JSON string; nil where it has none
	span   jsonrpc.Span // of text in raw
	plain  tool.Bytes   // its text as it is, of a block that raw has no part for
	chars  int          // of the text
	cost   int          // of what it has beside the text, in characters that count as well
	media  tool.Bytes   // its base64 as a JSON string; nil where it has none
	mime   string
	inline bool // it is of type text
}

// Bounds of what blocks have beside text and media before that counts as text.
const (
	maxBlocks = 1000 // those beyond are one lump
	perBlock  = 100  // bytes of a block with text or media
	freeBytes = 2000 // bytes of all blocks beside that: a few links cost nothing
)

var (
	answerKeys   = []string{"content", "structuredContent"}
	blockKeys    = []string{"type", "text", "data", "mimeType", "resource"}
	resourceKeys = []string{"text", "blob", "mimeType"}
)

// readAnswer finds the parts of an answer. It reports false where there are none.
func readAnswer(raw tool.Bytes) (*answerParts, bool) {
	var spans [2]jsonrpc.Span
	if jsonrpc.Members(raw, answerKeys, spans[:]) != nil {
		return nil, false
	}
	a := &answerParts{raw: raw, content: spans[0], structuredSpan: spans[1], structured: spans[1].In(raw)}
	if a.structured != nil && string(a.structured.Slice(0, 1).Join()) != "n" { // not null
		a.structuredChars = runeStarts(a.structured)
	}
	if content := spans[0].In(raw); content != nil {
		a.readContent(content)
	}
	for i := range a.blocks {
		a.cost += a.blocks[i].cost
		if n := a.blocks[i].chars; n > 0 {
			if a.chars > 0 {
				n++ // the line end before it
				a.blocks[i].chars++
			}
			a.chars += n
		}
	}
	return a, true
}

// readContent finds the blocks of the content. What is no list is one lump, and so are
// all blocks beyond the first maxBlocks.
func (a *answerParts) readContent(content tool.Bytes) {
	switch string(content.Slice(0, 1).Join()) {
	case "n": // null
		return
	case "[":
	default:
		a.blocks = []block{lump(content)}
		return
	}
	free := freeBytes
	spans := elements(content)
	a.blocks = make([]block, 0, min(len(spans), maxBlocks+1))
	for i, span := range spans {
		if i == maxBlocks {
			span.End = spans[len(spans)-1].End
			a.blocks = append(a.blocks, lump(span.In(content)))
			return
		}
		b := readBlock(span.In(content))
		b.weigh(&free)
		a.blocks = append(a.blocks, b)
	}
}

// lump returns a block whose text is its JSON.
func lump(raw tool.Bytes) block {
	return block{raw: raw, plain: raw, chars: runeStarts(raw)}
}

// readBlock finds text and media of a content block.
func readBlock(raw tool.Bytes) block {
	b := block{raw: raw}
	var spans [5]jsonrpc.Span
	if jsonrpc.Members(raw, blockKeys, spans[:]) != nil {
		return lump(raw)
	}
	b.mime, _ = jsonrpc.String(spans[3].In(raw).Join())
	kind, _ := jsonrpc.String(spans[0].In(raw).Join())
	switch {
	case kind == "text" && isString(spans[1].In(raw)):
		b.span, b.inline = spans[1], true
	case (kind == "image" || kind == "audio") && isString(spans[2].In(raw)):
		b.media = spans[2].In(raw)
	case kind == "resource" && spans[4].Found():
		b.resource(spans[4])
	}
	if b.span.Found() {
		b.text = b.span.In(raw)
		b.chars = stringChars(b.text)
	}
	if b.mime == "" {
		b.mime = "application/octet-stream"
	}
	return b
}

// weigh counts what a block has beside text and media. free is what may still be had for
// nothing; a block that has neither and does not fit there is a lump, and so is any that
// has much more than its text.
func (b *block) weigh(free *int) {
	if b.plain != nil {
		return
	}
	beside := b.raw.Len() - b.text.Len() - b.media.Len()
	bare := b.text == nil && b.media == nil
	if !bare {
		beside = max(0, beside-perBlock)
	}
	switch {
	case beside <= *free:
		*free -= beside
	case bare, beside > freeBytes:
		*b = lump(b.raw)
	default:
		b.cost, *free = beside-*free, 0
	}
}

// resource finds the text or the media of an embedded resource.
func (b *block) resource(at jsonrpc.Span) {
	in := at.In(b.raw)
	var spans [3]jsonrpc.Span
	if jsonrpc.Members(in, resourceKeys, spans[:]) != nil {
		return
	}
	switch {
	case isString(spans[0].In(in)):
		b.span = jsonrpc.Span{Start: at.Start + spans[0].Start, End: at.Start + spans[0].End}
	case isString(spans[1].In(in)):
		b.media = spans[1].In(in)
		b.mime, _ = jsonrpc.String(spans[2].In(in).Join())
	}
}

func isString(b tool.Bytes) bool {
	return b.Len() >= 2 && string(b.Slice(0, 1).Join()) == `"`
}

// prefix returns at least n characters of the text of a block, or all.
func (b *block) prefix(n int) string {
	var out strings.Builder
	take := func(p []byte) error {
		out.Write(p)
		if n -= runeStartsIn(p); n < 0 {
			return io.EOF
		}
		return nil
	}
	if b.text == nil {
		for _, p := range b.plain {
			if take(p) != nil {
				break
			}
		}
	} else {
		_ = unescape(b.text, take) // its error is that it is enough
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}

// with returns the block with another text.
func (b *block) with(text string) block {
	if b.text == nil {
		return block{raw: tool.OneOf(textBlock(text))}
	}
	return block{raw: replace(b.raw, edit{b.span, jsonrpc.Quote(nil, text)})}
}

// text returns all text of the blocks, for keeping.
func (a *answerParts) text() io.WriterTo { return answerText{a.blocks} }

type answerText struct{ blocks []block }

// WriteTo writes the texts with a line end between two.
func (t answerText) WriteTo(w io.Writer) (n int64, err error) {
	first := true
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.chars == 0 {
			continue
		}
		if !first {
			if _, err := w.Write([]byte{'\n'}); err != nil {
				return n, err
			}
			n++
		}
		first = false
		var m int64
		if b.text != nil {
			m, err = jsonString{b.text}.WriteTo(w)
		} else {
			m, err = b.plain.WriteTo(w)
		}
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// setStructured replaces the structured content; nil takes it away.
func (a *answerParts) setStructured(b []byte) {
	a.restructured, a.structured, a.structuredChars = true, nil, 0
	if b != nil {
		a.structured = tool.OneOf(b)
		a.structuredChars = runeStarts(a.structured)
	}
}

// bytes returns the answer with its new parts. All else is as it came.
func (a *answerParts) bytes() tool.Bytes {
	content := make([]byte, 0, 1024)
	content = append(content, '[')
	for i, b := range a.blocks {
		if i > 0 {
			content = append(content, ',')
		}
		for _, p := range b.raw {
			content = append(content, p...)
		}
	}
	content = append(content, ']')
	var edits []edit
	if a.content.Found() {
		edits = append(edits, edit{a.content, content})
	}
	switch {
	case !a.restructured:
	case a.structured != nil:
		edits = append(edits, edit{a.structuredSpan, a.structured.Join()})
	default:
		edits = append(edits, without(a.raw, a.structuredSpan))
	}
	if len(edits) == 2 && edits[0].at.Start > edits[1].at.Start {
		edits[0], edits[1] = edits[1], edits[0]
	}
	out := replace(a.raw, edits...)
	if !a.content.Found() {
		out = jsonrpc.Prepend(out, jsonrpc.Field{Key: "content", Value: content})
	}
	return out
}

// An edit puts other bytes in a place.
type edit struct {
	at  jsonrpc.Span
	new []byte
}

// replace returns b with the edits, which must be in order. It copies nothing.
func replace(b tool.Bytes, edits ...edit) tool.Bytes {
	var out tool.Bytes
	at := 0
	for _, e := range edits {
		out = append(out, b.Slice(at, e.at.Start)...)
		if len(e.new) > 0 {
			out = append(out, e.new)
		}
		at = e.at.End
	}
	return append(out, b.Slice(at, b.Len())...)
}

// without returns the edit that takes a member out of the object b, whose value
// is at the span. Where the text around it is so odd that its key is not found,
// the value becomes an empty object.
func without(b tool.Bytes, value jsonrpc.Span) edit {
	const spaces = " \t\r\n"
	const window = 1 << 10
	asEmpty := edit{value, []byte("{}")}
	from := max(0, value.Start-window)
	before := b.Slice(from, value.Start).Join()
	key, ok := bytes.CutSuffix(bytes.TrimRight(before, spaces), []byte{':'})
	if !ok {
		return asEmpty
	}
	key, ok = bytes.CutSuffix(bytes.TrimRight(key, spaces), []byte{'"'})
	start := bytes.LastIndexByte(key, '"')
	if !ok || start < 0 {
		return asEmpty
	}
	if rest := bytes.TrimRight(before[:start], spaces); bytes.HasSuffix(rest, []byte{','}) {
		return edit{jsonrpc.Span{Start: from + len(rest) - 1, End: value.End}, nil}
	}
	after := b.Slice(value.End, min(b.Len(), value.End+window)).Join()
	rest := bytes.TrimLeft(after, spaces)
	end := value.End + len(after) - len(rest)
	if bytes.HasPrefix(rest, []byte{','}) {
		end++
	}
	return edit{jsonrpc.Span{Start: from + start, End: end}, nil}
}

// elements returns the places of the elements of a JSON array, whose structure
// must have been checked.
func elements(b tool.Bytes) []jsonrpc.Span {
	var out []jsonrpc.Span
	depth, start, end, off := 0, 0, 0, 0
	var s stringSkipper
	for _, p := range b {
		for i := 0; i < len(p); {
			if s.inside {
				i = s.skip(p, i)
				end = off + i
				continue
			}
			c := p[i]
			at := off + i
			i++
			switch c {
			case ' ', '\t', '\r', '\n':
				continue
			case '"':
				s.inside = true
			case '[', '{':
				depth++
				if depth == 1 {
					continue
				}
			case ']', '}':
				depth--
			}
			if depth == 0 || depth == 1 && c == ',' {
				if start > 0 {
					out = append(out, jsonrpc.Span{Start: start, End: end})
				}
				start = 0
				continue
			}
			if start == 0 {
				start = at
			}
			end = at + 1
		}
		off += len(p)
	}
	return out
}

// A stringSkipper passes over strings whose text comes in pieces.
type stringSkipper struct{ inside, escaped bool }

// skip returns where in p the string ends, or len(p).
func (s *stringSkipper) skip(p []byte, i int) int {
	quote := -1 // the next one, once it was looked for
	for i < len(p) {
		if s.escaped {
			s.escaped = false
			i++
			continue
		}
		if quote < i {
			quote = nextByte(p, i, '"')
		}
		if slash := bytes.IndexByte(p[i:quote], '\\'); slash >= 0 {
			s.escaped = true
			i += slash + 1
			continue
		}
		if i = quote; i < len(p) {
			s.inside = false
			return i + 1
		}
	}
	return i
}

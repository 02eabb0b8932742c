package call

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds on what one answer gives to a model, whatever a tool declares. A tool
// that declares 0 has none of them.
const (
	// MaxResultChars is the most that max_result_chars can allow.
	MaxResultChars = 100_000
	// MaxMediaBytes bounds the images and the audio of one answer, in base64.
	MaxMediaBytes = 4 << 20
)

// ReadTool is the name of the tool that reads behind a handle.
const ReadTool = "tenon_read_result"

// A Keeper keeps bodies behind handles, and gives them back. Its methods are
// called concurrently.
type Keeper interface {
	// Keep keeps a body for the caller of r. An empty kind is text, or JSON where the
	// body is an object or an array. The error is ErrUnread where nobody could read it.
	Keep(r *Request, kind string, body io.WriterTo) (*tool.Handle, error)
	// Value returns what is behind a handle of the caller as JSON, or a part of it,
	// in at most so many bytes. The error is a *tool.Error that says what to do next.
	Value(ctx context.Context, caller tool.Caller, ref Reference, most int) ([]byte, error)
}

// ErrUnread is the error of a Keeper that keeps nothing for this caller, because the pool
// ends with the call: that is no failure.
var ErrUnread = errors.New("the pool ends with the call")

// shape keeps an answer within what the tool's metadata allows. What is over the
// limit is kept whole behind a handle, and the answer says how to read on. An
// answer within the limit passes as it came.
func shape(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		res := next(ctx, r)
		limit := tool.DefaultMaxResultChars
		if r.Target != nil {
			limit = min(r.Target.Meta.MaxResultChars, MaxResultChars)
		}
		// No text is longer than its JSON, so the length alone decides nearly always.
		if limit == 0 || res.Raw.Len()+len(res.Message) <= limit {
			return res
		}
		s := shaper{o: o, r: r, res: res, limit: limit}
		if res.Raw.Len() == 0 {
			s.message()
			return res
		}
		s.answer()
		return res
	}
}

// A shaper cuts one result.
type shaper struct {
	o     *Options
	r     *Request
	res   *tool.Result
	limit int

	unread bool // nothing is kept, for nobody could read it
}

// message cuts a text that Tenon made itself, such as the error that a server
// refused the call with.
func (s *shaper) message() {
	text := s.res.Message
	total := utf8.RuneCountInString(text)
	if total <= s.limit {
		return
	}
	shown := cutText(text, s.limit)
	h := s.keep("", tool.OneOf([]byte(text)))
	s.res.Message = shown + "\n" + s.marker(utf8.RuneCountInString(shown), total, h)
}

// answer cuts the result of a server.
func (s *shaper) answer() {
	a, ok := readAnswer(s.res.Raw)
	if !ok {
		return // no result that a model could read as text
	}
	changed := s.media(a)
	if a.chars+a.cost > s.limit || a.structuredChars > s.limit || a.chars+a.structuredChars > s.limit && a.same() {
		s.text(a)
		changed = true
	}
	if changed {
		s.res.Raw = a.bytes()
	}
	if beside := a.raw.Len() - a.content.In(a.raw).Len() - a.structuredSpan.In(a.raw).Len(); beside > s.besides() && !s.r.unfinished {
		s.beside(a.raw)
	}
}

// media replaces images and audio that are too large by handles. It reports
// whether there are any.
func (s *shaper) media(a *answerParts) (changed bool) {
	left := MaxMediaBytes
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.media == nil {
			continue
		}
		if n := b.media.Len(); n <= left {
			left -= n
			continue
		}
		changed = true
		n := b.media.Len() - 2 // without its quotes
		h := s.keep(b.mime, b.media.Slice(1, n+1))
		text := fmt.Sprintf("[%s of %d bytes in base64 was left out: it is too large, and could not be kept.]", b.mime, n)
		switch {
		case s.unread:
			text = fmt.Sprintf("[%s of %d bytes in base64 was left out: it is too large. A running gateway (--gateway) keeps such a part.]", b.mime, n)
		case h != nil:
			text = fmt.Sprintf(`[%s of %d bytes in base64 is too large to be shown. It is kept as handle %s: pass it to a tool as {"$handle": %q}.]`, b.mime, n, h.ID, h.ID)
		}
		*b = block{raw: tool.OneOf(textBlock(text))}
	}
	return changed
}

// text cuts text and structured content to the limit, each for itself: a client shows
// a model the one or the other.
//
// Where both say the same and are too long, it is the text that is given, since every
// client shows a model the text. Clients check that a tool which declares an output schema
// gives structured content, so that then stays, pruned.
func (s *shaper) text(a *answerParts) {
	if a.chars == 0 && a.cost <= s.limit { // there is structured content alone: it is the text
		a.blocks = append(a.blocks, block{plain: a.structured, chars: a.structuredChars})
		a.chars = a.structuredChars
		s.structure(a, s.limit/4, true)
		s.cut(a, s.limit-a.structuredChars)
		return
	}
	switch {
	case a.structuredChars == 0:
		s.cut(a, s.limit)
	case a.same():
		budget := s.limit / 4
		if a.chars <= s.limit {
			budget = s.limit - a.chars
		}
		s.structure(a, budget, true)
		s.cut(a, s.limit-a.structuredChars)
	default:
		s.cut(a, s.limit) // first, so that the handle of the result is the one that the text names
		if a.structuredChars > s.limit {
			s.structure(a, s.limit, false)
		}
	}
}

// structure prunes the structured content to the budget, or takes it away. Said
// is whether the text says the same.
func (s *shaper) structure(a *answerParts, budget int, said bool) {
	declared := s.r.Target.Output != nil && s.res.Kind == ""
	if !said {
		h := s.keep("", a.structured)
		s.r.Note("shape", "structured content cut from %d to at most %d characters%s", a.structuredChars, budget, keptAs(h))
		declared = true
	}
	pruned, ok := []byte(nil), false
	if declared {
		pruned, ok = prune(a.structured, budget)
	}
	switch {
	case ok && said:
		s.r.Note("shape", "structured content was shortened: the text says the same")
	case !ok && said:
		s.r.Note("shape", "structured content was left out: the text says the same")
	}
	a.setStructured(pruned)
}

// cut cuts the text to limit characters. What blocks have beside it counts too, and
// blocks without text that find no place are left out.
func (s *shaper) cut(a *answerParts, limit int) {
	if a.chars+a.cost <= limit {
		if last := len(a.blocks) - 1; last >= 0 && a.blocks[last].raw == nil {
			a.blocks[last].raw = tool.OneOf(textBlock(string(a.blocks[last].plain.Join())))
		}
		return
	}
	var h *tool.Handle
	if a.chars > 0 {
		h = s.keep("", a.text())
	} else {
		h = s.keep("", a.content.In(a.raw))
	}
	left := limit
	kept := a.blocks[:0:0]
	shown, done, dropped := 0, false, 0
	for _, b := range a.blocks {
		switch {
		case b.chars == 0 && b.cost <= left:
			kept = append(kept, b)
			left -= b.cost
		case b.chars == 0:
			dropped++
		case done:
		case b.chars+b.cost <= left:
			kept = append(kept, b)
			left -= b.chars + b.cost
			shown += b.chars
		default:
			lead := min(shown, 1) // the line end before the block
			if part := cutText(b.prefix(max(0, left-b.cost)), max(0, left-b.cost-lead)); part != "" {
				kept = append(kept, b.with(part))
				shown += lead + utf8.RuneCountInString(part)
			}
			done, left = true, 0
			kept = append(kept, block{raw: tool.OneOf(textBlock(s.marker(shown, a.chars, h)))})
		}
	}
	if done {
		s.r.Note("shape", "cut from %d to %d characters%s", a.chars, shown, keptAs(h))
	}
	if dropped > 0 {
		s.r.Note("shape", "%d parts without text were left out: they are too long%s", dropped, keptAs(h))
	}
	if !done {
		text := fmt.Sprintf(cutMark+"%d of %d parts are shown.", len(kept), len(kept)+dropped)
		if h != nil {
			text += fmt.Sprintf(` Read all with %s {"id": %q}.`, ReadTool, h.ID)
		} else if s.unread {
			text += " A running gateway (--gateway) keeps the rest."
		}
		kept = append(kept, block{raw: tool.OneOf(textBlock(text + "]"))})
	}
	a.blocks = kept
}

// keep keeps a body behind a handle; nil where that is not possible.
func (s *shaper) keep(kind string, body io.WriterTo) *tool.Handle {
	s.res.Truncated = true
	if s.o.Keeper == nil {
		return nil
	}
	h, err := s.o.Keeper.Keep(s.r, kind, body)
	if errors.Is(err, ErrUnread) {
		s.unread = true
		return nil
	}
	if err != nil {
		s.o.Logger.Warn("a long result is lost", "id", s.r.ID, "error", err)
		s.r.Note("shape", "the rest is lost: it could not be kept")
		return nil
	}
	if s.res.Handle == nil {
		s.res.Handle = h
	}
	return h
}

func keptAs(h *tool.Handle) string {
	if h == nil {
		return ""
	}
	return "; what the server gave is kept whole as handle " + h.ID
}

// cutMark is what every text begins with that says that something was cut.
const cutMark = "[cut here: "

// marker says where an answer was cut and how to read on.
func (s *shaper) marker(shown, total int, h *tool.Handle) string {
	text := fmt.Sprintf(cutMark+"%d of %d characters are shown.", shown, total)
	switch {
	case s.unread:
		return text + " The rest was not kept, for this pool ends with the command. A running gateway (--gateway) keeps it; a larger max_result_chars of the tool shows more.]"
	case h == nil:
		return text + " The rest is lost. Ask for less at once to see it.]"
	}
	jq := ""
	if h.Kind == "json" {
		jq = ` or "jq"`
	}
	return text + fmt.Sprintf(` Read on with %s {"id": %q, "offset": %d}, or search with "grep"%s, until %s.]`,
		ReadTool, h.ID, shown, jq, h.ExpiresAt.UTC().Format(time.RFC3339))
}

func textBlock(text string) []byte {
	return append(jsonrpc.Quote([]byte(`{"type":"text","text":`), text), '}')
}

// cutText returns at most n characters of text: up to the end of a line, or in
// JSON up to a place between elements, where that loses less than a fifth.
func cutText(text string, n int) string {
	end := len(text)
	for i := range text {
		if n <= 0 {
			end = i
			break
		}
		n--
	}
	text = text[:end]
	least := end * 4 / 5
	if line := strings.LastIndexByte(text, '\n'); line > least {
		return text[:line+1]
	}
	if start := strings.TrimLeft(text, " \t\r\n"); start != "" && (start[0] == '{' || start[0] == '[') {
		if at := betweenElements(text, least); at > 0 {
			return text[:at]
		}
	}
	return text
}

// betweenElements returns the place behind least, in the beginning of a JSON text,
// where an element or a member has just ended: of the least depth, the last one.
// It is 0 where there is none.
func betweenElements(text string, least int) (at int) {
	inString := false
	depth, lowest := 0, len(text)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && i >= least && depth <= lowest:
			at, lowest = i+1, depth
		}
	}
	return at
}

// jsonString is a JSON string, quotes included. It writes the text that it means.
type jsonString struct{ tool.Bytes }

// WriteTo writes the text.
func (j jsonString) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	err := unescape(j.Bytes, func(p []byte) error {
		n += int64(len(p))
		_, err := out.Write(p)
		return err
	})
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

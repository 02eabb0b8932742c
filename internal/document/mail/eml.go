// Package mail converts messages: EML as it is sent, and MSG as Outlook keeps it.
// What is attached is converted too, below a heading of its own.
package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/page"
)

const (
	maxSize  = 256 << 20
	maxParts = 1000
	maxDepth = 20
	maxPart  = 128 << 20
)

// A message is what was read of one.
type message struct {
	fields      [][2]string
	plain, html string
	attached    []attachment
	notes       []string
}

type attachment struct {
	name, kind string
	body       []byte
}

// EML converts a message as it is sent.
func EML(ctx context.Context, src draft.Source, out *draft.Out) error {
	if src.Size > maxSize {
		return draft.TooLarge("a message may have %d MiB, and this one has %d", maxSize>>20, src.Size>>20)
	}
	m, err := mail.ReadMessage(src.Reader())
	if err != nil {
		return draft.Damage(err, "the file is no message: its head cannot be read")
	}
	var msg message
	for _, f := range []string{"From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject"} {
		if v := header(m.Header.Get(f)); v != "" {
			msg.fields = append(msg.fields, [2]string{f, v})
		}
	}
	w := walker{msg: &msg, left: maxParts, ctx: ctx}
	w.part(textproto.MIMEHeader(m.Header), m.Body, 0)
	return msg.write(ctx, src, out)
}

// words decode what of a header is not in ASCII.
var words = mime.WordDecoder{CharsetReader: func(label string, r io.Reader) (io.Reader, error) {
	return charset.NewReaderLabel(label, r)
}}

func header(s string) string {
	if d, err := words.DecodeHeader(s); err == nil {
		s = d
	}
	return draft.Clip(draft.Line(s), 4000)
}

// A walker goes through the parts of a message.
type walker struct {
	ctx  context.Context // of the conversion
	msg  *message
	left int
}

func (w *walker) note(s string) { w.msg.notes = append(w.msg.notes, s) }

// part takes one part.
func (w *walker) part(h textproto.MIMEHeader, body io.Reader, depth int) {
	if w.left--; w.left < 0 || depth > maxDepth || w.ctx.Err() != nil {
		w.note("the message has too many parts: some are left out")
		return
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	switch {
	case kind == "multipart/encrypted":
		w.note("the message is encrypted: its text cannot be read")
		return
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] != "":
		w.parts(multipart.NewReader(body, params["boundary"]), depth)
		return
	case kind == "application/pkcs7-mime" || kind == "application/x-pkcs7-mime":
		w.note("the message is encrypted or sealed by S/MIME: its text cannot be read")
		return
	}
	content, err := io.ReadAll(io.LimitReader(decoded(h, body), maxPart))
	if err != nil && len(content) == 0 {
		w.note("a part of the message cannot be decoded and is left out")
		return
	}
	disposition, dparams, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := header(dparams["filename"])
	if name == "" {
		name = header(params["name"])
	}
	shown := disposition != "attachment" && name == ""
	switch {
	case kind == "text/plain" && shown:
		w.msg.plain = joined(w.msg.plain, text(content, params["charset"]))
	case kind == "text/html" && shown:
		w.msg.html = joined(w.msg.html, text(content, params["charset"]))
	default:
		w.msg.attached = append(w.msg.attached, attachment{name, kind, content})
	}
}

func (w *walker) parts(r *multipart.Reader, depth int) {
	for w.left > 0 {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.note("the message ends in the middle: it is cut off or damaged")
			return
		}
		w.part(p.Header, p, depth+1)
	}
	w.note("the message has too many parts: some are left out")
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n\n" + b
}

// decoded takes off the encoding that a part was sent in.
func decoded(h textproto.MIMEHeader, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &noSpace{body})
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

// noSpace leaves out what is no base64, as a few programs send it.
type noSpace struct{ r io.Reader }

func (n *noSpace) Read(p []byte) (int, error) {
	for {
		k, err := n.r.Read(p)
		out := p[:0]
		for _, c := range p[:k] {
			if c > ' ' && c < 0x7f {
				out = append(out, c)
			}
		}
		if len(out) > 0 || err != nil {
			return len(out), err
		}
	}
}

// text returns a part in UTF-8.
func text(b []byte, label string) string {
	if label == "" || strings.EqualFold(label, "utf-8") || strings.EqualFold(label, "us-ascii") {
		return string(b)
	}
	r, err := charset.NewReaderLabel(label, bytes.NewReader(b))
	if err != nil {
		return string(b)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return string(b)
	}
	return string(out)
}

// write writes a message.
func (m *message) write(ctx context.Context, src draft.Source, out *draft.Out) error {
	names := map[string]string{"Subject": "title", "From": "author", "Date": "created", "To": "to"}
	out.Heading(1, "Email Message")
	for _, f := range m.fields {
		if names[f[0]] != "" {
			out.Set(names[f[0]], f[1])
		}
		out.Item("**" + f[0] + ":** " + f[1])
	}
	for _, n := range m.notes {
		out.Note("%s", n)
	}
	out.Heading(2, "Content")
	if err := m.body(out); err != nil {
		return err
	}
	for i, a := range m.attached {
		if err := out.Err(); err != nil {
			return err
		}
		if err := a.write(ctx, src, i, out); err != nil {
			return err
		}
	}
	return out.Err()
}

// body writes the text of a message: as HTML where that says more.
func (m *message) body(out *draft.Out) error {
	plain := strings.TrimSpace(strings.ReplaceAll(m.plain, "\r\n", "\n"))
	if m.html != "" && (plain == "" || strings.Contains(m.html, "<table") && len(page.Text(out, m.html)) > len(plain)/2 || len(page.Text(out, m.html)) > 3*len(plain)) {
		sub := out.Sub(2)
		err := page.Fragment(m.html, "", sub)
		out.Join("its text", sub)
		if err == nil || plain == "" || out.Err() != nil {
			return err
		}
		out.Note("its text is that without format, for the other cannot be read: %v", err)
	}
	out.Block(plain)
	return out.Err()
}

func (a attachment) write(ctx context.Context, src draft.Source, i int, out *draft.Out) error {
	name := a.name
	if name == "" {
		name = "part " + string(rune('1'+min(i, 8)))
		if a.kind == "message/rfc822" {
			name = "message"
		}
	}
	out.Heading(2, "Attachment: "+draft.Clip(name, 300))
	if err := draft.Deeper(src); err != nil {
		out.Block("(not converted: " + err.Error() + ")")
		return out.Err()
	}
	if err := out.Budget.Entry(); err != nil {
		return err
	}
	sub := out.Sub(2)
	child := draft.Source{Name: a.name, MIME: a.kind, Data: bytes.NewReader(a.body), Size: int64(len(a.body)), Nested: src.Nested + 1}
	if a.kind == "message/rfc822" {
		child.Name = "message.eml"
	}
	err := out.Convert(ctx, child, sub)
	out.Join(name, sub)
	if err == nil || errors.Is(err, draft.ErrEnough) || ctx.Err() != nil {
		return err
	}
	if e, ok := errors.AsType[*draft.Error](err); ok && e.Reason == draft.Large {
		return draft.TooLarge("the attachment %q: %s", draft.Clip(name, 200), e.Text)
	}
	out.Block("(not converted: " + err.Error() + ")")
	return out.Err()
}

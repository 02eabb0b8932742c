package odf

import (
	"encoding/base64"
	"path"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

// inline reads the text of a paragraph. What in it is a block of its own, such as a
// table in a frame, it emits before.
func (d *document) inline(s *xmlscan.Scanner, emit func(block)) string {
	var b strings.Builder
	d.run(s, &b, emit)
	return strings.TrimSpace(b.String())
}

// run reads the element that has just started into b.
func (d *document) run(s *xmlscan.Scanner, b *strings.Builder, emit func(block)) {
	for depth := s.Depth(); s.Next(); {
		switch s.Kind {
		case xmlscan.End:
			if s.Depth() < depth {
				return
			}
		case xmlscan.Text:
			if b.Len() < maxText {
				b.WriteString(collapsed(string(s.Text)))
			}
		case xmlscan.Start:
			d.element(s, b, emit)
		}
	}
}

// collapsed makes one space of each run of white space, as the format wants.
func collapsed(s string) string {
	if !strings.ContainsAny(s, "\n\t\r") && !strings.Contains(s, "  ") {
		return s
	}
	out := strings.Join(strings.Fields(s), " ")
	if out == "" {
		return " "
	}
	if strings.ContainsAny(s[:1], " \n\t\r") {
		out = " " + out
	}
	if strings.ContainsAny(s[len(s)-1:], " \n\t\r") {
		out += " "
	}
	return out
}

func (d *document) element(s *xmlscan.Scanner, b *strings.Builder, emit func(block)) {
	switch string(s.Name) {
	case "span":
		st := d.styles[s.Any("style-name")]
		var inner strings.Builder
		d.run(s, &inner, emit)
		b.WriteString(dressed(inner.String(), st))
	case "a":
		to := s.Any("href")
		var inner strings.Builder
		d.run(s, &inner, emit)
		if text := strings.TrimSpace(inner.String()); text != "" && strings.Contains(to, ":") {
			b.WriteString("[" + draft.Line(text) + "](" + strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29").Replace(to) + ")")
		} else {
			b.WriteString(inner.String())
		}
	case "s":
		n, err := strconv.Atoi(s.Any("c"))
		if err != nil {
			n = 1
		}
		b.WriteString(strings.Repeat(" ", min(max(n, 1), 100)))
	case "tab":
		b.WriteByte('\t')
	case "line-break":
		b.WriteByte('\n')
	case "note":
		d.note(s, b)
	case "annotation":
		d.annotation(s, b)
	case "frame":
		d.frame(s, b, emit)
	case "math":
		if text := draft.Line(s.Inner(maxText)); text != "" {
			b.WriteString("$" + text + "$")
		}
	case "tracked-changes", "note-citation", "ruby-text":
		s.Skip()
	default:
		d.run(s, b, emit)
	}
}

func dressed(text string, st style) string {
	bare := strings.TrimSpace(text)
	if bare == "" || !st.bold && !st.italic && !st.strike {
		return text
	}
	look := ""
	if st.strike {
		look = "~~"
	}
	if st.bold {
		look += "**"
	}
	if st.italic {
		look += "*"
	}
	back := ""
	for _, r := range look {
		back = string(r) + back
	}
	i := strings.Index(text, bare)
	return text[:i] + look + bare + back + text[i+len(bare):]
}

// note reads a footnote, which is written below the text.
func (d *document) note(s *xmlscan.Scanner, b *strings.Builder) {
	parts := draft.NewText(d.out)
	// What ends this, Out.Err says to who asks next.
	_ = d.blocks(s, func(n block) {
		if n.rows != nil {
			n.rows.Drop()
		}
		parts.Line(n.text)
	})
	if text := draft.Line(parts.Take()); len(d.notes) < 50_000 && draft.Keep(d.out, len(text)) {
		d.notes = append(d.notes, text)
		b.WriteString("[^" + strconv.Itoa(len(d.notes)) + "]")
	}
}

// annotation reads a comment, which is written below the text too.
func (d *document) annotation(s *xmlscan.Scanner, b *strings.Builder) {
	author := ""
	parts := draft.NewText(d.out)
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		switch {
		case s.Starts("creator"):
			author = s.Inner(1000)
		case s.Starts("p"):
			parts.Line(d.inline(s, func(block) {}))
		}
	}
	text := draft.Line(parts.Take())
	if text == "" || len(d.notes) >= 50_000 || !draft.Keep(d.out, len(text)) {
		return
	}
	if author != "" {
		author = " of " + author
	}
	d.notes = append(d.notes, "Comment"+author+": "+text)
	b.WriteString("[^" + strconv.Itoa(len(d.notes)) + "]")
}

// frame reads an image, an object or text in a frame.
func (d *document) frame(s *xmlscan.Scanner, b *strings.Builder, emit func(block)) {
	href, alt := "", ""
	object, inner := false, false
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		switch {
		case s.Starts("image"):
			href = s.Any("href")
		case s.Starts("binary-data"): // the image itself, in a file that is all XML
			inner = true
			s.Skip()
		case s.Starts("title"), s.Starts("desc"):
			alt = draft.Line(alt + " " + s.Inner(2000))
		case s.Starts("object"):
			object = true
			chart(d, s.Any("href"), emit)
			s.Skip()
		case s.Starts("text-box"), s.Starts("table"):
			object = object || s.Starts("table") // what is drawn of it is no image
			if framed(d, s, emit) != nil {
				return // Out.Err says why
			}
		}
	}
	if (href != "" || inner) && !object {
		b.WriteString(picture(d, href, alt))
	}
}

func framed(d *document, s *xmlscan.Scanner, emit func(block)) error {
	if s.Starts("table") {
		return d.block(s, emit)
	}
	return d.blocks(s, emit)
}

// image returns what is shown in the place of an image.
func picture(d *document, href, alt string) string {
	kind := strings.ToLower(strings.TrimPrefix(path.Ext(href), "."))
	switch kind {
	case "jpg":
		kind = "jpeg"
	case "": // it stands in a file that is all XML
		kind = "*"
	}
	alt = strings.NewReplacer("[", "(", "]", ")").Replace(alt)
	if d.out.Options.KeepDataURIs {
		if body, err := d.zip.Read(href, maxImage); err == nil {
			return "![" + alt + "](data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(body) + ")"
		}
	}
	return "![" + alt + "](data:image/" + kind + ";base64...)"
}

// chart writes the table that an embedded chart has its data in.
func chart(d *document, href string, emit func(block)) {
	name := path.Clean(href) + "/content.xml"
	if href == "" || !d.zip.Has(name) || !draft.Charts(d.out) {
		return
	}
	r, err := d.zip.Open(name)
	if err != nil {
		return
	}
	defer r.Close()
	title := "Chart"
	plotted := false
	for s := xmlscan.New(r); s.Next(); {
		switch {
		case s.Starts("plot-area"): // what is titled in it is an axis
			plotted = true
		case s.Starts("title") && !plotted:
			if text := draft.Line(s.Inner(1000)); text != "" {
				title = "Chart: " + text
			}
		case s.Starts("table"):
			rows, err := d.rows(s)
			all, columns := rows.Rows()
			draft.Charted(d.out, 1000+len(all)*columns)
			if err != nil || rows.Height() < 2 {
				rows.Drop()
				continue
			}
			if d.drawn != nil {
				d.keep(d.drawn, block{text: title})
				d.keep(d.drawn, block{rows: rows})
				continue
			}
			emit(block{text: title})
			emit(block{rows: rows})
		}
	}
}

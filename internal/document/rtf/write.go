package rtf

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// enter begins a group whose text is something of its own.
func (p *parser) enter(name, dest string) {
	p.skip = 0
	if p.state.dest == "twice" { // a picture that stands before this in a better form
		return
	}
	if p.state.dest == "unknown" && dest != "fldinst" && dest != "pict" && dest != "" {
		return // it lies in what nobody reads
	}
	switch name {
	case "pict":
		p.images++
	case "fldinst", "listtext", "pntext", "footnote", "annotation", "atnauthor":
		p.side[dest] = &strings.Builder{}
	case "title", "author", "subject", "keywords":
		if p.state.dest != "info" {
			return
		}
		p.side[dest] = &strings.Builder{}
	}
	p.state.dest = dest
}

// endGroup ends a group, and takes what its text was.
func (p *parser) endGroup() {
	last := p.state
	p.state = p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	p.skip = 0
	if last.dest == p.state.dest || p.side[last.dest] == nil {
		if p.link >= 0 && p.state.dest == "" && last.dest == "" && len(p.stack) > 0 {
			p.endLink()
		}
		return
	}
	text := strings.TrimSpace(p.side[last.dest].String())
	switch last.dest {
	case "title", "author", "subject", "keywords":
		p.out.Set(last.dest, text)
	case "listtext", "pntext":
		if text == "" {
			break
		}
		p.bullet = "* "
		if bare := strings.TrimRight(text, ".)"); bare != "" && len(bare) < 6 && strings.Trim(bare, "0123456789") == "" {
			p.bullet = bare + ". "
		}
	case "atnauthor":
		p.author = text
	case "annotation":
		who := ""
		if p.author != "" {
			who, p.author = " of "+p.author, ""
		}
		p.note("Comment"+who+": ", text)
	case "footnote":
		p.note("", text)
	case "fldinst":
		p.beginLink(text)
		return // the text follows
	}
	delete(p.side, last.dest)
}

// note takes a footnote or a comment, which is written below the text.
func (p *parser) note(begin, text string) {
	if text = draft.Line(text); text != "" && len(p.notes) < 50_000 {
		p.notes = append(p.notes, begin+text)
		p.set("")
		p.text = append(p.text, "[^"+strconv.Itoa(len(p.notes))+"]"...)
	}
}

func (p *parser) beginLink(instruction string) {
	rest, ok := strings.CutPrefix(instruction, "HYPERLINK")
	_, to, quoted := strings.Cut(rest, `"`)
	to, _, _ = strings.Cut(to, `"`)
	if !quoted {
		to = strings.TrimSpace(rest)
	}
	if !ok || !draft.Leads(to) {
		delete(p.side, "fldinst")
		return
	}
	p.set("")
	p.side["fldinst"] = &strings.Builder{}
	p.side["fldinst"].WriteString(strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29").Replace(to))
	p.link = len(p.text)
}

func (p *parser) endLink() {
	to := p.side["fldinst"]
	at := p.link
	if to == nil || at > len(p.text) {
		p.link = -1
		return
	}
	p.set("")
	label := draft.Line(string(p.text[at:]))
	if label == "" {
		return
	}
	p.link = -1
	delete(p.side, "fldinst")
	p.text = append(p.text[:at], "["+label+"]("+to.String()+")"...)
}

// write takes text of the group that is open.
func (p *parser) write(text string) {
	switch {
	case p.state.dest == "stylesheet":
		styleName(p, text)
	case p.state.dest != "":
		if b := p.side[p.state.dest]; b != nil && b.Len() < 1<<20 {
			b.WriteString(text)
		}
	case p.state.hidden:
	default:
		look := ""
		if p.state.strike {
			look = "~~"
		}
		if p.state.bold {
			look += "**"
		}
		if p.state.italic {
			look += "*"
		}
		bare := strings.TrimLeft(text, " \t\n")
		if bare == "" {
			p.text = append(p.text, text...)
			return
		}
		if look != p.look {
			p.set("")
			p.text = append(p.text, text[:len(text)-len(bare)]...)
			text = bare
			p.set(look)
		}
		p.text = append(p.text, text...)
	}
}

// styleName learns by its name whether a style is one of headings.
func styleName(p *parser, text string) {
	name := strings.ToLower(strings.TrimRight(strings.TrimSpace(text), ";"))
	if name == "title" {
		p.levels[p.state.style] = 1
	}
	for _, prefix := range []string{"heading ", "überschrift ", "titre "} {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil && strings.HasPrefix(name, prefix) && n > 0 && n < 10 {
			p.levels[p.state.style] = n
		}
	}
}

// set ends the emphasis of the text that is open, and begins another one.
func (p *parser) set(look string) {
	if p.look == look {
		return
	}
	if p.look != "" {
		bare := bytes.TrimRight(p.text, " \t\n")
		rest := string(p.text[len(bare):])
		back := []byte(p.look)
		for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
			back[i], back[j] = back[j], back[i]
		}
		p.text = append(append(bare, back...), rest...)
	}
	p.look = look
	p.text = append(p.text, look...)
}

// take returns the text of the paragraph, which begins anew.
func (p *parser) take() string {
	p.set("")
	if p.link >= 0 {
		p.endLink()
		p.link = -1
	}
	text := strings.TrimSpace(string(p.text))
	p.text = p.text[:0]
	return text
}

func (p *parser) endParagraph() {
	if p.state.dest != "" {
		if b := p.side[p.state.dest]; b != nil {
			b.WriteByte(' ')
		}
		return
	}
	if p.inCell {
		p.set("")
		if len(bytes.TrimSpace(p.text)) > 0 {
			p.text = append(p.text, '\n')
		}
		return
	}
	text, bullet := p.take(), p.bullet
	p.bullet = ""
	if text == "" {
		return
	}
	p.endTable()
	switch {
	case p.level > 0:
		p.out.Heading(p.level, strings.ReplaceAll(text, "**", ""))
	case bullet != "":
		indent := strings.Repeat("  ", p.depth)
		p.out.Item(indent + bullet + strings.ReplaceAll(text, "\n", "\n  "+indent))
	default:
		p.out.Block(text)
	}
}

func (p *parser) endCell() {
	text := p.take()
	if p.bullet != "" {
		text = p.bullet + text
		p.bullet = ""
	}
	p.rows.Add(text, 1)
}

func (p *parser) endRow() {
	p.rows.EndRow()
	if p.rows.Height() >= 1000 { // long tables go out in pieces
		p.endTable()
	}
}

func (p *parser) endTable() { p.rows.Write() }

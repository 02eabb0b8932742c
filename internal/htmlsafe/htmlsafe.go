// Package htmlsafe makes the tree of a page that may be built to fill the memory.
//
//	doc, err := htmlsafe.Parse(ctx, r)
//	if errors.Is(err, htmlsafe.ErrBuilt) { … } // say so, and leave the page
//
// What HTML says of bold and other such elements that are not closed is that each
// paragraph opens them anew: 80 KB of them become millions of nodes. A look at the
// text beforehand cannot tell, for comments, scripts, tables and drawings change what
// a tag does. So the page is handed to the parser in small pieces, none of which can
// add much, and what it has made of them is counted in between.
package htmlsafe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"

	"golang.org/x/net/html"
)

// Why a page has no tree.
var (
	ErrBuilt = errors.New("the page is built to be too large: it would become more elements than any page needs")
	ErrDeep  = errors.New("more than 512 elements stand in each other")
)

const (
	maxNodes = 1_000_000 // with half of the attributes; about 150 MB
	maxAttrs = 2_000     // of one element

	piece   = 1 << 20  // bytes that the parser is given at once
	step    = 1 << 19  // nodes that may be added before they are counted
	perStep = 1 << 16  // nodes that a piece may add
	maxWork = 16 << 30 // bytes that the parser moves about, a second or two of time
)

// Parse is html.Parse within bounds. It stops where ctx is done.
func Parse(ctx context.Context, r io.Reader) (*html.Node, error) {
	f := &feeder{ctx: ctx, r: bufio.NewReaderSize(r, piece)}
	doc, err := html.ParseWithOptions(f, f.option())
	switch {
	case f.err != nil:
		return nil, f.err
	case err != nil && strings.Contains(err.Error(), "open stack"):
		return nil, ErrDeep
	case err != nil:
		return nil, err
	}
	if weigh(doc) > maxNodes {
		return nil, ErrBuilt
	}
	return doc, nil
}

// String is Parse of a text.
func String(ctx context.Context, s string) (*html.Node, error) {
	return Parse(ctx, strings.NewReader(s))
}

// A feeder hands a page to the parser, and looks at what that makes of it.
type feeder struct {
	ctx    context.Context
	r      *bufio.Reader
	parser reflect.Value
	doc    *html.Node
	added  int // nodes that may have been added since they were counted
	work   int
	err    error
}

// option returns the option by which the feeder gets to know the parser, which has no
// other way to tell how many nodes there are, or how many elements wait to be opened
// anew.
func (f *feeder) option() html.ParseOption {
	of := reflect.TypeFor[html.ParseOption]()
	meet := reflect.MakeFunc(of, func(in []reflect.Value) []reflect.Value {
		f.parser = in[0].Elem()
		f.doc = (*html.Node)(f.parser.FieldByName("doc").UnsafePointer())
		return nil
	})
	option, _ := reflect.TypeAssert[html.ParseOption](meet)
	return option
}

// Read is called by the parser when it has made nodes of all that it was given.
func (f *feeder) Read(b []byte) (int, error) {
	if f.err == nil {
		f.err = f.look()
	}
	if f.err != nil {
		return 0, f.err
	}
	waiting, token := f.waiting(), f.token()
	if f.work += token; f.work > maxWork {
		f.err = ErrBuilt
		return 0, f.err
	}
	p, err := f.r.Peek(min(len(b), piece))
	if len(p) == 0 {
		return 0, err
	}
	most, opened := perStep, 16
	if token > 64<<10 { // what was read of a long token is moved each time
		most, opened = step, 1024
	}
	n := f.until(p, waiting, most, opened)
	n = copy(b, p[:n])
	_, err = f.r.Discard(n)
	return n, err
}

// until returns how much of p may be handed on: no more tags than may add so many nodes,
// and no more that may wait to be opened anew.
func (f *feeder) until(p []byte, waiting, most, opened int) int {
	added, before := 0, waiting
	for at := 0; ; at++ {
		i := bytes.IndexByte(p[at:], '<')
		if i < 0 {
			at = len(p)
		} else {
			at += i
		}
		if i < 0 || added > 0 && (added+waiting > most || waiting-before >= opened) {
			f.added += added + at/8 // and attributes
			return at
		}
		// The tag, the text behind it, and what they open anew.
		added += 2 + waiting
		switch name := p[at+1 : min(len(p), at+2+longest)]; {
		case formats(name):
			waiting++
		case len(name) > 0 && name[0] == '/' && waiting > 0:
			added += min(32, 4*waiting) // an end in the wrong place copies some
		}
	}
}

const longest = len("strong")

// formats reports whether the name of a tag is that of an element that is opened anew.
func formats(name []byte) bool {
	n := bytes.IndexFunc(name, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if n < 0 {
		n = len(name)
	}
	switch strings.ToLower(string(name[:n])) {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// look counts what there is, when that may be too much.
func (f *feeder) look() error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if f.parser.FieldByName("tokenizer").Elem().FieldByName("attr").Len() > maxAttrs {
		return ErrBuilt
	}
	if f.added > step {
		f.added = 0
		if weigh(f.doc) > maxNodes {
			return ErrBuilt
		}
	}
	return nil
}

// waiting returns the weight of the elements that the next paragraph may open anew.
func (f *feeder) waiting() int {
	list := f.parser.FieldByName("afe")
	n := 0
	for i := range list.Len() {
		n += 1 + list.Index(i).Elem().FieldByName("Attr").Len()/2
	}
	return n
}

// token returns how many bytes of an unfinished token there are.
func (f *feeder) token() int {
	raw := f.parser.FieldByName("tokenizer").Elem().FieldByName("raw")
	return int(raw.FieldByName("end").Int() - raw.FieldByName("start").Int())
}

// weigh counts the nodes of a tree, and half of their attributes.
func weigh(doc *html.Node) int {
	n := 0
	for d := range doc.Descendants() {
		n += 1 + len(d.Attr)/2
	}
	return n
}

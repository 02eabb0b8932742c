package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenon-mcp/tenon/internal/source"
)

// A piece is one path of an include.
type piece struct {
	at     *source.Node
	path   string
	folder bool
	doc    *document
}

// include reads the files that another names, in their order. Where an agent
// file is among them, it says which one-tool files count.
func (s sections) include(o *object) {
	list := o.list("include")
	if len(list) > 0 && len(s.stack) > maxInclude {
		o.fail(o.at("include"), fmt.Sprintf("files include each other more than %d deep", maxInclude), "")
		return
	}
	var pieces []piece
	for _, n := range list {
		if p, ok := s.piece(o, n); ok {
			pieces = append(pieces, p)
		}
	}
	tools := oneTools{s.loader, s.doc.dir()}
	agents := slices.ContainsFunc(pieces, func(p piece) bool { return p.doc != nil && p.doc.shape == shapeAgent })
	var pool []*entry
	for _, p := range pieces {
		if agents && p.folder {
			found, _ := tools.files(p.at, p.path)
			pool = append(pool, found...)
		}
	}
	for _, p := range pieces {
		switch {
		case p.folder && agents: // its agent file picks out of it
		case p.folder:
			tools.folder(p.at, p.path)
		case p.doc.shape == shapeAgent:
			tools.agent(p.doc, pool)
		default:
			s.place(p.doc, s.doc.dir())
		}
	}
}

// piece opens one path of an include.
func (s sections) piece(o *object, n *source.Node) (piece, bool) {
	text, ok := o.scalar(n)
	if !ok {
		return piece{}, false
	}
	path := filepath.FromSlash(text)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.doc.path), path)
	}
	info, err := os.Stat(path)
	if err != nil {
		o.fail(n, fmt.Sprintf("include %s: %s", quoteOf(n, text), reason(err)), "paths are relative to this file")
		return piece{}, false
	}
	if info.IsDir() {
		own := filepath.Join(path, mainFile)
		if _, err := os.Stat(own); err != nil {
			return piece{at: n, path: path, folder: true}, true
		}
		path = own
	}
	if way := s.circle(path); way != "" {
		o.fail(n, "files include each other in a circle: "+way, "")
		return piece{}, false
	}
	doc := s.document(s.newFile(path), path)
	return piece{at: n, path: path, doc: doc}, doc != nil
}

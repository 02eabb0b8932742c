// Package ooxml converts the documents and the slides of Office Open XML: DOCX and
// PPTX, with their tables, lists, notes, comments, formulas and the data of charts.
package ooxml

import (
	"context"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

// Bounds on the parts that are held in memory.
const (
	maxPart  = 64 << 20
	maxImage = 16 << 20 // of an image that is written out
)

// A relation leads from one part to another one, or out of the file.
type relation struct {
	kind     string // the last element of its type
	target   string
	external bool
}

// relations reads where a part leads to. There are none where they cannot be read.
func relations(z *draft.Zip, part string) map[string]relation {
	dir, file := path.Split(part)
	r, err := z.Open(dir + "_rels/" + file + ".rels")
	if err != nil {
		return nil
	}
	defer r.Close()
	rels := map[string]relation{}
	for s := xmlscan.New(r); s.Next() && len(rels) < 100_000; {
		if !s.Starts("Relationship") {
			continue
		}
		rel := relation{kind: path.Base(s.Attr("Type")), target: s.Attr("Target"), external: s.Attr("TargetMode") == "External"}
		if !rel.external {
			rel.target = resolve(dir, rel.target)
		}
		rels[s.Attr("Id")] = rel
	}
	return rels
}

func resolve(dir, target string) string {
	if strings.HasPrefix(target, "/") {
		return strings.TrimPrefix(path.Clean(target), "/")
	}
	return strings.TrimPrefix(path.Clean("/"+dir+target), "/")
}

// byKind returns the target of the first relation of a kind, or "".
func byKind(rels map[string]relation, kind string) string {
	found := ""
	for _, r := range rels {
		if r.kind == kind && !r.external && (found == "" || r.target < found) {
			found = r.target
		}
	}
	return found
}

// mainPart returns the part that everything begins with.
func mainPart(z *draft.Zip, usual string) string {
	if p := byKind(relations(z, ""), "officeDocument"); p != "" && z.Has(p) {
		return p
	}
	return usual
}

// Properties takes what the file says of itself.
func Properties(z *draft.Zip, out *draft.Out) {
	r, err := z.Open("docProps/core.xml")
	if err != nil {
		return
	}
	defer r.Close()
	names := map[string]string{
		"title": "title", "creator": "author", "created": "created", "modified": "modified", "subject": "subject",
		"keywords": "keywords", "description": "description", "language": "language", "lastModifiedBy": "modified by",
	}
	for s := xmlscan.New(r); s.Next(); {
		if s.Kind == xmlscan.Start && names[string(s.Name)] != "" {
			name := names[string(s.Name)]
			out.Set(name, s.Inner(4000))
		}
	}
}

// part reads a part of the file, and gives f each thing in it. A part that is
// missing is none.
func part(z *draft.Zip, name string, f func(s *xmlscan.Scanner)) error {
	if name == "" || !z.Has(name) {
		return nil
	}
	r, err := z.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	for s.Next() {
		f(s)
	}
	if err := s.Err(); err != nil {
		return draft.Damage(err, "the part %q cannot be read", name)
	}
	return nil
}

// on reports whether a switch such as <w:b/> or <w:b w:val="0"/> is on.
func on(s *xmlscan.Scanner) bool {
	switch s.Any("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// image returns an image that is written out, or what is shown in its place.
func image(z *draft.Zip, out *draft.Out, target, alt string) string {
	alt = strings.NewReplacer("[", "(", "]", ")").Replace(draft.Line(alt))
	kind := strings.TrimPrefix(path.Ext(target), ".")
	switch kind = strings.ToLower(kind); kind {
	case "jpg":
		kind = "jpeg"
	case "svg":
		kind = "svg+xml"
	}
	if !out.Options.KeepDataURIs {
		return "![" + alt + "](data:image/" + kind + ";base64...)"
	}
	b, err := z.Read(target, maxImage)
	if err != nil {
		out.Note("the image %q is left out: %v", path.Base(target), err)
		return "![" + alt + "](" + path.Base(target) + ")"
	}
	return "![" + alt + "](data:image/" + kind + ";base64," + encode(b) + ")"
}

// Word converts a DOCX.
func Word(_ context.Context, src draft.Source, out *draft.Out) error {
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	Properties(z, out)
	d := &document{zip: z, out: out, part: mainPart(z, "word/document.xml")}
	return d.convert()
}

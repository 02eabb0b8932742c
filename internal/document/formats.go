package document

import (
	"bytes"
	"context"
	"mime"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/tenon-mcp/tenon/internal/document/archive"
	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/epub"
	"github.com/tenon-mcp/tenon/internal/document/mail"
	"github.com/tenon-mcp/tenon/internal/document/media"
	"github.com/tenon-mcp/tenon/internal/document/odf"
	"github.com/tenon-mcp/tenon/internal/document/ooxml"
	"github.com/tenon-mcp/tenon/internal/document/page"
	"github.com/tenon-mcp/tenon/internal/document/pdf"
	"github.com/tenon-mcp/tenon/internal/document/ppt97"
	"github.com/tenon-mcp/tenon/internal/document/rtf"
	"github.com/tenon-mcp/tenon/internal/document/sheet"
	"github.com/tenon-mcp/tenon/internal/document/sqlite"
	"github.com/tenon-mcp/tenon/internal/document/text"
	"github.com/tenon-mcp/tenon/internal/document/word97"
)

// A format is a way to convert documents.
type format struct {
	name    string   // short
	title   string   // for people
	types   []string // that are this format
	ends    []string // of names, where the content does not tell
	convert func(ctx context.Context, src draft.Source, out *draft.Out) error
}

var (
	openDocument = []string{
		"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.presentation",
		"application/vnd.oasis.opendocument.text-template", "application/vnd.oasis.opendocument.spreadsheet-template", "application/vnd.oasis.opendocument.presentation-template",
	}
	images = []string{"image/jpeg", "image/png", "image/gif", "image/tiff", "image/bmp", "image/webp", "image/heic", "image/heif", "image/avif"}
	sounds = []string{"audio/mpeg", "audio/wav", "audio/flac", "audio/ogg", "application/ogg", "audio/x-m4a", "audio/mp4", "video/mp4", "video/quicktime", "video/ogg", "audio/aac"}
)

const (
	office         = "application/vnd.openxmlformats-officedocument."
	binaryWorkbook = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
)

// formats are all of them.
func formats(o Options) []format {
	ocr := reader(o)
	portable := pdf.Converter{Spawner: o.Spawner, Command: o.Command, Env: o.Env, Cache: o.Cache, OCR: ocr}
	return []format{
		{"pdf", "PDF", []string{"application/pdf"}, []string{".pdf"}, portable.Convert},
		{"docx", "a DOCX document", []string{office + "wordprocessingml.document"}, []string{".docx", ".docm", ".dotx"}, ooxml.Word},
		{"doc", "a document of Word 97", []string{"application/msword"}, []string{".doc", ".dot"}, word97.Convert},
		{"ppt", "a presentation of PowerPoint 97", []string{"application/vnd.ms-powerpoint"}, []string{".ppt", ".pps", ".pot"}, ppt97.Convert},
		{"pptx", "a PPTX presentation", []string{office + "presentationml.presentation"}, []string{".pptx", ".pptm", ".ppsx"}, ooxml.Slides},
		{"xlsx", "an XLSX workbook", []string{office + "spreadsheetml.sheet"}, []string{".xlsx", ".xlsm", ".xltx"}, sheet.XLSX},
		{"xlsb", "an XLSB workbook", []string{binaryWorkbook}, []string{".xlsb"}, sheet.XLSX},
		{"xls", "an XLS workbook", []string{"application/vnd.ms-excel"}, []string{".xls", ".xlt"}, sheet.XLS},
		{"odf", "an OpenDocument file", openDocument, []string{".odt", ".ods", ".odp", ".ott", ".ots", ".otp", ".fodt", ".fods", ".fodp"}, odf.Convert},
		{"epub", "an electronic book", []string{"application/epub+zip"}, []string{".epub"}, epub.Convert},
		{"rtf", "rich text", []string{"text/rtf", "application/rtf"}, []string{".rtf"}, rtf.Convert},
		{"msg", "a message of Outlook", []string{"application/vnd.ms-outlook"}, []string{".msg"}, mail.MSG},
		{"eml", "a message", []string{"message/rfc822"}, []string{".eml", ".mht", ".mhtml"}, mail.EML},
		{"image", "an image", images, []string{".jpg", ".jpeg", ".png", ".gif", ".tif", ".tiff", ".bmp", ".webp", ".heic", ".avif"}, media.Image(ocr)},
		{"audio", "a sound", sounds, []string{".mp3", ".wav", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".mp4"}, media.Audio},
		{"sqlite", "a database of SQLite", []string{"application/vnd.sqlite3", "application/x-sqlite3"}, []string{".sqlite", ".sqlite3", ".db"}, sqlite.Convert},
		{"html", "HTML", []string{"text/html", "application/xhtml+xml"}, []string{".html", ".htm", ".xhtml"}, page.Convert},
		{"zip", "a ZIP archive", []string{"application/zip"}, []string{".zip"}, archive.ZIP},
		{"tar", "a tar archive", []string{"application/x-tar"}, []string{".tar"}, archive.Tar},
		{"packed", "a packed file", []string{"application/gzip", "application/x-bzip2", "application/x-xz", "application/zstd"}, []string{".gz", ".tgz", ".bz2", ".xz", ".zst"}, archive.Packed},
		{"ipynb", "a notebook", []string{"application/x-ipynb+json"}, []string{".ipynb"}, text.Notebook},
		{"jsonl", "lines of JSON", []string{"application/x-ndjson", "application/jsonl"}, []string{".jsonl", ".ndjson"}, text.JSONLines},
		{"json", "JSON", []string{"application/json", "application/geo+json", "application/ld+json"}, []string{".json", ".geojson"}, text.JSON},
		{"feed", "a feed", []string{"application/rss+xml", "application/atom+xml"}, []string{".rss", ".atom"}, text.Feed},
		{"xml", "XML", []string{"text/xml", "application/xml", "image/svg+xml"}, []string{".xml", ".xsd", ".xsl", ".svg", ".kml", ".gpx"}, text.XML},
		{"csv", "a table as text", []string{"text/csv", "text/tab-separated-values"}, []string{".csv", ".tsv", ".tab"}, text.CSV},
		{"markdown", "Markdown", []string{"text/markdown"}, []string{".md", ".markdown", ".mdx"}, text.Markdown},
		{"code", "source code", nil, nil, text.Code},
		{"text", "text", []string{"text/plain"}, []string{".txt", ".text", ".log"}, text.Plain},
	}
}

const sniffed = 3072 // bytes by which the content tells what it is

// detect returns the format of a document, nil where there is none, and its type.
func (c *Converter) detect(src Source) (*format, string) {
	if src.Size == 0 {
		return nil, "inode/x-empty"
	}
	head := src.Head(sniffed)
	found := mimetype.Detect(head)
	kind, _, _ := mime.ParseMediaType(found.String())
	if kind == "application/zip" || strings.HasPrefix(kind, office) {
		kind = zipKind(src)
	}
	if kind == "application/x-ole-storage" || found.Is("application/x-ole-storage") || bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) {
		kind = oleKind(src)
		if f := closed[kind]; f != nil {
			return f, kind
		}
	}
	declared, _, err := mime.ParseMediaType(src.MIME)
	if err != nil {
		declared = ""
	}
	if bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")) && !strings.HasPrefix(kind, "text/html") {
		kind = "application/pdf"
	}
	if isText(kind) && isMessage(src, head, declared) {
		return c.named("eml"), "message/rfc822"
	}
	if isText(kind) {
		return c.textFormat(src, head, kind, declared)
	}
	if f := c.byType(kind); f != nil {
		return f, kind
	}
	for up := found.Parent(); up != nil; up = up.Parent() {
		parent, _, _ := mime.ParseMediaType(up.String())
		if f := c.byType(parent); f != nil && !isText(parent) {
			return f, kind
		}
	}
	if descends(found, "text/plain") { // captions, calendars
		f, _ := c.textFormat(src, head, "text/plain", declared)
		return f, kind
	}
	// What nobody knows may be text in an old encoding: there are no zeros in it.
	if kind == "application/octet-stream" {
		if !text.Wide(head) && (bytes.IndexByte(head, 0) >= 0 || controls(head)*20 > len(head)) {
			return c.byName(src, kind), kind
		}
		return c.textFormat(src, head, "text/plain", declared)
	}
	return nil, kind
}

func descends(m *mimetype.MIME, from string) bool {
	for up := m.Parent(); up != nil; up = up.Parent() {
		if up.Is(from) {
			return true
		}
	}
	return false
}

// controls counts what is in no text.
func controls(head []byte) int {
	n := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			n++
		}
	}
	return n
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/x-ndjson", "application/geo+json", "application/ld+json", "application/javascript",
		"application/rss+xml", "application/atom+xml", "image/svg+xml", "application/xhtml+xml", "application/xml", "application/jsonl":
		return true
	}
	return strings.HasPrefix(kind, "text/") && kind != "text/rtf" && kind != "text/calendar" || strings.HasSuffix(kind, "+xml") && !strings.Contains(kind, "opendocument")
}

// textFormat returns the format of a text: where its content tells none, by its
// declared type and its name.
func (c *Converter) textFormat(src Source, head []byte, kind, declared string) (*format, string) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch ext, flat := src.Ext(), flatODF(src, head); {
	case flat != "":
		return c.named("odf"), flat
	case kind == "text/html" && (ext == ".md" || ext == ".markdown" || text.Language(src.Name) != ""):
	case kind == "text/html", kind == "application/rss+xml", kind == "application/atom+xml":
		return c.byType(kind), kind
	case ext == ".ipynb":
		return c.byType("application/x-ipynb+json"), "application/x-ipynb+json"
	case kind == "application/json" && ext != ".jsonl" && ext != ".ndjson", kind == "application/geo+json":
		return c.byType("application/json"), kind
	case kind == "application/xhtml+xml", bytes.HasPrefix(trimmed, []byte("<!DOCTYPE html")), bytes.HasPrefix(trimmed, []byte("<html")):
		return c.byType("text/html"), kind
	case bytes.HasPrefix(trimmed, []byte("<?xml")), strings.HasSuffix(kind, "xml"):
		return c.byType("text/xml"), kind
	}
	if f := c.byName(src, ""); f != nil && f.isText() {
		return f, firstType(f, kind)
	}
	if text.Language(src.Name) != "" {
		return c.named("code"), kind
	}
	for _, t := range []string{declared, kind} {
		if f := c.byType(t); f != nil && f.isText() && t != "text/plain" {
			return f, t
		}
	}
	if looksJSON(trimmed) {
		return c.byType("application/json"), "application/json"
	}
	return c.named("text"), kind
}

func looksJSON(b []byte) bool {
	return len(b) > 1 && (b[0] == '{' && bytes.Contains(b, []byte(`":`)) || b[0] == '[' && strings.ContainsRune(`{["0123456789`, rune(b[1])))
}

func (f *format) isText() bool {
	switch f.name {
	case "html", "ipynb", "jsonl", "json", "feed", "xml", "csv", "markdown", "code", "text", "eml":
		return true
	}
	return false
}

func firstType(f *format, usual string) string {
	if len(f.types) > 0 {
		return f.types[0]
	}
	return usual
}

func (c *Converter) named(name string) *format {
	for i := range c.formats {
		if c.formats[i].name == name {
			return &c.formats[i]
		}
	}
	return nil
}

func (c *Converter) byType(kind string) *format {
	for i := range c.formats {
		if slices.Contains(c.formats[i].types, kind) {
			return &c.formats[i]
		}
	}
	return nil
}

// byName returns the format that a name says. Where the content is not text, it
// must be one that is not text either.
func (c *Converter) byName(src Source, kind string) *format {
	ext := src.Ext()
	if ext == "" {
		return nil
	}
	for i := range c.formats {
		if slices.Contains(c.formats[i].ends, ext) && (kind == "" || !c.formats[i].isText()) {
			return &c.formats[i]
		}
	}
	return nil
}

package document

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/textproto"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/richardlehane/mscfb"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/media"
	"github.com/tenon-mcp/tenon/internal/document/odf"
)

// encryptedOffice is the type of a document of Office that has a password.
const encryptedOffice = "application/x-office-encrypted"

// brokenCompound is the type of a compound file whose list of streams cannot be read.
const brokenCompound = "application/x-ole-broken"

func broken(context.Context, draft.Source, *draft.Out) error {
	return draft.Damage(nil, "the file is an old document of Office that is cut off or damaged: what is in it cannot be found")
}

// closed are the formats of compound files that are not read.
var closed = map[string]*format{
	encryptedOffice: {name: "encrypted", title: "an encrypted document", convert: encrypted},
	brokenCompound:  {name: "broken", title: "a damaged document", convert: broken},
}

func encrypted(context.Context, draft.Source, *draft.Out) error { return draft.Locked("document") }

// oleKind returns what a compound file is, by the streams in it.
func oleKind(src draft.Source) string {
	byExt := map[string]string{
		".xls": "application/vnd.ms-excel", ".msg": "application/vnd.ms-outlook", ".doc": "application/msword", ".ppt": "application/vnd.ms-powerpoint",
	}
	c, err := mscfb.New(io.NewSectionReader(src.Data, 0, src.Size))
	if err == nil {
		n := 0
		var f *mscfb.File
		for f, err = c.Next(); err == nil && n < 10_000; f, err = c.Next() {
			n++
			switch {
			case f.Name == "EncryptedPackage":
				return encryptedOffice
			case len(f.Path) > 0:
			case f.Name == "Workbook" || f.Name == "Book":
				return "application/vnd.ms-excel"
			case strings.HasPrefix(f.Name, "__properties_version1") || strings.HasPrefix(f.Name, "__nameid_version1"):
				return "application/vnd.ms-outlook"
			case f.Name == "WordDocument":
				return "application/msword"
			case f.Name == "PowerPoint Document":
				return "application/vnd.ms-powerpoint"
			}
		}
	}
	if kind := byExt[src.Ext()]; kind != "" {
		return kind
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return brokenCompound
	}
	return "application/x-ole-storage"
}

// flatODF returns the type of a document of OpenDocument that is one file of XML.
func flatODF(src draft.Source, head []byte) string {
	if !bytes.Contains(head, []byte("<office:document")) {
		return ""
	}
	_, rest, ok := bytes.Cut(src.Head(16<<10), []byte(odf.Flat))
	kind, _, ended := bytes.Cut(rest, []byte(`"`))
	if !ok || !ended {
		return ""
	}
	return "application/vnd.oasis.opendocument." + string(kind)
}

// isMessage reports whether a text is a message as it is sent: it begins with the
// fields that every message has.
func isMessage(src Source, head []byte, declared string) bool {
	named := declared == "message/rfc822"
	switch src.Ext() {
	case ".eml", ".mht", ".mhtml":
		named = true
	}
	known, lines := 0, 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if lines == 0 {
				return false
			}
			continue
		}
		lines++
		name, _, ok := bytes.Cut(line, []byte(":"))
		if !ok && (lines > 1 || !bytes.HasPrefix(line, []byte("From "))) {
			return false
		}
		switch textproto.CanonicalMIMEHeaderKey(string(name)) {
		case "From", "To", "Subject", "Date", "Message-Id", "Received", "Return-Path", "Mime-Version", "Delivered-To":
			known++
		}
	}
	return known >= 3 || named && known > 0
}

// reader returns what reads letters on images, nil where there is no such program.
func reader(o Options) func(ctx context.Context, image []byte, languages string) (string, error) {
	if o.Spawner == nil || o.Tesseract == "-" {
		return nil
	}
	path := o.Tesseract
	if path == "" {
		path = find("tesseract", o.Env)
	}
	if path == "" {
		return nil
	}
	return media.Tesseract{Spawner: o.Spawner, Path: path, Env: o.Env}.Read
}

// find returns the path of a program, "" where it is not there.
func find(program string, env []string) string {
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if len(env) == 0 { // that of this process
		if path, err := exec.LookPath(program); err == nil && filepath.IsAbs(path) {
			return path
		}
		return ""
	}
	for _, kv := range env {
		name, list, _ := strings.Cut(kv, "=")
		if name != "PATH" && (runtime.GOOS != "windows" || !strings.EqualFold(name, "PATH")) {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(path) {
				return path
			}
		}
	}
	return ""
}

// zipKind returns what a ZIP container is, by the parts in it.
func zipKind(src Source) string {
	z, err := draft.OpenZip(src, draft.NewBudget())
	if err != nil {
		return zipByName(src)
	}
	if b, err := z.Read("mimetype", 200); err == nil {
		if kind := strings.TrimSpace(string(b)); strings.HasPrefix(kind, "application/") {
			return kind
		}
	}
	for part, kind := range map[string]string{
		"word/document.xml": office + "wordprocessingml.document", "ppt/presentation.xml": office + "presentationml.presentation",
		"xl/workbook.xml": office + "spreadsheetml.sheet", "xl/workbook.bin": binaryWorkbook,
		"meta-inf/container.xml": "application/epub+zip",
	} {
		if z.Has(part) {
			return kind
		}
	}
	if b, err := z.Read("[Content_Types].xml", 1<<20); err == nil {
		for _, kind := range []string{"wordprocessingml.document", "presentationml.presentation", "spreadsheetml.sheet"} {
			if bytes.Contains(b, []byte(kind+".main+xml")) {
				return office + kind
			}
		}
	}
	return "application/zip"
}

// zipByName returns what a damaged container was to be, so that the error says so.
func zipByName(src Source) string {
	switch src.Ext() {
	case ".docx":
		return office + "wordprocessingml.document"
	case ".pptx":
		return office + "presentationml.presentation"
	case ".xlsb":
		return binaryWorkbook
	case ".xlsx":
		return office + "spreadsheetml.sheet"
	}
	return "application/zip"
}

// Package draft holds what all formats of internal/document share: the Source that
// is read, the Out that Markdown is written to, the bounds of a conversion, and
// helpers for ZIP containers.
//
// A format is one function:
//
//	func Convert(ctx context.Context, src draft.Source, out *draft.Out) error
//
// It writes headings, blocks, tables and notes to out, and asks out.Err in its loops:
// that is not nil when enough was written, or ctx has ended.
package draft

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Source is a file to convert. Name and MIME help where the content does not say
// what it is.
type Source struct {
	Name string // of the file, without folders
	MIME string // as declared, with parameters
	URL  string // where it came from: links in it are relative to that
	Data io.ReaderAt
	Size int64
	// Nested is how many documents this one lies in.
	Nested int
}

// Reader reads it from the begin.
func (s Source) Reader() *io.SectionReader { return io.NewSectionReader(s.Data, 0, s.Size) }

// Head returns the first bytes, at most n.
func (s Source) Head(n int) []byte {
	b := make([]byte, min(int64(n), s.Size))
	n, _ = s.Data.ReadAt(b, 0)
	return b[:n]
}

// Bytes returns all of it, and an error where it is larger than most.
func (s Source) Bytes(most int64) ([]byte, error) {
	if s.Size > most {
		return nil, TooLarge("a file of this kind may have %d MiB, and this one has %d", most>>20, s.Size>>20)
	}
	b := make([]byte, s.Size)
	n, err := s.Data.ReadAt(b, 0)
	if int64(n) == s.Size {
		err = nil
	}
	return b[:n], err
}

// Ext returns the ending of the name in small letters, with its dot.
func (s Source) Ext() string {
	if i := strings.LastIndexByte(s.Name, '.'); i >= 0 && i+12 > len(s.Name) {
		return strings.ToLower(s.Name[i:])
	}
	return ""
}

// Options say what of a document is wanted. The zero value is useful.
type Options struct {
	// MaxChars bounds the Markdown in characters; 0 is 100,000, less than 0 no
	// bound. Offset is how many characters are left out before.
	MaxChars int `json:"max_chars,omitempty"`
	Offset   int `json:"offset,omitempty"`
	// Pages names pages or slides, from 1 on: "1-3,7,10-".
	Pages string `json:"pages,omitempty"`
	// Sheet names one sheet of a workbook, or table of a database.
	Sheet string `json:"sheet,omitempty"`
	// KeepDataURIs keeps images that are written out in a document.
	KeepDataURIs bool `json:"keep_data_uris,omitempty"`
	// NoOCR leaves images of text unread.
	NoOCR bool `json:"no_ocr,omitempty"`
	// OCRLanguages are those of tesseract, such as "eng+deu"; "" is what it has.
	OCRLanguages string `json:"ocr_languages,omitempty"`
}

// A Reason is why a document was not converted.
type Reason string

// The reasons.
const (
	Unsupported Reason = "unsupported" // no format that is known
	Encrypted   Reason = "encrypted"   // wants a password
	Damaged     Reason = "damaged"     // cut off, or not what it says it is
	Large       Reason = "too_large"   // needs more than is allowed: too large, too many, too deep
	Wrong       Reason = "invalid"     // options that do not fit the document
)

// An Error says why a document was not converted, in words for who asked.
type Error struct {
	Reason Reason
	Text   string
	Cause  error
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Cause }

// Damage is the error of a document that cannot be read as what it is.
func Damage(cause error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if e, ok := errors.AsType[*Error](cause); ok {
		return e // it knows better
	}
	if cause != nil {
		text += ": " + cause.Error()
	}
	return &Error{Damaged, text, cause}
}

// TooLarge is the error of a document that needs more than is allowed.
func TooLarge(format string, args ...any) error {
	return &Error{Reason: Large, Text: fmt.Sprintf(format, args...)}
}

// Locked is the error of a document that wants a password.
func Locked(what string) error {
	return &Error{Reason: Encrypted, Text: "the " + what + " is encrypted: it can be read only after its password was taken off"}
}

// Pages are ranges of pages.
type Pages [][2]int

// ParsePages reads ranges such as "1-3,7,10-". Of "" it makes all pages.
func ParsePages(s string) (Pages, error) {
	wrong := &Error{Reason: Wrong, Text: fmt.Sprintf("pages %.40q is no list of pages: write it like 1-3,7,10-", s)}
	var pages Pages
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if len(pages) == 1000 {
			return nil, wrong
		}
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(from))
		if err != nil || first < 1 {
			return nil, wrong
		}
		last := first
		if ranged {
			last = 1 << 30
			if to = strings.TrimSpace(to); to != "" {
				if last, err = strconv.Atoi(to); err != nil {
					return nil, wrong
				}
			}
		}
		if last < first {
			return nil, wrong
		}
		pages = append(pages, [2]int{first, last})
	}
	return pages, nil
}

// Has reports whether a page is wanted.
func (p Pages) Has(page int) bool {
	for _, r := range p {
		if r[0] <= page && page <= r[1] {
			return true
		}
	}
	return len(p) == 0
}

// Leads reports whether a link of a document leads anywhere for who has not the
// machine that it was written on.
func Leads(link string) bool {
	scheme, _, ok := strings.Cut(link, ":")
	return ok && len(scheme) > 1 && !strings.EqualFold(scheme, "file") // a single letter is a drive
}

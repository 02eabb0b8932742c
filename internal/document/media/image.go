// Package media tells of images and sounds what can be written down: what their
// files say of themselves, their size, and the letters that are seen on an image,
// where an OCR program is there.
package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif"  // sizes
	_ "image/jpeg" // sizes
	_ "image/png"  // sizes
	"slices"
	"strings"
	"time"

	"github.com/bep/imagemeta"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxImage  = 128 << 20
	maxPixels = 100 << 20
)

// Image returns what converts images. ocr reads letters; nil reads none.
func Image(ocr func(ctx context.Context, image []byte, languages string) (string, error)) func(context.Context, draft.Source, *draft.Out) error {
	return func(ctx context.Context, src draft.Source, out *draft.Out) error {
		body, err := src.Bytes(maxImage)
		if err != nil {
			return err
		}
		format := imageFormat(body)
		w, h := size(body, format)
		f := &facts{out: out}
		if w > 0 {
			f.add("ImageSize", fmt.Sprintf("%dx%d", w, h))
		}
		f.add("FileType", strings.ToUpper(format))
		f.add("FileSize", fmt.Sprintf("%d bytes", len(body)))
		if err := meta(body, format, f); err != nil {
			out.Note("what the image says of itself cannot be read: %v", err)
		}
		f.write()
		letters(ctx, body, w*h, ocr, out)
		return out.Err()
	}
}

// facts are what a file says of itself, by the names that people know.
type facts struct {
	out   *draft.Out
	lines [][2]string
}

func (f *facts) add(name, value string) {
	value = draft.Clip(draft.Line(strings.ToValidUTF8(value, "\uFFFD")), 4000)
	if value == "" || slices.ContainsFunc(f.lines, func(l [2]string) bool { return l[0] == name }) {
		return
	}
	f.lines = append(f.lines, [2]string{name, value})
}

func (f *facts) write() {
	fields := map[string]string{"Title": "title", "Author": "author", "Artist": "author", "DateTimeOriginal": "created", "Year": "created", "Description": "description"}
	for _, l := range f.lines {
		if name := fields[l[0]]; name != "" && f.out.Report.Get(name) == "" {
			f.out.Set(name, l[1])
		}
		f.out.Item(l[0] + ": " + l[1])
	}
}

// imageFormat returns the format of an image by its first bytes.
func imageFormat(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "jpeg"
	case bytes.HasPrefix(b, []byte("\x89PNG")):
		return "png"
	case bytes.HasPrefix(b, []byte("GIF8")):
		return "gif"
	case bytes.HasPrefix(b, []byte("II*\x00")), bytes.HasPrefix(b, []byte("MM\x00*")):
		return "tiff"
	case bytes.HasPrefix(b, []byte("BM")):
		return "bmp"
	case len(b) > 12 && string(b[8:12]) == "WEBP":
		return "webp"
	case len(b) > 12 && string(b[4:8]) == "ftyp":
		if strings.HasPrefix(string(b[8:12]), "avi") {
			return "avif"
		}
		return "heif"
	}
	return "unknown"
}

// size returns the width and the height of an image, 0 where they cannot be told.
func size(b []byte, format string) (w, h int) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(b)); err == nil {
		return c.Width, c.Height
	}
	le := func(at, n int) int {
		v := 0
		for i := range n {
			if at+i < len(b) {
				v |= int(b[at+i]) << (8 * i)
			}
		}
		return v
	}
	switch {
	case format == "bmp" && len(b) > 26:
		return le(18, 4), le(22, 4) & 0x7fffffff
	case format == "webp" && len(b) > 30:
		switch string(b[12:16]) {
		case "VP8 ":
			return le(26, 2) & 0x3fff, le(28, 2) & 0x3fff
		case "VP8L":
			v := le(21, 4)
			return v&0x3fff + 1, v>>14&0x3fff + 1
		case "VP8X":
			return le(24, 3) + 1, le(27, 3) + 1
		}
	}
	return 0, 0
}

// meta takes what EXIF, IPTC and XMP say.
func meta(body []byte, format string, f *facts) error {
	formats := map[string]imagemeta.ImageFormat{"jpeg": imagemeta.JPEG, "png": imagemeta.PNG, "tiff": imagemeta.TIFF, "webp": imagemeta.WebP, "heif": imagemeta.HEIF, "avif": imagemeta.AVIF}
	kind, ok := formats[format]
	if !ok {
		return nil
	}
	tags := map[string]string{}
	_, err := imagemeta.Decode(imagemeta.Options{
		R: bytes.NewReader(body), ImageFormat: kind, Timeout: 5 * time.Second, LimitNumTags: 5000, LimitTagSize: 64 << 10,
		// By itself it leaves out what the main image of a file does not have.
		ShouldHandleTag: func(imagemeta.TagInfo) bool { return true },
		Sources:         imagemeta.EXIF | imagemeta.IPTC | imagemeta.XMP,
		HandleTag: func(t imagemeta.TagInfo) error {
			if v := value(t.Value); v != "" && tags[t.Tag] == "" {
				tags[t.Tag] = v
			}
			return nil
		},
	})
	for _, names := range shown {
		for _, n := range names[1:] {
			if v := tags[n]; v != "" {
				f.add(names[0], v)
				break
			}
		}
	}
	return err
}

// shown are the tags that are told: the name, and the tags that are it.
var shown = [][]string{
	{"Title", "Title", "ObjectName", "XPTitle", "DocumentName"},
	{"Caption", "Caption-Abstract", "Headline"},
	{"Description", "Description", "ImageDescription"},
	{"Keywords", "Keywords", "Subject", "XPKeywords"},
	{"Artist", "Artist", "By-line"},
	{"Author", "Author", "XPAuthor", "Creator"},
	{"Copyright", "Copyright", "CopyrightNotice", "Rights"},
	{"DateTimeOriginal", "DateTimeOriginal"},
	{"CreateDate", "CreateDate", "DateTimeDigitized", "DateCreated"},
	{"Make", "Make"},
	{"Model", "Model"},
	{"LensModel", "LensModel"},
	{"Software", "Software"},
	{"Orientation", "Orientation"},
	{"ExposureTime", "ExposureTime"},
	{"FNumber", "FNumber"},
	{"ISO", "ISO", "ISOSpeedRatings", "PhotographicSensitivity"},
	{"FocalLength", "FocalLength"},
	{"GPSLatitude", "GPSLatitude"},
	{"GPSLongitude", "GPSLongitude"},
	{"GPSAltitude", "GPSAltitude"},
	{"UserComment", "UserComment", "XPComment"},
	{"City", "City"},
	{"Country", "Country-PrimaryLocationName", "Country"},
}

func value(v any) string {
	switch v := v.(type) {
	case string:
		return strings.Trim(v, " \x00")
	case []byte:
		return strings.Trim(string(bytes.ToValidUTF8(v, nil)), " \x00")
	case []string:
		return strings.Join(v, ", ")
	case nil:
		return ""
	}
	return strings.Trim(draft.Clip(fmt.Sprint(v), 2000), "[]")
}

// letters writes what is to be read on an image.
func letters(ctx context.Context, body []byte, pixels int, ocr func(context.Context, []byte, string) (string, error), out *draft.Out) {
	switch {
	case out.Options.NoOCR:
		return
	case ocr == nil:
		out.Note("letters on the image are not read: install tesseract to have them read")
		return
	case pixels > maxPixels:
		out.Note("letters on the image are not read: it has more than %d million pixels", maxPixels>>20)
		return
	}
	text, err := ocr(ctx, body, out.Options.OCRLanguages)
	if err != nil {
		out.Note("letters on the image are not read: %v", err)
		return
	}
	if text = strings.TrimSpace(text); text != "" {
		out.Heading(2, "Text in the image")
		out.Block(text)
		out.Note("the text in the image was read by OCR: letters may be wrong")
	}
}

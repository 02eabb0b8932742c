// Package picture knows images by their content, and makes them fit for those who are
// to look at them: of a type, a size and a weight that they take.
//
//	kind := picture.Sniff(b) // "image/png"; "" where it is neither image nor video
//	fit, err := picture.Fit(ctx, b, picture.Limits{Bytes: 3 << 20, Side: 8000})
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoded where it must be scaled
	"image/jpeg"
	"image/png"
	"strings"

	_ "golang.org/x/image/bmp" // decoded, as few models take it
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // decoded, as few models take it
	_ "golang.org/x/image/webp" // decoded where it must be scaled
)

// Sniff returns the media type of an image or a video by its first bytes, and "" for
// everything else.
func Sniff(b []byte) string {
	for _, m := range []struct{ magic, kind string }{
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"\xff\xd8\xff", "image/jpeg"},
		{"GIF87a", "image/gif"},
		{"GIF89a", "image/gif"},
		{"II*\x00", "image/tiff"},
		{"MM\x00*", "image/tiff"},
		{"BM", "image/bmp"},
		{"\x1aE\xdf\xa3", "video/webm"},
	} {
		if !bytes.HasPrefix(b, []byte(m.magic)) {
			continue
		}
		if m.kind == "video/webm" && bytes.Contains(b[:min(len(b), 64)], []byte("matroska")) {
			return "video/x-matroska"
		}
		return m.kind
	}
	if len(b) < 16 {
		return ""
	}
	switch {
	case string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	case string(b[:4]) == "RIFF" && string(b[8:12]) == "AVI ":
		return "video/x-msvideo"
	case string(b[4:8]) == "ftyp":
		switch brand := string(b[8:12]); {
		case strings.HasPrefix(brand, "avi"):
			return "image/avif"
		case strings.HasPrefix(brand, "hei"), strings.HasPrefix(brand, "hev"), brand == "mif1", brand == "msf1":
			return "image/heic"
		case brand == "qt  ":
			return "video/quicktime"
		case strings.HasPrefix(brand, "M4A"), strings.HasPrefix(brand, "M4B"):
			return ""
		}
		return "video/mp4"
	}
	return ""
}

// Limits are what somebody takes.
type Limits struct {
	Bytes   int
	Side    int      // pixels of the longer side
	Types   []string // default: those that all vendors take
	Upright bool     // turned as a camera says that it was held
}

// A Fitted image is one within limits.
type Fitted struct {
	Data          []byte
	MIME          string
	Width, Height int
	Changed       string // what was done to it, or nothing
}

// MaxPixels bounds what is decoded.
const MaxPixels = 64 << 20

// one keeps images from being decoded at once, each of which may take 256 MiB.
var one = make(chan struct{}, 1)

var common = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Fit makes an image fit. Its errors are for the model.
func Fit(ctx context.Context, b []byte, l Limits) (Fitted, error) {
	kind := Sniff(b)
	if l.Types == nil {
		l.Types = common
	}
	out := Fitted{Data: b, MIME: kind}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		if kind == "image/heic" || kind == "image/avif" {
			return out, fmt.Errorf("the image is %s, which cannot be read here: convert it to PNG or JPEG", strings.ToUpper(kind[len("image/"):]))
		}
		return out, errors.New("the image is damaged: its size cannot be read. Get it anew, or convert it to PNG or JPEG")
	}
	out.Width, out.Height = c.Width, c.Height
	turn := 1
	if kind == "image/jpeg" {
		turn = orientation(b)
	}
	taken := false
	for _, t := range l.Types {
		taken = taken || t == kind
	}
	untouched := taken && len(b) <= l.Bytes && max(c.Width, c.Height) <= l.Side && (turn == 1 || !l.Upright)
	if c.Width <= 0 || c.Height <= 0 || c.Width > MaxPixels/c.Height {
		return out, fmt.Errorf("the image has %d × %d pixels, more than the %d million that are decoded here: make it smaller", c.Width, c.Height, MaxPixels>>20)
	}
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
	img, err := decode(b)
	if untouched && (err == nil || beyondUs(b, kind, err)) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("the image is damaged, or of a kind that cannot be read here (%w): convert it to PNG or JPEG", err)
	}
	return shrink(ctx, img, turn, kind, l)
}

// beyondUs reports whether an image is not decoded for what it is, and not for a damage:
// those who look at it may know more.
func beyondUs(b []byte, kind string, err error) bool {
	if _, ok := errors.AsType[jpeg.UnsupportedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[png.UnsupportedError](err); ok {
		return true
	}
	moving := kind == "image/webp" && len(b) > 20 && string(b[12:16]) == "VP8X" && b[20]&2 != 0
	return moving && uint64(binary.LittleEndian.Uint32(b[4:]))+8 <= uint64(len(b))
}

// decode reads an image. Decoders meet what strangers made: a panic is an error.
func decode(b []byte) (img image.Image, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("it cannot be decoded")
		}
	}()
	img, _, err = image.Decode(bytes.NewReader(b))
	return img, err
}

// told says what was done to an image of w × h pixels.
func told(kind string, out Fitted, smaller bool, w, h int) string {
	form := func(mime string) string { return strings.ToUpper(mime[len("image/"):]) }
	s := "the image was sent as " + form(out.MIME)
	switch {
	case smaller:
		s += fmt.Sprintf(" of %d × %d pixels, made smaller from %d × %d: what is small on it may be lost, so cut out the part that matters to have that seen", out.Width, out.Height, w, h)
	case out.MIME == kind:
		s += " written anew, turned upright or packed closer"
	default:
		s += ", converted from " + form(kind)
	}
	if kind == "image/gif" {
		s += "; of a GIF that moves that is the first picture"
	}
	return s
}

// shrink scales and encodes an image until it fits.
func shrink(ctx context.Context, img image.Image, turn int, kind string, l Limits) (Fitted, error) {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	scale := min(1, float64(l.Side)/float64(max(w, h)))
	for range 12 {
		if ctx.Err() != nil {
			return Fitted{}, context.Cause(ctx)
		}
		nw, nh := max(int(float64(w)*scale), 1), max(int(float64(h)*scale), 1)
		flat := image.NewRGBA(image.Rect(0, 0, nw, nh))
		draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
		if nw == w && nh == h {
			draw.Draw(flat, flat.Bounds(), img, img.Bounds().Min, draw.Over)
		} else {
			draw.ApproxBiLinear.Scale(flat, flat.Bounds(), img, img.Bounds(), draw.Over, nil)
		}
		upright := turned(flat, turn)
		out := Fitted{Width: upright.Bounds().Dx(), Height: upright.Bounds().Dy()}
		for _, quality := range []int{0, 90, 75} { // 0: without loss
			if quality == 0 && kind == "image/jpeg" {
				continue
			}
			b, err := encode(upright, quality)
			if err != nil {
				return out, err
			}
			if len(b) <= l.Bytes {
				out.Data, out.MIME = b, "image/jpeg"
				if quality == 0 {
					out.MIME = "image/png"
				}
				out.Changed = told(kind, out, nw != w || nh != h, w, h)
				return out, nil
			}
		}
		scale *= 0.75
	}
	return Fitted{}, errors.New("the image cannot be made small enough: cut a part out of it")
}

func encode(img image.Image, quality int) ([]byte, error) {
	var b bytes.Buffer
	if quality == 0 {
		err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
		return b.Bytes(), err
	}
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}

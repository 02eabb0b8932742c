package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/tenon-mcp/tenon/servers/vision/picture"
)

// noise returns an image that hardly packs, red in its upper left corner.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	x := uint32(1)
	for i := range img.Pix {
		x = x*1664525 + 1013904223
		img.Pix[i] = byte(x >> 24)
	}
	for y := range h / 2 {
		for x := range w / 2 {
			img.Set(x, y, color.RGBA{255, 0, 0, 255})
		}
	}
	return img
}

func write(t *testing.T, img image.Image, kind string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "image/png":
		err = png.Encode(&b, img)
	case "image/jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "image/gif":
		err = gif.Encode(&b, img, nil)
	case "image/bmp":
		err = bmp.Encode(&b, img)
	case "image/tiff":
		err = tiff.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		kind          string
		w, h          int
		limits        picture.Limits
		wantKind      string
		wantW, wantH  int
		wantUntouched bool
		says          string // of what was done
	}{
		{"image/png", 100, 50, picture.Limits{Bytes: 1 << 20, Side: 1000}, "image/png", 100, 50, true, ""},
		{"image/gif", 100, 50, picture.Limits{Bytes: 1 << 20, Side: 1000}, "image/gif", 100, 50, true, ""},
		{"image/bmp", 100, 50, picture.Limits{Bytes: 1 << 20, Side: 1000}, "image/png", 100, 50, false, "sent as PNG, converted from BMP"},
		{"image/tiff", 100, 50, picture.Limits{Bytes: 1 << 20, Side: 1000}, "image/png", 100, 50, false, "sent as PNG, converted from TIFF"},
		{"image/png", 400, 200, picture.Limits{Bytes: 1 << 20, Side: 100}, "image/png", 100, 50, false, "sent as PNG of 100 × 50 pixels, made smaller from 400 × 200"},
		{"image/jpeg", 400, 200, picture.Limits{Bytes: 1 << 20, Side: 100}, "image/jpeg", 100, 50, false, "sent as JPEG of 100 × 50 pixels, made smaller from 400 × 200"},
		{"image/png", 400, 200, picture.Limits{Bytes: 60_000, Side: 1000}, "image/jpeg", 400, 200, false, "sent as JPEG, converted from PNG"},
		{"image/png", 400, 200, picture.Limits{Bytes: 10_000, Side: 1000}, "image/jpeg", 168, 84, false, "made smaller from 400 × 200"},
		{"image/gif", 400, 200, picture.Limits{Bytes: 1 << 20, Side: 100}, "image/png", 100, 50, false, "; of a GIF that moves that is the first picture"},
	} {
		b := write(t, noise(c.w, c.h), c.kind)
		if got := picture.Sniff(b); got != c.kind {
			t.Errorf("%s is taken for %q", c.kind, got)
		}
		f, err := picture.Fit(t.Context(), b, c.limits)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got, _, err := image.DecodeConfig(bytes.NewReader(f.Data))
		if err != nil || picture.Sniff(f.Data) != f.MIME || f.MIME != c.wantKind || got.Width != f.Width || len(f.Data) > c.limits.Bytes || (f.Changed == "") != c.wantUntouched || !strings.Contains(f.Changed, c.says) || bytes.Equal(f.Data, b) != c.wantUntouched {
			t.Errorf("%+v: %s of %d × %d, %d bytes, %q, %v", c, f.MIME, f.Width, f.Height, len(f.Data), f.Changed, err)
		}
		if c.limits.Bytes != 10_000 && (f.Width != c.wantW || f.Height != c.wantH) {
			t.Errorf("%+v: %d × %d", c, f.Width, f.Height)
		}
	}
}

// TestDamaged refuses images that break off or hold other bytes than they had, even
// where nothing else would have to be done to them.
func TestDamaged(t *testing.T) {
	limits := picture.Limits{Bytes: 1 << 20, Side: 1000}
	for _, kind := range []string{"image/png", "image/jpeg", "image/gif"} {
		b := write(t, noise(120, 80), kind)
		if _, err := picture.Fit(t.Context(), b, limits); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := picture.Fit(t.Context(), b[:len(b)*2/3], limits); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("half of %s: %v", kind, err)
		}
	}
	b := write(t, noise(120, 80), "image/png")
	b[len(b)/2] ^= 0x55
	if _, err := picture.Fit(t.Context(), b, limits); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("another byte in the middle: %v", err)
	}
	// Moving images of WebP are not decoded here; those who take them may.
	frames := "VP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x63\x00\x00\x31\x00\x00ANIM\x06\x00\x00\x00\xff\xff\xff\xff\x00\x00"
	moving := []byte("RIFF" + string(rune(4+len(frames))) + "\x00\x00\x00WEBP" + frames)
	if f, err := picture.Fit(t.Context(), moving, limits); err != nil || f.Width != 100 || f.Height != 50 {
		t.Errorf("a moving image: %+v, %v", f, err)
	}
}

// TestOrientation turns a picture that was taken with a camera on its side.
func TestOrientation(t *testing.T) {
	plain := write(t, noise(80, 40), "image/jpeg")
	// Where the red corner, upper left in the file, is to be seen.
	corners := map[byte][2]bool{1: {false, false}, 2: {true, false}, 3: {true, true}, 4: {false, true}, 5: {false, false}, 6: {true, false}, 7: {true, true}, 8: {false, true}}
	for o, corner := range corners {
		for _, order := range []string{"MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(o)) + "\x00\x00\x00\x00\x00\x00", "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(rune(o)) + "\x00\x00\x00\x00\x00\x00\x00"} {
			exif := "Exif\x00\x00" + order
			b := append([]byte("\xff\xd8\xff\xe1\x00"+string(rune(len(exif)+2))+exif), plain[2:]...)
			f, err := picture.Fit(t.Context(), b, picture.Limits{Bytes: 1 << 20, Side: 1000, Upright: true})
			if err != nil {
				t.Fatal(err)
			}
			img, _, err := image.Decode(bytes.NewReader(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			if o != 1 && !strings.Contains(f.Changed, "sent as JPEG written anew") {
				t.Errorf("%d: it says %q", o, f.Changed)
			}
			w, h := img.Bounds().Dx(), img.Bounds().Dy()
			if (w < h) != (o >= 5) {
				t.Errorf("%d: %d × %d", o, w, h)
			}
			x, y := w/8, h/8
			if corner[0] {
				x = w - 1 - x
			}
			if corner[1] {
				y = h - 1 - y
			}
			if r, g, _, _ := img.At(x, y).RGBA(); r < 0xc000 || g > 0x4000 {
				t.Errorf("%d: the red corner is not at %d, %d", o, x, y)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	bomb := write(t, image.NewGray(image.Rect(0, 0, 1, 1)), "image/png")
	copy(bomb[16:], "\x00\x01\x00\x00\x00\x01\x00\x00") // 65,536 × 65,536
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	good := write(t, noise(50, 50), "image/png")
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"bomb": {bomb, "million that are decoded"}, "cut": {good[:len(good)/2], "damaged"}, "head": {good[:10], "damaged"},
		"heic": {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), "HEIC"}, "avif": {[]byte("\x00\x00\x00\x18ftypavif\x00\x00\x00\x00"), "AVIF"},
	} {
		if f, err := picture.Fit(t.Context(), c.b, picture.Limits{Bytes: 1, Side: 10}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if _, err := picture.Fit(t.Context(), good, picture.Limits{Bytes: 1, Side: 10}); err == nil {
		t.Error("no image has less than a byte")
	}
}

func TestSniff(t *testing.T) {
	for b, want := range map[string]string{
		"": "", "GIF89a": "image/gif", "GIF88a": "", "RIFF1234WEBPVP8 ": "image/webp", "RIFF1234WAVEfmt ": "", "RIFF1234AVI LIST": "video/x-msvideo",
		"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00": "video/mp4", "\x00\x00\x00\x18ftypqt  \x00\x00\x00\x00": "video/quicktime", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00": "",
		"\x1aE\xdf\xa3....webm": "video/webm", "\x1aE\xdf\xa3..matroska": "video/x-matroska", "#EXTM3U": "",
	} {
		if got := picture.Sniff([]byte(b)); got != want {
			t.Errorf("%q is taken for %q, not %q", b, got, want)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x10Exif\x00\x00II*\x00\x08\x00\x00\x00"))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = picture.Fit(t.Context(), b, picture.Limits{Bytes: 1000, Side: 100, Upright: true}) // whatever comes, it returns
	})
}

package word97

import "testing"

func FuzzShape(f *testing.F) {
	f.Add([]byte("\x0f\x00\x04\xf0\x40\x00\x00\x00\x13\x00\x0b\xf0\x0a\x00\x00\x00\x81\xc3\x04\x00\x00\x00a\x00b\x00" +
		"\x62\x00\x07\xf0\x2c\x00\x00\x00\x06" + "\x06" + "0123456789abcdef" + "tt" + "ssss" + "cccc" + "oooo" + "\x00\x00\x00\x00" + "\x00\x6e\x1e\xf0\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if alt, kind, image := shape(b); len(alt) > 2*len(b) || kind == "" && image != nil || len(image) > len(b) {
			t.Errorf("%q %q %d bytes", alt, kind, len(image))
		}
	})
}

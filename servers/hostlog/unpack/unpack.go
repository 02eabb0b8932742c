// Package unpack reads packed logs within bounds: a stream says how much memory its
// reader needs, and one that asks for more than logs need is refused.
//
//	r, err := unpack.Open("syslog.2.gz", file)
package unpack

import (
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"path"

	"github.com/klauspost/compress/zstd"
)

// dictionary is what a packed file may refer back, as xz -9 and zstd -19 do.
const dictionary = 64 << 20

var errDictionary = errors.New("unpacking it would take too much memory")

// Packed reports whether a name is that of a packed file.
func Packed(name string) bool {
	switch path.Ext(name) {
	case ".gz", ".xz", ".zst", ".zstd", ".bz2":
		return true
	}
	return false
}

// Open returns what is packed in r, by the ending of its name; what is not packed is
// returned as it is.
func Open(name string, r io.Reader) (io.ReadCloser, error) {
	switch path.Ext(name) {
	case ".gz":
		return gzip.NewReader(r)
	case ".bz2":
		return io.NopCloser(bzip2.NewReader(r)), nil
	case ".xz":
		x, err := XZ(r, dictionary)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(x), nil
	case ".zst", ".zstd":
		d, err := Zstd(r, dictionary)
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// Zstd returns a decoder that starts no goroutines.
func Zstd(r io.Reader, most uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(most))
}

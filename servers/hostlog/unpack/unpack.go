// Package unpack reads packed logs within bounds: a stream says how much memory its
// reader needs, and one that asks for more than logs need is refused.
//
//	r, err := unpack.Open("syslog.2.gz", file)
package unpack

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
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

// XZ returns what is packed in r, unless its dictionary is larger than most.
func XZ(r io.Reader, most uint64) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(40)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n, err := dictionarySize(head)
	if err != nil {
		return nil, err
	}
	if n > most {
		return nil, fmt.Errorf("%w: a dictionary of %d MiB", errDictionary, n>>20)
	}
	return xz.ReaderConfig{SingleStream: false}.NewReader(b)
}

// dictionarySize reads the size from the header of the first block: behind the twelve
// bytes of the stream's header stand its size, flags, two sizes that may be left out,
// and the one filter with a byte that codes the dictionary.
func dictionarySize(b []byte) (uint64, error) {
	if len(b) < 24 || b[13]&3 != 0 {
		return 0, errors.New("this is no common xz file")
	}
	at := 14
	for _, there := range []byte{0x40, 0x80} {
		for b[13]&there != 0 && at < len(b)-4 {
			at++
			if b[at-1]&0x80 == 0 {
				break
			}
		}
	}
	if at+2 >= len(b) || b[at] != 0x21 || b[at+2] > 40 {
		return 0, errors.New("this is no common xz file")
	}
	code := uint64(b[at+2])
	return (2 | code&1) << (code/2 + 11), nil
}

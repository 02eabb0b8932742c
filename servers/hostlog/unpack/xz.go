package unpack

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// An xz file is streams one behind the other, and a stream is blocks, each of which
// names a dictionary. The library takes what a block names; here each block is looked
// at before its dictionary is made, and only the packed data in it is the library's.

var errXZ = errors.New("this is no common xz file, or it is damaged")

// XZ returns what is packed in r. It ends with an error at a block whose dictionary is
// larger than most, or where all the dictionaries are so large that they can only be
// meant to cost time.
func XZ(r io.Reader, most uint64) (io.Reader, error) {
	x := &xzReader{r: &counted{r: bufio.NewReader(r)}, most: most}
	if err := x.stream(); err != nil {
		return nil, whole(err)
	}
	if err := x.block(); err != nil {
		if errors.Is(err, io.EOF) {
			return bytes.NewReader(nil), nil
		}
		return nil, whole(err)
	}
	return x, nil
}

// whole is the error of what ends too soon.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// counted counts the bytes that are read.
type counted struct {
	r *bufio.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

type xzReader struct {
	r     *counted
	most  uint64
	check byte // how blocks are checked
	begin int64
	data  *lzma.Reader2
	sum   hash.Hash
	spent uint64 // bytes of dictionaries
	given uint64 // bytes that were unpacked
	err   error
}

func (x *xzReader) Read(b []byte) (int, error) {
	for x.err == nil {
		n, err := x.data.Read(b)
		x.given += uint64(n)
		if x.sum != nil {
			x.sum.Write(b[:n])
		}
		if errors.Is(err, io.EOF) {
			if err = x.end(); err == nil {
				err = x.block() // EOF where there is none
			}
		}
		x.err = err
		if n > 0 || len(b) == 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// stream reads the header of a stream, and the padding before it.
func (x *xzReader) stream() error {
	var h [12]byte
	for {
		if _, err := io.ReadFull(x.r, h[:4]); err != nil {
			return err
		}
		if [4]byte(h[:4]) != [4]byte{} || x.r.n == 4 {
			break
		}
	}
	if _, err := io.ReadFull(x.r, h[4:]); err != nil {
		return whole(err)
	}
	if string(h[:7]) != "\xfd7zXZ\x00\x00" || h[7] > 15 || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return errXZ
	}
	x.check = h[7]
	return nil
}

// block begins the next block, of this stream or a later one.
func (x *xzReader) block() error {
	x.begin = x.r.n
	var h [1024]byte
	for {
		if _, err := io.ReadFull(x.r, h[:1]); err != nil {
			return whole(err)
		}
		if h[0] != 0 {
			break
		}
		if err := x.index(); err != nil {
			return whole(err)
		}
		if err := x.stream(); err != nil {
			return err // EOF where the file ends well
		}
		x.begin = x.r.n
	}
	size := (int(h[0]) + 1) * 4
	if _, err := io.ReadFull(x.r, h[1:size]); err != nil {
		return whole(err)
	}
	if crc32.ChecksumIEEE(h[:size-4]) != binary.LittleEndian.Uint32(h[size-4:]) {
		return errXZ
	}
	n, err := dictionarySize(h[:size-4])
	if err != nil {
		return err
	}
	if n > x.most {
		return fmt.Errorf("%w: a dictionary of %d MiB", errDictionary, n>>20)
	}
	if x.spent += n; x.spent > 64*x.most+64*x.given {
		return fmt.Errorf("%w: many blocks, and hardly anything in them", errDictionary)
	}
	x.begin = x.r.n
	switch x.check {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.sum = sha256.New()
	default:
		x.sum = nil // none, or one that nobody uses
	}
	x.data, err = lzma.Reader2Config{DictCap: max(int(n), lzma.MinDictCap)}.NewReader2(x.r)
	return err
}

// end reads what stands behind the data of a block.
func (x *xzReader) end() error {
	var b [64]byte
	size := 0
	if x.check > 0 {
		size = 4 << ((x.check - 1) / 3)
	}
	pad := int(-(x.r.n - x.begin) & 3)
	if _, err := io.ReadFull(x.r, b[:pad+size]); err != nil {
		return whole(err)
	}
	if x.sum == nil {
		return nil
	}
	want, got := b[pad:pad+size], x.sum.Sum(nil)
	if x.check < 10 { // the others are numbers, whose last byte comes first
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
	}
	if !bytes.Equal(want, got) {
		return errXZ
	}
	return nil
}

// index reads past the list of the blocks of a stream and the end of the stream.
func (x *xzReader) index() error {
	begin := x.r.n - 1
	n, err := x.number()
	for i := uint64(0); err == nil && i < 2*n; i++ {
		_, err = x.number()
	}
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, x.r, -(x.r.n-begin)&3+4+12)
	return err
}

func (x *xzReader) number() (uint64, error) {
	var b [1]byte
	v := uint64(0)
	for shift := 0; shift < 63; shift += 7 {
		if _, err := io.ReadFull(x.r, b[:]); err != nil {
			return 0, err
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0]&0x80 == 0 {
			return v, nil
		}
	}
	return 0, errXZ
}

// dictionarySize reads the size from the header of a block: behind its size stand
// flags, two sizes that may be left out, and the one filter with a byte that codes the
// dictionary.
func dictionarySize(b []byte) (uint64, error) {
	if len(b) < 5 || b[1]&0x3f != 0 {
		return 0, errXZ
	}
	at := 2
	for _, there := range []byte{0x40, 0x80} {
		for b[1]&there != 0 && at < len(b) {
			at++
			if b[at-1]&0x80 == 0 {
				break
			}
		}
	}
	if at+2 >= len(b) || b[at] != 0x21 || b[at+1] != 1 || b[at+2] > 40 {
		return 0, errXZ
	}
	code := uint64(b[at+2])
	return (2 | code&1) << (code/2 + 11), nil
}

package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/tenon-mcp/tenon/servers/hostlog/unpack"
)

// Flags of a data object.
const (
	packedXZ   = 1
	packedLZ4  = 2
	packedZSTD = 4
)

const (
	maxPacked   = 4 << 20 // bytes of a packed payload
	maxUnpacked = 8 << 20 // bytes that LZ4 must unpack at once
	maxWindow   = 8 << 20 // bytes that a packed stream may refer back
)

var errDamaged = errors.New("the payload is damaged")

// An unpacker keeps the one decoder that is expensive to make.
type unpacker struct{ zstd *zstd.Decoder }

// unpack returns at most limit bytes of what is packed in b, and whether that is all.
func (u *unpacker) unpack(how byte, b []byte, limit int) (out []byte, whole bool, err error) {
	switch how {
	case packedXZ:
		r, err := unpack.XZ(bytes.NewReader(b), maxWindow)
		if err != nil {
			return nil, false, err
		}
		return readUpTo(r, limit)
	case packedLZ4:
		if len(b) < 8 {
			return nil, false, errDamaged
		}
		n := binary.LittleEndian.Uint64(b)
		if n > maxUnpacked || n > uint64(len(b))*256 { // a byte of LZ4 makes no more than 255
			return nil, false, errDamaged
		}
		out = make([]byte, n)
		got, err := lz4.UncompressBlock(b[8:], out)
		if err != nil {
			return nil, false, err
		}
		return out[:min(got, limit)], got <= limit, nil
	case packedZSTD:
		if u.zstd == nil {
			u.zstd, err = unpack.Zstd(nil, maxWindow)
			if err != nil {
				return nil, false, err
			}
		}
		if err := u.zstd.Reset(bytes.NewReader(b)); err != nil {
			return nil, false, err
		}
		return readUpTo(u.zstd, limit)
	}
	return nil, false, errDamaged // two flags at once
}

func readUpTo(r io.Reader, limit int) (out []byte, whole bool, err error) {
	out, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(out) > limit {
		return out[:limit], false, nil
	}
	return out, true, err
}

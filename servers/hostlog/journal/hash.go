package journal

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// find returns where the data object with that payload stands, or 0.
func (f *File) find(payload string) uint64 {
	return f.look(f.data, typeData, dataSize, func(at uint64) bool {
		b, whole, err := f.payload(at, len(payload)+1)
		return err == nil && whole && string(b) == payload
	}, payload)
}

// look goes through the objects that share a hash.
func (f *File) look(t table, kind byte, size int, same func(at uint64) bool, payload string) uint64 {
	if t.buckets == 0 || t.offset > f.size || t.buckets > f.size/16 {
		return 0
	}
	hash := f.hash([]byte(payload))
	var b [dataSize]byte
	if _, err := f.pages.ReadAt(b[:8], t.offset+hash%t.buckets*16); err != nil {
		return 0
	}
	at := binary.LittleEndian.Uint64(b[:])
	for last := uint64(0); at > last; { // objects are appended, so that chains climb
		if _, _, err := f.object(at, kind, b[:size]); err != nil {
			return 0
		}
		if binary.LittleEndian.Uint64(b[16:]) == hash && same(at) {
			return at
		}
		last, at = at, binary.LittleEndian.Uint64(b[24:])
	}
	return 0
}

// Values returns values of a field, at most limit, sorted. They are all of them
// unless it returns limit.
func (f *File) Values(name string, limit int) []string {
	at := f.look(f.fields, typeField, fieldSize, func(at uint64) bool {
		var b [fieldSize]byte
		_, size, err := f.object(at, typeField, b[:])
		if err != nil || size != uint64(fieldSize+len(name)) {
			return false
		}
		got := make([]byte, len(name))
		_, err = f.pages.ReadAt(got, at+fieldSize)
		return err == nil && string(got) == name
	}, name)
	if at == 0 {
		return nil
	}
	var b [dataSize]byte
	if _, _, err := f.object(at, typeField, b[:fieldSize]); err != nil {
		return nil
	}
	at = binary.LittleEndian.Uint64(b[32:])
	var values []string
	for range maxChainLen {
		if at == 0 || len(values) >= limit {
			break
		}
		if _, _, err := f.object(at, typeData, b[:]); err != nil {
			break
		}
		if d, ok := f.field(at); ok && d.name == name {
			values = append(values, d.value)
		}
		at = binary.LittleEndian.Uint64(b[32:])
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// hash returns the hash by which a payload is found.
func (f *File) hash(b []byte) uint64 {
	if f.info.Keyed {
		return siphash(f.info.FileID, b)
	}
	return lookup3(b)
}

// siphash is SipHash-2-4.
func siphash(key [16]byte, b []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	v0, v1, v2, v3 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d, k0^0x6c7967656e657261, k1^0x7465646279746573
	rounds := func(n int) {
		for range n {
			v0 += v1
			v2 += v3
			v1 = bits.RotateLeft64(v1, 13) ^ v0
			v3 = bits.RotateLeft64(v3, 16) ^ v2
			v0 = bits.RotateLeft64(v0, 32)
			v2 += v1
			v0 += v3
			v1 = bits.RotateLeft64(v1, 17) ^ v2
			v3 = bits.RotateLeft64(v3, 21) ^ v0
			v2 = bits.RotateLeft64(v2, 32)
		}
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v3 ^= m
		rounds(2)
		v0 ^= m
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v3 ^= last
	rounds(2)
	v0 ^= last
	v2 ^= 0xff
	rounds(4)
	return v0 ^ v1 ^ v2 ^ v3
}

// lookup3 is Bob Jenkins' hash of that name, both halves of it.
func lookup3(b []byte) uint64 {
	x := uint32(0xdeadbeef) + uint32(len(b))
	y, z := x, x
	for len(b) > 12 {
		x += binary.LittleEndian.Uint32(b)
		y += binary.LittleEndian.Uint32(b[4:])
		z += binary.LittleEndian.Uint32(b[8:])
		x = (x - z) ^ bits.RotateLeft32(z, 4)
		z += y
		y = (y - x) ^ bits.RotateLeft32(x, 6)
		x += z
		z = (z - y) ^ bits.RotateLeft32(y, 8)
		y += x
		x = (x - z) ^ bits.RotateLeft32(z, 16)
		z += y
		y = (y - x) ^ bits.RotateLeft32(x, 19)
		x += z
		z = (z - y) ^ bits.RotateLeft32(y, 4)
		y += x
		b = b[12:]
	}
	if len(b) == 0 {
		return uint64(z)<<32 | uint64(y)
	}
	var tail [12]byte
	copy(tail[:], b)
	x += binary.LittleEndian.Uint32(tail[:])
	y += binary.LittleEndian.Uint32(tail[4:])
	z += binary.LittleEndian.Uint32(tail[8:])
	z = (z ^ y) - bits.RotateLeft32(y, 14)
	x = (x ^ z) - bits.RotateLeft32(z, 11)
	y = (y ^ x) - bits.RotateLeft32(x, 25)
	z = (z ^ y) - bits.RotateLeft32(y, 16)
	x = (x ^ z) - bits.RotateLeft32(z, 4)
	y = (y ^ x) - bits.RotateLeft32(x, 14)
	z = (z ^ y) - bits.RotateLeft32(y, 24)
	return uint64(z)<<32 | uint64(y)
}

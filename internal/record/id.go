package record

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// The digits of an ID: Crockford's base 32 in lower case. Their order is that of
// ASCII, so IDs sort as the numbers do.
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

const (
	timeDigits   = 11 // 55 bits: microseconds since 1970
	randomDigits = 15 // 75 bits
)

// NewID returns a new ID for a call: "c_" and 26 digits and letters, which sort
// by time and cannot be guessed.
func NewID() string {
	var id [2 + timeDigits + randomDigits]byte
	id[0], id[1] = 'c', '_'
	now := time.Now().UnixMicro()
	for i := 2 + timeDigits - 1; i >= 2; i-- {
		id[i] = digits[now&31]
		now >>= 5
	}
	// Random bytes are cheap without a buffer of our own: on current systems they
	// come from the C library or the vDSO, not from a system call.
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails; it ends the program instead
	fill(id[2+timeDigits:10+timeDigits], binary.LittleEndian.Uint64(random[:8]))
	fill(id[10+timeDigits:], binary.LittleEndian.Uint64(random[8:]))
	return string(id[:])
}

// fill writes at most 12 digits of n.
func fill(to []byte, n uint64) {
	for i := range to {
		to[i] = digits[n&31]
		n >>= 5
	}
}

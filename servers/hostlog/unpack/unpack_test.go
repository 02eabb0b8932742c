package unpack_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tenon-mcp/tenon/servers/hostlog/unpack"
)

func packed(t testing.TB, dictionary int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: dictionary}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, strings.Repeat("a line of a log\n", 100))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMemory refuses what would take more of it than logs need, before it is taken.
func TestMemory(t *testing.T) {
	for _, size := range []int{1 << 16, 8 << 20, 64 << 20} {
		r, err := unpack.Open("x.log.xz", bytes.NewReader(packed(t, size)))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || len(b) != 1600 {
			t.Errorf("%d: %d bytes, %v", size, len(b), err)
		}
	}
	b := packed(t, 1<<20)
	dictionaryOf(b, 37) // 1.5 GiB
	if _, err := unpack.Open("x.xz", bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), "a dictionary of 1536 MiB") {
		t.Error(err)
	}
	if _, err := unpack.Open("x.xz", strings.NewReader("no xz")); err == nil {
		t.Error("no xz is xz")
	}
}

// dictionaryOf sets the code of the dictionary in the header of the first block.
func dictionaryOf(b []byte, code byte) {
	size := (int(b[12]) + 1) * 4
	at := 14
	for n := bits(b[13]); n > 0; at++ {
		if b[at]&0x80 == 0 {
			n--
		}
	}
	b[at+2] = code
	binary.LittleEndian.PutUint32(b[12+size-4:], crc32.ChecksumIEEE(b[12:12+size-4]))
}

func bits(flags byte) int { return int(flags>>6&1 + flags>>7) }

// TestLaterBlocks looks at the dictionary of each block, and at what they cost in all.
func TestLaterBlocks(t *testing.T) {
	first, second := packed(t, 1<<16), packed(t, 1<<16)
	r, err := unpack.Open("x.xz", bytes.NewReader(slices.Concat(first, make([]byte, 8), second)))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || len(b) != 3200 {
		t.Errorf("two streams: %d bytes, %v", len(b), err)
	}
	dictionaryOf(second, 40)
	if r, err = unpack.Open("x.xz", bytes.NewReader(slices.Concat(first, second))); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := io.ReadAll(r)
	runtime.ReadMemStats(&after)
	if len(b) != 1600 || err == nil || !strings.Contains(err.Error(), "a dictionary of 4") {
		t.Errorf("a large one behind a small one: %d bytes, %v", len(b), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("it took %d MiB", n>>20)
	}
	tiny := packed(t, 1<<20)
	if x, err := unpack.XZ(bytes.NewReader(bytes.Repeat(tiny, 10_000)), 1<<20); err != nil {
		t.Error(err)
	} else if _, err := io.Copy(io.Discard, x); err == nil || !strings.Contains(err.Error(), "hardly anything") {
		t.Errorf("many blocks of little: %v", err)
	}
	wrong := packed(t, 1<<16)
	wrong[len(wrong)-40] ^= 1
	if x, err := unpack.XZ(bytes.NewReader(wrong), 1<<20); err == nil {
		if _, err := io.Copy(io.Discard, x); err == nil {
			t.Error("a changed byte is not seen")
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(0, packed(f, 1<<16))
	e, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(1, e.EncodeAll([]byte("a line of a log\n"), nil))
	f.Add(2, []byte("\x1f\x8b\x08"))
	f.Add(3, []byte("BZh9"))
	f.Fuzz(func(_ *testing.T, kind int, b []byte) {
		r, err := unpack.Open("x"+[]string{".xz", ".zst", ".gz", ".bz2"}[uint(kind)%4], bytes.NewReader(b))
		if err != nil {
			return
		}
		defer r.Close()
		io.Copy(io.Discard, io.LimitReader(r, 1<<20))
	})
}

package unpack_test

import (
	"bytes"
	"io"
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
	b[16] = 37 // 1.5 GiB
	if _, err := unpack.Open("x.xz", bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), "a dictionary of 1536 MiB") {
		t.Error(err)
	}
	if _, err := unpack.Open("x.xz", strings.NewReader("no xz")); err == nil {
		t.Error("no xz is xz")
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

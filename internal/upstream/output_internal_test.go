package upstream

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// TestLastWordsAreRead: what a process wrote before its end is read however late that is,
// and nothing is waited for that another process may write to the same pipe.
func TestLastWordsAreRead(t *testing.T) {
	for name, size := range map[string]int{"nothing": 0, "a line": 40, "more than a read": 50_000, "as much as a read": 4096} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close() // after the end of all: it is the helper's too
			defer r.Close()
			ended := make(chan struct{})
			o := &output{f: r, ended: ended}
			want := bytes.Repeat([]byte("x"), size)
			if _, err := w.Write(want); err != nil {
				t.Fatal(err)
			}
			close(ended)
			o.end()
			if err := r.SetReadDeadline(time.Now().Add(-time.Minute)); err != nil { // it is that late
				t.Fatal(err)
			}
			var got []byte
			b := make([]byte, 4096)
			for {
				n, err := o.Read(b)
				got = append(got, b[:n]...)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("read %d bytes of %d", len(got), len(want))
			}
		})
	}
}

// TestOutputOfAHelper: what writes without end after the end of its process is not read
// without end.
func TestOutputOfAHelper(t *testing.T) {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	ended := make(chan struct{})
	close(ended)
	n, err := io.Copy(io.Discard, &output{f: f, ended: ended})
	if err != nil || n < lastBytes || n > 2*lastBytes {
		t.Errorf("%d bytes, %v", n, err)
	}
}

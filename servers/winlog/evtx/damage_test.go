package evtx_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx/evtxtest"
)

var le = binary.LittleEndian

const chunk = 65536

// threeChunks returns a log of 100 records in three chunks.
func threeChunks() []byte {
	var events []evtxtest.Event
	for i := range 100 {
		events = append(events, evtxtest.Event{Time: when, Provider: "P", EventID: uint16(i), Channel: "C", Computer: "h", Data: []string{"n", "v"}})
	}
	return evtxtest.Log(events...)
}

// record returns where the n-th record of a chunk begins, from 0.
func record(log []byte, at, n int) int {
	at += 512
	for range n {
		at += int(le.Uint32(log[at+4:]))
	}
	return at
}

func TestDamage(t *testing.T) {
	first := 4096
	for _, tt := range []struct {
		name    string
		spoil   func(log []byte) []byte
		records int
		want    string // in the report
		lossy   bool
	}{
		{"nothing", func(b []byte) []byte { return b }, 100, "100 records in 3 chunks", false},
		{"the header of the file", func(b []byte) []byte { clear(b[:128]); return b }, 100, "the header of the file is damaged", false},
		{"a bit of the header of the file", func(b []byte) []byte { b[20] ^= 1; return b }, 100, "1 checksums that do not fit; the checksum of the file's header", false},
		{"a checksum of records", func(b []byte) []byte { b[first+52] ^= 1; return b }, 100, "chunk 0, at byte 4148: the checksum of the chunk's records does not fit", false},
		{"a checksum of a chunk", func(b []byte) []byte { b[first+chunk+130] ^= 1; return b }, 100, "chunk 1, at byte 69756: the checksum of the chunk's header does not fit", false},
		{"no checksums at all", func(b []byte) []byte { b[120] = 4; b[first+52] ^= 1; return b }, 100, "100 records in 3 chunks", false},
		{"the name of a chunk", func(b []byte) []byte { clear(b[first+chunk : first+chunk+8]); return b }, 100, "1 damaged chunks", true},
		{"a chunk of zeros", func(b []byte) []byte { clear(b[first+chunk : first+2*chunk]); return b }, 60, "1 damaged chunks; chunk 1, at byte 69632", true},
		{"a chunk of noise", func(b []byte) []byte { noise(b[first+chunk : first+2*chunk]); return b }, 60, "1 damaged chunks", true},
		{"the end", func(b []byte) []byte { return b[:first+2*chunk+2000] }, -1, "the file ends in this chunk", true},
		{"all but a header", func(b []byte) []byte { return b[:first+300] }, 0, "the file ends in the header of the chunk", true},
		{"nothing but a chunk that wants no checksums", func(b []byte) []byte { b[first+120] |= 4; b[first+52] ^= 1; return b }, 100, "100 records in 3 chunks", false},
		{"the end of the row", func(b []byte) []byte { le.PutUint64(b[first+32:], 42); return b }, 100, "records 41 to 42 are not there", true},
		{"nothing: it was not closed, and has room", func(b []byte) []byte { b[120] = 5; return append(b, make([]byte, chunk)...) }, 100, "100 records in 3 chunks", false},
		{"where free space begins", func(b []byte) []byte { le.PutUint32(b[first+48:], 1<<31); return b }, 100, "its free space begins outside", false},
		{"the size of a record", func(b []byte) []byte { le.PutUint32(b[record(b, first, 5)+4:], 1<<30); return b }, 99, "1 records missing", true},
		{"the start of the first record", func(b []byte) []byte { clear(b[first+512 : first+520]); return b }, 99, "records 1 to 1 are not there", true},
		{"three records", func(b []byte) []byte { noise(b[record(b, first, 5):record(b, first, 8)]); return b }, 97, "records 6 to 8 are not there", true},
		{"the last records", func(b []byte) []byte { clear(b[record(b, first, 38) : first+chunk]); return b }, 98, "records 39 to 40 are not there", true},
		{"the second size of a record", func(b []byte) []byte { b[record(b, first, 3)-4] ^= 1; return b }, 100, "record 3 was not written to its end", true},
		{"tokens of a record", func(b []byte) []byte { at := record(b, first, 5); noise(b[at+24 : at+40]); return b }, 100, "record 6: token", true},
		{"the place of a template", func(b []byte) []byte { at := record(b, first, 5); le.PutUint32(b[at+34:], 1<<31); return b }, 100, "record 6: a template is said to be at byte 2147483648", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, r := read(t, tt.spoil(threeChunks()))
			if len(events) != tt.records && tt.records >= 0 || tt.records < 0 && (len(events) <= 80 || len(events) >= 100) {
				t.Errorf("%d records, want %d", len(events), tt.records)
			}
			if strings.HasPrefix(tt.name, "nothing") && len(r.Problems) > 0 || !strings.Contains(r.String(), tt.want) || r.Damaged() != tt.lossy {
				t.Errorf("damaged %v, got %s", r.Damaged(), r)
			}
		})
	}
}

func noise(b []byte) {
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
}

// TestNotClosed: records that were written behind the end that the header names.
func TestNotClosed(t *testing.T) {
	log := threeChunks()
	le.PutUint32(log[4096+48:], uint32(record(log, 4096, 10)-4096))
	le.PutUint64(log[4096+32:], 10)
	if events, r := read(t, log); len(events) != 100 || r.Damaged() {
		t.Errorf("%d events: %s", len(events), r)
	}
	// What a chunk held before has other numbers.
	old := log[4096 : 4096+chunk]
	for i := 10; i < 40; i++ {
		le.PutUint64(old[record(old, 0, i)+8:], uint64(500+i))
	}
	if events, _ := read(t, log); len(events) != 70 {
		t.Errorf("%d events, want 70", len(events))
	}
}

func TestNoLog(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("ElfFile\x00"), bytes.Repeat([]byte("x"), 9000)} {
		if _, err := evtx.NewReader(bytes.NewReader(b), int64(len(b))); !errors.Is(err, evtx.ErrFormat) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if events, r := read(t, evtxtest.File()); len(events) != 0 || r.Damaged() {
		t.Errorf("an empty log: %d events, %s", len(events), r)
	}
}

type badDisk struct {
	io.ReaderAt
	from, to int64
}

func (d badDisk) ReadAt(p []byte, at int64) (int, error) {
	if at < d.to && at+int64(len(p)) > d.from {
		return 0, errors.New("I/O error")
	}
	return d.ReaderAt.ReadAt(p, at)
}

func TestDiskThatFails(t *testing.T) {
	log := threeChunks()
	for _, from := range []int64{4096 + chunk, 4096 + chunk + 30000} { // its head, and the rest
		r, err := evtx.NewReader(badDisk{bytes.NewReader(log), from, from + 10}, int64(len(log)))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range r.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 60 || !strings.Contains(r.Report().String(), "cannot be read: I/O error") {
			t.Errorf("%d records, %s", n, r.Report())
		}
	}
}

// TestBounds: what would never end, or become more than there is memory for, is an
// error of that record.
func TestBounds(t *testing.T) {
	big := evtxtest.Value{Kind: 1, Data: evtxtest.UTF16(strings.Repeat("x", 20_000))}
	for _, tt := range []struct {
		name, want string
		write      func(*evtxtest.Builder)
	}{
		{"depth", "nested deeper", func(b *evtxtest.Builder) {
			var nest func(int)
			nest = func(n int) {
				if n > 0 {
					b.Element("a", nil, func() { nest(n - 1) })
				}
			}
			nest(200)
		}},
		{"a template in itself", "nested deeper", func(b *evtxtest.Builder) {
			at := uint32(b.Len() + 10)
			b.Template("t", nil, func() {
				b.Raw(append(append([]byte{0x0c, 1, 0, 0, 0, 0}, le.AppendUint32(nil, at)...), 0, 0, 0, 0)...)
			})
		}},
		{"templates of templates", "steps", func(b *evtxtest.Builder) {
			var nest func(int)
			nest = func(n int) {
				for range 20 {
					if n > 0 {
						b.Template(strconv.Itoa(n), nil, func() { nest(n - 1) })
					}
				}
			}
			nest(6)
		}},
		{"text", "text is longer", func(b *evtxtest.Builder) {
			b.Template("t", []evtxtest.Value{big}, func() {
				for range 200 {
					b.Element("a", nil, func() { b.Substitution(0, 1, false) })
				}
			})
		}},
		{"text of an attribute", "text is longer", func(b *evtxtest.Builder) {
			b.Template("t", []evtxtest.Value{big}, func() {
				b.Element("a", func() {
					b.Attr("x", func() {
						for range 200 {
							b.Substitution(0, 1, false)
						}
					})
				}, nil)
			})
		}},
		{"parts", "parts", func(b *evtxtest.Builder) {
			b.Template("t", []evtxtest.Value{{Kind: 0x86, Data: make([]byte, 8_000)}}, func() {
				for range 20 {
					b.Element("a", nil, func() { b.Substitution(0, 0x86, false) })
				}
			})
		}},
		{"values", "a template with 65536 values", func(b *evtxtest.Builder) {
			b.Template("t", nil, func() {})
			le.PutUint32(b.Tail(4), 65536)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, r := read(t, evtxtest.File(evtxtest.Chunk(1, evtxtest.Record{Write: tt.write})))
			if r.BadRecords != 1 || !strings.Contains(r.String(), tt.want) {
				t.Errorf("got %s", r)
			}
		})
	}
}

// A ring is a file of many chunks that are one, with other numbers.
type ring struct {
	header, chunk []byte
	chunks        int64
}

func (r ring) ReadAt(p []byte, at int64) (int, error) {
	n := 0
	for n < len(p) {
		if at < 4096 {
			got := copy(p[n:], r.header[at:])
			n, at = n+got, at+int64(got)
			continue
		}
		number := (at - 4096) / chunk
		if number >= r.chunks {
			return n, io.EOF
		}
		c := bytes.Clone(r.chunk)
		first := uint64(number*40 + 1)
		le.PutUint64(c[24:], first)
		le.PutUint64(c[32:], first+39)
		for i := range 40 {
			le.PutUint64(c[record(c, 0, i)+8:], first+uint64(i))
		}
		evtxtest.Seal(c)
		got := copy(p[n:], c[(at-4096)%chunk:])
		n, at = n+got, at+int64(got)
	}
	return n, nil
}

// stream reads a log of that many chunks and returns the most memory that it took.
func stream(t *testing.T, chunks int64) uint64 {
	t.Helper()
	log := threeChunks()
	src := ring{log[:4096], log[4096 : 4096+chunk], chunks}
	r, err := evtx.NewReader(src, 4096+chunks*chunk)
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	n := 0
	for rec, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if n%100 == 0 {
			if _, err := rec.Event(); err != nil {
				t.Fatal(err)
			}
		}
		if n%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
		}
	}
	if n != int(chunks)*40 || r.Report().Damaged() {
		t.Fatalf("%d records, %s", n, r.Report())
	}
	return most
}

func TestMemoryIsThatOfOneChunk(t *testing.T) {
	if most := stream(t, 1000); most > 2<<20 { // 64 MiB
		t.Errorf("took %d bytes", most)
	}
}

func TestMemoryOfAGigabyte(t *testing.T) {
	testenv.Long(t)
	if most := stream(t, 16_384); most > 8<<20 {
		t.Errorf("took %d bytes", most)
	}
}

func FuzzReader(f *testing.F) {
	samples, err := filepath.Glob(filepath.Join("..", "testdata", "logs", "*.evtx"))
	if err != nil || len(samples) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range samples {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4096+16384)])
	}
	f.Add(evtxtest.Log(evtxtest.Event{Time: when, Provider: "P", Data: []string{"a", "b"}})[:4096+2048])
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := evtx.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := 0
		for rec, err := range r.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > 50 {
				break
			}
			_, _ = rec.System()
			e, _ := rec.Event()
			x := e.XML()
			wellFormed(t, x)
			if len(x) > 32<<20 {
				t.Fatalf("%d bytes of XML", len(x))
			}
		}
		_ = r.Report().String()
	})
}

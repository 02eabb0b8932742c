package journal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/hostlog/journal"
)

// begin is the time of the first entry of written files; one follows each second.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const writer = "/lib/systemd/systemd-journal-remote"

// export returns n entries in the export format of the journal.
func export(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		at := begin.Add(time.Duration(i) * time.Second)
		unit := "nginx"
		if i%3 == 0 {
			unit = "ssh"
		}
		fmt.Fprintf(&b, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%032d\n_MACHINE_ID=%032d\n", at.UnixMicro(), i*1e6, 1, 2)
		fmt.Fprintf(&b, "PRIORITY=%d\n_HOSTNAME=web1\n_SYSTEMD_UNIT=%s.service\n_PID=%d\n", i%8, unit, 100+i%5)
		if i%10 == 0 {
			fmt.Fprintf(&b, "MESSAGE=long line %d %s\n\n", i, strings.Repeat("abcdefgh", 120))
		} else {
			fmt.Fprintf(&b, "MESSAGE=request %d took %d ms\n\n", i, i*7%300)
		}
	}
	return b.Bytes()
}

// write makes a journal file of n entries with the real program.
func write(t testing.TB, n int, compress, compact, keyed bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "system.journal")
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, writer), "--compress="+strconv.FormatBool(compress), "-o", file, "-")
	cmd.Env = append(os.Environ(), "SYSTEMD_JOURNAL_COMPACT="+strconv.FormatBool(compact), "SYSTEMD_JOURNAL_KEYED_HASH="+strconv.FormatBool(keyed))
	cmd.Stdin = bytes.NewReader(export(n))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func open(t testing.TB, file string) *journal.File {
	t.Helper()
	b, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	info, err := b.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := journal.Open(b, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

type prev interface{ Prev() (*journal.Entry, bool) }

func all(c prev) []*journal.Entry {
	var list []*journal.Entry
	for e, ok := c.Prev(); ok; e, ok = c.Prev() {
		list = append(list, e)
	}
	return list
}

// journalctl returns what systemd itself reads, newest first.
func journalctl(t *testing.T, file string, args ...string) []map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.Program(t, "journalctl"), append([]string{"--file", file, "-o", "json", "-r", "--all", "-q"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for line := range bytes.Lines(out) {
		var e map[string]string
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		delete(e, "__CURSOR")
		list = append(list, e)
	}
	return list
}

// asJSON gives entries the form of journalctl.
func asJSON(entries []*journal.Entry) []map[string]string {
	var list []map[string]string
	for _, e := range entries {
		m := map[string]string{
			"__REALTIME_TIMESTAMP": strconv.FormatInt(e.Time.UnixMicro(), 10), "__MONOTONIC_TIMESTAMP": strconv.FormatInt(e.Monotonic.Microseconds(), 10),
			"_BOOT_ID": fmt.Sprintf("%x", e.BootID),
		}
		maps.Copy(m, e.Fields)
		list = append(list, m)
	}
	return list
}

// TestReadsWhatJournalctlReads compares every entry and field with systemd's own reader.
func TestReadsWhatJournalctlReads(t *testing.T) {
	for _, form := range []struct{ compress, compact, keyed bool }{{true, true, true}, {true, false, true}, {true, true, false}, {false, false, false}} {
		t.Run(fmt.Sprintf("%+v", form), func(t *testing.T) {
			file := write(t, 400, form.compress, form.compact, form.keyed)
			f := open(t, file)
			want := journalctl(t, file)
			if len(want) != 400 || f.Info().Compact != form.compact || f.Info().Keyed != form.keyed || f.Info().Entries != 400 {
				t.Fatalf("%d entries, %+v", len(want), f.Info())
			}
			if diff := cmp.Diff(want, asJSON(all(f.Entries()))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(journalctl(t, file, "_SYSTEMD_UNIT=ssh.service"), asJSON(all(f.Matching("_SYSTEMD_UNIT", "ssh.service")))); diff != "" {
				t.Error(diff)
			}
			u := journal.Join(f.Matching("PRIORITY", "2"), f.Matching("PRIORITY", "3"), f.Matching("_PID", "101"), f.Matching("PRIORITY", "99"))
			if diff := cmp.Diff(journalctl(t, file, "PRIORITY=2", "PRIORITY=3", "+", "_PID=101"), asJSON(all(u))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"nginx.service", "ssh.service"}, f.Values("_SYSTEMD_UNIT", 10)); diff != "" {
				t.Error(diff)
			}
			if f.Damage().Any() {
				t.Errorf("damage %+v", f.Damage())
			}
		})
	}
}

func TestSeek(t *testing.T) {
	f := open(t, write(t, 300, true, true, true))
	c := f.Entries()
	for _, second := range []int{0, 1, 150, 298, 299, 4000} {
		c.Seek(begin.Add(time.Duration(second)*time.Second + time.Millisecond))
		e, ok := c.Prev()
		if want := begin.Add(time.Duration(min(second, 299)) * time.Second); !ok || !e.Time.Equal(want) {
			t.Errorf("%d: %v, want %v", second, e, want)
		}
	}
	c.Seek(begin.Add(-time.Second))
	if e, ok := c.Prev(); ok {
		t.Errorf("there is an entry before the first: %v", e.Time)
	}
}

// TestOlderCompression packs the long fields anew, as older journals did: no
// program here writes that any more, but journalctl reads it and is compared with.
func TestOlderCompression(t *testing.T) {
	for _, how := range []struct {
		name               string
		fileFlag, dataFlag byte
		pack               func([]byte) []byte
	}{
		{"LZ4", 2, 2, func(b []byte) []byte {
			out := make([]byte, 8+lz4.CompressBlockBound(len(b)))
			n, err := lz4.CompressBlock(b, out[8:], nil)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			binary.LittleEndian.PutUint64(out, uint64(len(b)))
			return out[:8+n]
		}},
		{"XZ", 1, 1, func(b []byte) []byte {
			var out bytes.Buffer
			w, err := xz.WriterConfig{DictCap: 1 << 20, CheckSum: xz.CRC32}.NewWriter(&out)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(b)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}},
	} {
		t.Run(how.name, func(t *testing.T) {
			file := write(t, 100, false, false, true)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b[12] |= how.fileFlag
			packed := 0
			for at := 0; ; {
				i := bytes.Index(b[at:], []byte("MESSAGE=long line"))
				if i < 0 {
					break
				}
				at += i
				size := int(binary.LittleEndian.Uint64(b[at-56:])) - 64
				out := how.pack(b[at : at+size])
				clear(b[at : at+size])
				copy(b[at:], out)
				b[at-63] |= how.dataFlag
				binary.LittleEndian.PutUint64(b[at-56:], uint64(64+len(out)))
				packed++
				at += size // LZ4 leaves the beginning as it is
			}
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			want := journalctl(t, file)
			if packed != 10 || len(want) != 100 {
				t.Fatal(packed, len(want))
			}
			f := open(t, file)
			if diff := cmp.Diff(want, asJSON(all(f.Entries()))); diff != "" || f.Damage().Any() {
				t.Error(diff, f.Damage())
			}
		})
	}
}

// TestDamage cuts files off and overwrites parts of them: what is left is read,
// and that something is missing is said.
func TestDamage(t *testing.T) {
	file := write(t, 400, true, true, true)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head := binary.LittleEndian.Uint64(whole[88:])
	used := int(binary.LittleEndian.Uint64(whole[136:])) // of the last object
	for name, c := range map[string]struct {
		spoil func(b []byte) []byte
		least int
	}{
		"cut off":             {func(b []byte) []byte { return b[:used-(used-int(head))/40] }, 40},
		"chain of all gone":   {func(b []byte) []byte { binary.LittleEndian.PutUint64(b[176:], 8); return b }, 400},
		"an array destroyed":  {func(b []byte) []byte { clear(b[binary.LittleEndian.Uint64(b[176:]):][:24]); return b }, 400},
		"noise in the middle": {func(b []byte) []byte { copy(b[used-20000:], bytes.Repeat([]byte{0xa5}, 4000)); return b }, 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.spoil(bytes.Clone(whole))
			f, err := journal.Open(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			list := all(f.Entries())
			if len(list) < c.least || len(list) > 400 || !f.Damage().Any() {
				t.Errorf("%d entries, damage %+v", len(list), f.Damage())
			}
			t.Logf("%d entries, damage %+v", len(list), f.Damage())
		})
	}
}

// TestHeaderIsBehind reads entries that were linked up after the header was read.
func TestHeaderIsBehind(t *testing.T) {
	b, err := os.ReadFile(write(t, 400, true, true, true))
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(b[152:], 397)
	f, err := journal.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all(f.Entries())); n != 400 || f.Damage().Any() {
		t.Errorf("%d entries, %+v", n, f.Damage())
	}
}

func TestNoJournal(t *testing.T) {
	newer := make([]byte, 4096)
	copy(newer, "LPKSHHRH")
	newer[12] = 0x80
	for _, b := range [][]byte{nil, []byte("LPKSHHRH"), bytes.Repeat([]byte("x"), 4096)} {
		if _, err := journal.Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, journal.ErrNoJournal) {
			t.Errorf("%.10q: %v", b, err)
		}
	}
	if _, err := journal.Open(bytes.NewReader(newer), 4096); err == nil || !strings.Contains(err.Error(), "newer journal") {
		t.Error(err)
	}
}

// counting counts the bytes that are read.
type counting struct {
	*os.File
	bytes int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(b, at)
	c.bytes += int64(n)
	return n, err
}

// TestReadsLittle reads the newest ten entries of a larger file: how much is read
// does not follow from its size.
func TestReadsLittle(t *testing.T) {
	file, err := os.Open(write(t, 20_000, true, true, true))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{File: file}
	f, err := journal.Open(c, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	chain := f.Entries()
	chain.Seek(begin.Add(15_000 * time.Second))
	for i := range 10 {
		e, ok := chain.Prev()
		if !ok || e.Fields["PRIORITY"] != strconv.Itoa((15_000-i)%8) {
			t.Fatal(i, e)
		}
	}
	if t.Logf("%d of %d bytes were read", c.bytes, info.Size()); c.bytes > 1<<20 {
		t.Errorf("%d bytes were read", c.bytes)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 10
	for _, ok := chain.Prev(); ok; _, ok = chain.Prev() {
		n++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); n != 15_001 || grown > 3<<20 {
		t.Errorf("%d entries, %d bytes are held", n, grown)
	}
	runtime.KeepAlive(chain)
}

// A gap is a file whose hash tables are zeros that are not held: objects behind them
// keep their offsets, and the fuzzer has less to change.
type gap struct {
	head, tail []byte
	at         int64
}

func (g gap) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	if at < int64(len(g.head)) {
		copy(b, g.head[at:])
	}
	if i := at - g.at; i >= 0 && i < int64(len(g.tail)) {
		copy(b, g.tail[i:])
	} else if i < 0 && -i < int64(len(b)) {
		copy(b[-i:], g.tail)
	}
	return len(b), nil
}

func FuzzOpen(f *testing.F) {
	const head = 272
	for _, compact := range []bool{true, false} {
		b, err := os.ReadFile(write(f, 12, true, compact, true))
		if err != nil {
			f.Fatal(err)
		}
		tables := int(binary.LittleEndian.Uint64(b[120:]) + binary.LittleEndian.Uint64(b[128:]))
		if data := int(binary.LittleEndian.Uint64(b[104:]) + binary.LittleEndian.Uint64(b[112:])); data > tables {
			tables = data
		}
		f.Add(b[:head], bytes.TrimRight(b[tables:], "\x00"), int64(tables))
	}
	f.Fuzz(func(_ *testing.T, head, tail []byte, at int64) {
		at = min(max(at, 0), 8<<20)
		j, err := journal.Open(gap{head, tail, at}, at+int64(len(tail)))
		if err != nil {
			return
		}
		for _, c := range []prev{j.Entries(), journal.Join(j.Matching("PRIORITY", "3"), j.Matching("_PID", "101"))} {
			for range 50 { // a small file can have very many entries, each the same
				if _, ok := c.Prev(); !ok {
					break
				}
			}
		}
		j.Entries().Seek(begin)
		j.Values("_PID", 10)
	})
}

// TestBeingWritten reads a file while its writer has it open, and again when there is more.
func TestBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "system.journal")
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, writer), "-o", path, "-")
	input, err := cmd.StdinPipe() // the writer ends with it
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer input.Close()
	entries := bytes.SplitAfter(export(60), []byte("\n\n"))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	written := 0
	for _, n := range []int{7, 60} {
		if _, err := input.Write(bytes.Join(entries[written:n], nil)); err != nil {
			t.Fatal(err)
		}
		written = n
		for end := time.Now().Add(time.Minute); newest(path) != fmt.Sprintf("online request %d", n-1); <-tick.C {
			if time.Now().After(end) {
				t.Fatalf("the newest entry is %q", newest(path))
			}
		}
	}
}

// newest returns the state of a file and the beginning of its newest message.
func newest(path string) string {
	b, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer b.Close()
	info, err := b.Stat()
	if err != nil {
		return err.Error()
	}
	f, err := journal.Open(b, info.Size())
	if err != nil {
		return err.Error()
	}
	e, ok := f.Entries().Prev()
	if !ok || f.Info().State != journal.Online {
		return fmt.Sprint(ok, f.Info().State)
	}
	message, _, _ := strings.Cut(e.Fields["MESSAGE"], " took")
	return "online " + message
}

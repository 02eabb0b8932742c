package plain_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/hostlog/plain"
)

var (
	zone   = time.FixedZone("there", 2*60*60)
	parser = plain.Parser{Zone: zone, Ref: time.Date(2026, 3, 1, 12, 0, 0, 0, zone)}
)

func backward(t testing.TB, p plain.Parser, text string, dated bool) []plain.Record {
	t.Helper()
	var list []plain.Record
	if err := p.Backward(strings.NewReader(text), int64(len(text)), dated, func(r plain.Record) bool {
		list = append(list, r)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func forward(t testing.TB, p plain.Parser, text string) []plain.Record {
	t.Helper()
	var list []plain.Record
	if err := p.Forward(strings.NewReader(text), func(r plain.Record) bool {
		list = append(list, r)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestForms reads one line of each form.
func TestForms(t *testing.T) {
	const u = plain.Unknown
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		line string
		want plain.Record
	}{
		{"Jan  2 03:04:05 web1 sshd[42]: Failed password for bob", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 3, Host: "web1", Program: "sshd", PID: "42", Text: "Failed password for bob"}},
		{"Dec 31 23:59:59 web1 kernel: oops: it: is", plain.Record{Time: at("2025-12-31T23:59:59+02:00"), Level: u, Host: "web1", Program: "kernel", Text: "oops: it: is"}},
		{"Feb 29 10:00:00 h p: x", plain.Record{Time: at("2024-02-29T10:00:00+02:00"), Level: u, Host: "h", Program: "p", Text: "x"}},
		{"<11>Jan  2 03:04:05 web1 app: down", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 3, Host: "web1", Program: "app", Text: "down"}},
		{"<165>1 2025-10-11T22:14:15.003Z host.example evntslog 7 ID47 [x@1 a=\"b\"] An event", plain.Record{Time: at("2025-10-11T22:14:15.003Z"), Level: 5, Host: "host.example", Program: "evntslog", PID: "7", Text: "[x@1 a=\"b\"] An event"}},
		{"<34>1 2025-10-11T22:14:15Z - su - - - \ufeffsu root failed", plain.Record{Time: at("2025-10-11T22:14:15Z"), Level: 2, Program: "su", Text: "su root failed"}},
		{"2026-01-02T03:04:05.123456+01:00 web1 systemd[1]: Started.", plain.Record{Time: at("2026-01-02T03:04:05.123456+01:00"), Level: u, Host: "web1", Program: "systemd", PID: "1", Text: "Started."}},
		{"2026-01-02 03:04:05-08 mac softwareupdated[9]: SUOSU: done", plain.Record{Time: at("2026-01-02T03:04:05-08:00"), Level: u, Host: "mac", Program: "softwareupdated", PID: "9", Text: "SUOSU: done"}},
		{"2026-01-02 03:04:05,678 ERROR [main] c.e.Service - It broke", plain.Record{Time: at("2026-01-02T03:04:05.678+02:00"), Level: 3, Text: "[main] c.e.Service - It broke"}},
		{"2026-01-02 03:04:05 - root - WARNING - low", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 4, Text: "root - WARNING - low"}},
		{"WARN 2026-01-02 03:04:05 slow", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 4, Text: "slow"}},
		{"2026/01/02 03:04:05 [error] 7#7: *1 open() failed", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 3, Text: "7#7: *1 open() failed"}},
		{"[Fri Jan 02 03:04:05.123456 2026] [core:crit] [pid 1:tid 2] AH1: no", plain.Record{Time: at("2026-01-02T03:04:05.123456+02:00"), Level: 2, Text: "[pid 1:tid 2] AH1: no"}},
		{"[2026-01-02 03:04:05] hello", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: u, Text: "hello"}},
		{`10.0.0.1 - bob [02/Jan/2026:03:04:05 +0000] "GET /x HTTP/1.1" 503 12 "-" "curl"`, plain.Record{Time: at("2026-01-02T03:04:05Z"), Level: 3, Text: `10.0.0.1 - bob "GET /x HTTP/1.1" 503 12 "-" "curl"`}},
		{`fd00::1 - - [02/Jan/2026:03:04:05 +0000] "GET /x HTTP/1.1" 200 12`, plain.Record{Time: at("2026-01-02T03:04:05Z"), Level: 6, Text: `fd00::1 - - "GET /x HTTP/1.1" 200 12`}},
		{"E0102 03:04:05.000100    77 main.go:12] cannot", plain.Record{Time: at("2026-01-02T03:04:05.0001+02:00"), Level: 3, PID: "77", Text: "main.go:12] cannot"}},
		{"I20251102 03:04:05.000000 77 main.go:12] yes", plain.Record{Time: at("2025-11-02T03:04:05+02:00"), Level: 6, PID: "77", Text: "main.go:12] yes"}},
		{`{"time":"2026-01-02T03:04:05Z","level":"error","msg":"no","service":"api"}`, plain.Record{Time: at("2026-01-02T03:04:05Z"), Level: 3, Program: "api", Text: "no"}},
		{`{"ts":1767323045.5,"level":50,"message":"x","a":1,"b":2}`, plain.Record{Time: at("2026-01-02T03:04:05.5Z"), Level: 3, Text: `{"ts":1767323045.5,"level":50,"message":"x","a":1,"b":2}`}},
		{`{"log":"hi\n","stream":"stderr","time":"2026-01-02T03:04:05.1Z"}`, plain.Record{Time: at("2026-01-02T03:04:05.1Z"), Level: u, Program: "stderr", Text: "hi"}},
		{`time="2026-01-02T03:04:05Z" level=warning msg="disk \"a\" full"`, plain.Record{Time: at("2026-01-02T03:04:05Z"), Level: 4, Text: `disk "a" full`}},
		{"update-alternatives 2026-01-02 03:04:05: run with --quiet", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: u, Program: "update-alternatives", Text: "run with --quiet"}},
		{"Start-Date: 2026-01-02  03:04:05", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: u, Program: "apt"}},
		{"2026-01-02 03:04:05 install libgpg-error0:amd64 with Timeout=120", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: u, Text: "install libgpg-error0:amd64 with Timeout=120"}},
		{"2026-01-02 03:04:05 it failed. Really", plain.Record{Time: at("2026-01-02T03:04:05+02:00"), Level: 3, Text: "it failed. Really"}},
		{"1767323045.250 12 10.0.0.1 TCP_MISS/200", plain.Record{Time: at("2026-01-02T03:04:05.25Z"), Level: u, Text: "12 10.0.0.1 TCP_MISS/200"}},
		{"type=AVC msg=audit(1767323045.250:7): denied", plain.Record{Time: at("2026-01-02T03:04:05.25Z"), Level: u, Program: "audit", Text: "type=AVC msg=audit(1767323045.250:7): denied"}},
	} {
		for _, list := range [][]plain.Record{backward(t, parser, c.line+"\r\n", true), forward(t, parser, c.line)} {
			if diff := cmp.Diff([]plain.Record{c.want}, list, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
				t.Errorf("%s\n%s", c.line, diff)
			}
		}
	}
}

// TestNoBeginning are lines that begin no entry.
func TestNoBeginning(t *testing.T) {
	for _, line := range []string{
		"", "\tat x.y(Z.java:1)", "Traceback (most recent call last):", "{\"a\": 1}", "{broken", "2026-13-45 99:99:99 x", "Caused by: x",
		"<999>Jan  2 03:04:05 h p: x", "key=value", "0x00000000 1234", "Jan 99 03:04:05 h p: x", "<",
	} {
		if _, dated, text := parser.Sample([]byte(line)); dated || !text {
			t.Errorf("%q begins an entry", line)
		}
	}
	if _, _, text := parser.Sample([]byte("\x00\x01")); text {
		t.Error("zeros are text")
	}
}

// TestStackTraces joins the lines of a trace to the one that they belong to.
func TestStackTraces(t *testing.T) {
	const text = "tail of an entry that was rotated away\n" +
		"2026-01-02 03:04:05 ERROR boom\nTraceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x\n" +
		"2026-01-02 03:04:06 INFO fine\n"
	list := backward(t, parser, text, true)
	if len(list) != 3 || list[0].Text != "fine" || list[1].Level != 3 ||
		list[1].Text != "boom\nTraceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x" || !list[2].Time.IsZero() {
		t.Errorf("%+v", list)
	}
	slices.Reverse(list)
	if diff := cmp.Diff(forward(t, parser, text), list); diff != "" {
		t.Error(diff)
	}
}

// TestYearsGoBack reads several years of lines without one.
func TestYearsGoBack(t *testing.T) {
	var years []int
	for _, r := range backward(t, parser, "Nov  5 00:00:00 h p: x\nJun  5 00:00:00 h p: x\nDec  5 00:00:00 h p: x\nFeb  5 00:00:00 h p: x\n", true) {
		years = append(years, r.Time.Year())
	}
	if diff := cmp.Diff([]int{2026, 2025, 2025, 2024}, years); diff != "" {
		t.Error(diff)
	}
}

func TestUndated(t *testing.T) {
	list := backward(t, parser, "one\n\ntwo failed", false)
	if len(list) != 2 || list[0].Text != "two failed" || list[0].Level != 3 || list[1].Text != "one" || !list[1].Time.Equal(parser.Ref) {
		t.Errorf("%+v", list)
	}
}

// TestLongLines bounds what is kept of a line, and of an entry of very many lines.
func TestLongLines(t *testing.T) {
	long := "2026-01-02 03:04:05 INFO " + strings.Repeat("x", 5<<20) + "\n"
	many := "2026-01-02 03:04:06 INFO first\n" + strings.Repeat("more\n", 100_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lists := [][]plain.Record{backward(t, parser, many+long, true), forward(t, parser, many+long)}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	for _, list := range lists {
		if len(list) != 2 {
			t.Fatal(len(list))
		}
		for _, r := range list {
			if !r.Cut || len(r.Text) > 33<<10 || r.Text[:2] != "fi" && r.Text[:2] != "xx" {
				t.Errorf("%v %d %.10q", r.Cut, len(r.Text), r.Text)
			}
		}
	}
}

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.n += n
	return n, err
}

// TestSeek finds a time in a file by reading little of it.
func TestSeek(t *testing.T) {
	var b bytes.Buffer
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, zone)
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&b, "%s INFO line %d of a file\n", begin.Add(time.Duration(i)*time.Second).Format("2006-01-02 15:04:05"), i)
		if i%100 == 0 {
			b.WriteString("  and more of it\n")
		}
	}
	r := &counting{Reader: bytes.NewReader(b.Bytes())}
	for _, i := range []int{0, 1, 2, 99, 100, 101, 50_000, n - 2, n - 1} {
		r.n = 0
		from := parser.Seek(r, r.Size(), begin.Add(time.Duration(i)*time.Second))
		var got string
		if err := parser.Backward(r, from, true, func(r plain.Record) bool { got = r.Text; return false }); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("line %d of a file", i); !strings.HasPrefix(got, want) || i%100 == 0 && !strings.HasSuffix(got, "more of it") {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
		if r.n > 1<<20 {
			t.Errorf("%d: %d of %d bytes were read", i, r.n, r.Size())
		}
	}
	if from := parser.Seek(r, r.Size(), begin.Add(-time.Second)); from != 0 {
		t.Errorf("before the beginning: %d", from)
	}
}

// FuzzBothWays compares reading from the end with reading from the beginning.
func FuzzBothWays(f *testing.F) {
	f.Add("2026-01-02 03:04:05 ERROR boom\n  at x\n\n2026-01-02 03:04:06 host p[1]: y")
	f.Add("x\nJan  2 03:04:05 h p: x\r\n{\"time\":1767323045}\n<34>1 2025-10-11T22:14:15Z - su - - - x\n")
	f.Add("10.0.0.1 - - [02/Jan/2026:03:04:05 +0000] \"GET /\" 200\nE0102 03:04:05.1 7 a:1] b\nts=1767323045 msg=\"a\\\"")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 || strings.Count(text, "\n") > 150 {
			return
		}
		full := []plain.Record{}
		for _, r := range forward(t, parser, text) {
			full = append(full, plain.Record{Text: r.Text})
		}
		back := []plain.Record{}
		for _, r := range backward(t, parser, text, true) {
			back = append(back, plain.Record{Text: r.Text})
		}
		slices.Reverse(back)
		if len(full) > 0 && full[0].Text == "" || len(back) > 0 && back[0].Text == "" {
			return // an empty line before the first entry is an entry of nothing
		}
		if diff := cmp.Diff(full, back); diff != "" {
			t.Errorf("%q\n%s", text, diff)
		}
		size := int64(len(text))
		if from := parser.Seek(strings.NewReader(text), size, parser.Ref); from < 0 || from > size {
			t.Error(from)
		}
	})
}

package logs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/docker/logs"
)

func frame(stream byte, text string) string {
	b := make([]byte, 8, 8+len(text))
	b[0] = stream
	binary.BigEndian.PutUint32(b[4:], uint32(len(text)))
	return string(append(b, text...))
}

func all(r io.Reader, raw bool) (lines []logs.Line, err error) {
	err = logs.Read(r, raw, func(l logs.Line) bool {
		lines = append(lines, l)
		return true
	})
	return lines, err
}

func TestFrames(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	const stamp = "2026-01-02T03:04:05.000006Z "
	in := frame(1, stamp+"one\n"+stamp+"tw") + frame(2, stamp+"err\r\n") + frame(1, "o\n") + frame(1, "") + frame(0, stamp+"echo\n") + frame(2, stamp+"no end")
	want := []logs.Line{
		{Time: at, Stream: logs.Stdout, Text: "one"},
		{Time: at, Stream: logs.Stderr, Text: "err"},
		{Time: at, Stream: logs.Stdout, Text: "two"},
		{Time: at, Stream: logs.Stdout, Text: "echo"},
		{Time: at, Stream: logs.Stderr, Text: "no end"},
	}
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(in), "in bytes": iotest.OneByteReader(strings.NewReader(in))} {
		got, err := all(r, false)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	n := 0
	if err := logs.Read(strings.NewReader(in), false, func(logs.Line) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d lines after the second was the last wanted, %v", n, err)
	}
}

func TestTerminal(t *testing.T) {
	got, err := all(strings.NewReader("2026-01-02T03:04:05Z \x1b[1;31mred\x1b[0m\x1b]0;title\x07 \x1bM\x1b\r\n10%\r20%\nnot \x00 \u202e\tplain \xff ⚠\ufe0f\u3164a\U000e0101\n\x1b["), true)
	var texts []string
	for _, l := range got {
		texts = append(texts, l.Text)
		if l.Stream != logs.Terminal {
			t.Errorf("%+v", l)
		}
	}
	if diff := cmp.Diff([]string{"red ", "20%", "not ? ?\tplain ? ⚠?a", ""}, texts); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestBadStreams(t *testing.T) {
	lost := errors.New("lost")
	for name, test := range map[string]struct {
		in   io.Reader
		want error
		text string
	}{
		"header cut":   {strings.NewReader(frame(1, "a\n") + "\x01\x00"), logs.ErrCut, ""},
		"frame cut":    {strings.NewReader(frame(1, "abc\n")[:10]), logs.ErrCut, ""},
		"no frame":     {strings.NewReader("hello world"), logs.ErrFrame, ""},
		"another type": {strings.NewReader(frame(9, "a")), logs.ErrFrame, ""},
		"lost":         {io.MultiReader(strings.NewReader(frame(1, "a\n")), iotest.ErrReader(lost)), lost, ""},
		"said":         {strings.NewReader(frame(3, "it \x1b[1mbroke\n")), nil, "the engine says: it broke"},
	} {
		_, err := all(test.in, false)
		if test.want != nil && !errors.Is(err, test.want) || test.text != "" && (err == nil || !strings.HasPrefix(err.Error(), test.text)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	got, err := all(io.LimitReader(&endless{}, 64<<20), true)
	if err != nil || len(got) != 1 || len(got[0].Text) != logs.MaxLine || !got[0].Cut {
		t.Errorf("%d lines, %v", len(got), err)
	}
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLevels(t *testing.T) {
	for line, want := range map[string]logs.Level{
		`{"time":"x","level":"error","msg":"INFO"}`:           logs.Error,
		`{"level":50,"msg":"pino"}`:                           logs.Error,
		`{"level":30,"msg":"error"}`:                          logs.Info,
		`{"severity": "WARNING"}`:                             logs.Warn,
		`ts=1 level=debug msg="ERROR"`:                        logs.Debug,
		`lvl=warn x`:                                          logs.Warn,
		`2026/01/02 03:04:05 [error] 12#12: connect() failed`: logs.Error,
		`2026-01-02 03:04:05,1 WARN [main] o.e.Thing - slow`:  logs.Warn,
		`[ INFO ] up`:                                         logs.Info,
		`<notice> up`:                                         logs.Info,
		`error: no such file`:                                 logs.Error,
		`Warning: it is late`:                                 logs.Warn,
		`2026-01-02 UTC [1] FATAL:  role "x" does not exist`:  logs.Error,
		`E0102 15:04:05.000000 1 a.go:1] failed`:              logs.Error,
		`W0102 15:04:05.000000 1 a.go:1] late`:                logs.Warn,
		`Traceback (most recent call last):`:                  logs.Error,
		`java.lang.IllegalStateException: no`:                 logs.Error,
		`panic: runtime error`:                                logs.Error,
		`goroutine 1 [running]:`:                              logs.Error,
		`10.0.0.1 - - "GET /errors?level=high HTTP/1.1" 200`:  logs.Unknown,
		`no error was found`:                                  logs.Unknown,
		`MY_ERROR is a name, ERROR1 too`:                      logs.Unknown,
		`_ERROR and 1ERROR`:                                   logs.Unknown,
		`the information: none`:                               logs.Info,
		`levels are fine`:                                     logs.Unknown,
		``:                                                    logs.Unknown,
		strings.Repeat("x", 400) + " ERROR":                   logs.Unknown,
		strings.Repeat("é ", 200) + " ERROR":                  logs.Unknown,
		`level`:                                               logs.Unknown,
		`level=`:                                              logs.Unknown,
		`level=1`:                                             logs.Unknown,
		`level=300`:                                           logs.Unknown,
		`time="2026-01-02T03:04:05Z" level=info msg="Error: thing"`: logs.Info,
	} {
		if got := logs.LevelOf(line); got != want {
			t.Errorf("%.80q: %v, want %v", line, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { logs.LevelOf(`2026-01-02 03:04:05 some words and an ERROR in between`) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for _, l := range []logs.Level{logs.Debug, logs.Info, logs.Warn, logs.Error} {
		if got, ok := logs.ParseLevel(strings.ToUpper(l.String())); !ok || got != l {
			t.Errorf("%v is read as %v", l, got)
		}
	}
	for line, want := range map[string]bool{"": true, "\tat a.B": true, "  x": true, "Caused by: y": true, "next": false, "}": true} {
		if logs.Continues(line) != want {
			t.Errorf("%q", line)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(frame(1, "2026-01-02T03:04:05Z a\n")+frame(2, "b")), false)
	f.Add([]byte("2026-01-02T03:04:05Z \x1b[31ma\r\nb"), true)
	f.Fuzz(func(t *testing.T, in []byte, raw bool) {
		lines, err := all(bytes.NewReader(in), raw)
		again, err2 := all(iotest.OneByteReader(bytes.NewReader(in)), raw)
		if diff := cmp.Diff(lines, again); diff != "" || (err == nil) != (err2 == nil) {
			t.Errorf("in bytes it is another: %v, %v\n%s", err, err2, diff)
		}
		for _, l := range lines {
			if len(l.Text) > logs.MaxLine*3 || strings.ContainsAny(l.Text, "\n\r\x1b\x00") {
				t.Errorf("%q", l.Text)
			}
			_ = logs.LevelOf(l.Text)
		}
	})
}

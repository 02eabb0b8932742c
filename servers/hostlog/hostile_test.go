package hostlog_test

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"
)

// holed writes a file that begins with some bytes and is mostly a hole.
func holed(t *testing.T, dir, name, begin string, size int64) {
	t.Helper()
	path := write(t, dir, name, begin, now)
	if err := os.Truncate(path, size); err != nil {
		t.Skip("no files with holes here:", err)
	}
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
}

func header(entries uint64) string {
	h := make([]byte, 272)
	copy(h, "LPKSHHRH")
	binary.LittleEndian.PutUint64(h[88:], 272)
	binary.LittleEndian.PutUint64(h[152:], entries)
	h[16] = 1
	return string(h)
}

// TestHoles ends soon at files that say that they are huge.
func TestHoles(t *testing.T) {
	for _, size := range []int64{2 << 40} {
		dir := t.TempDir()
		holed(t, dir, "sparse.log", strings.Repeat("2026-03-01T11:59:00Z h app: begin\n", 3000), size)
		holed(t, dir, "x.journal", header(5), size)
		write(t, dir, "good.log", "2026-03-01T11:59:30Z h app: good\n", now)
		cs := connectWithin(t, time.Minute, dir)
		begin := time.Now()
		_, out := call[hits](t, cs, "query_host_log", nil)
		_, all := call[hits](t, cs, "query_host_log", map[string]any{"source": "all"})
		text, _ := call[hits](t, cs, "query_host_log", map[string]any{"source": "sparse.log"})
		call[map[string]any](t, cs, "list_log_sources", nil)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%d bytes took %s", size, took)
		}
		if !strings.Contains(strings.Join(append(out.messages(), all.messages()...), "\n"), "good") {
			t.Errorf("%+v and %+v", out, all)
		}
		if !strings.Contains(text, "no line ends within 16 MiB") {
			t.Error(text)
		}
	}
}

// TestGuessing finds no secret by asking for its letters.
func TestGuessing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app.log", "2026-03-01T11:59:00Z h app: login password=Kremlin9 of alice\n2026-03-01T11:59:10Z h app: password\x1b[1m=Kremlin9\n", now)
	cs := connect(t, dir)
	for _, ask := range []map[string]any{
		{"grep": `password=(K|•••)`}, {"grep": `password=(X|•••)`},
	} {
		if _, out := call[hits](t, cs, "query_host_log", ask); len(out.Entries) != 2 {
			t.Errorf("%v finds %q", ask, out.messages())
		}
	}
	for _, ask := range []map[string]any{
		{"grep": `password=(K|•••x)`}, {"grep": "Kremlin"}, {"text": "kremlin"}, {"grep": `^login password=K|nothing`}, {"grep": `word.*m9`},
	} {
		if _, out := call[hits](t, cs, "query_host_log", ask); len(out.Entries) != 0 {
			t.Errorf("%v finds %q", ask, out.messages())
		}
		if _, out := call[struct{ Total int }](t, cs, "log_statistics", ask); out.Total != 0 {
			t.Errorf("%v counts %d", ask, out.Total)
		}
	}
	if _, out := call[hits](t, cs, "query_host_log", map[string]any{"text": "of alice"}); len(out.Entries) != 1 {
		t.Errorf("a text beside a secret finds %q", out.messages())
	}
}

// TestCostly refuses expressions that cost too much, and ends in time with the others.
func TestCostly(t *testing.T) {
	dir := t.TempDir()
	line := "2026-03-01T11:59:00Z h app: " + strings.Repeat("ab", 15_000) + "\n"
	write(t, dir, "r.log", strings.Repeat(line, 300), now)
	cs := connectWithin(t, time.Second, dir)
	for _, grep := range []string{"(a?b?){1000}", "((a{0,30}){30})*$", `(.{0,500}){1,2}x`} {
		if text := refused(t, cs, "query_host_log", map[string]any{"grep": grep}); !strings.Contains(text, "grep is") {
			t.Errorf("%s: %s", grep, text)
		}
	}
	begin := time.Now()
	text, _ := call[hits](t, cs, "query_host_log", map[string]any{"grep": "(x+x+)+y|(a?b?){0,100}z", "last_minutes": 600})
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %s: %s", took, text)
	}
}

// TestLiterals finds the same with an expression, however it is written.
func TestLiterals(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app.log", "2026-03-01T11:59:00Z h app: one OOM killed\n2026-03-01T11:59:10Z h app: two oom token=not-a-real-key\n", now)
	cs := connect(t, dir)
	for grep, want := range map[string]int{
		"OOM.*killed": 1, "(?i)oom": 2, "oom|killed": 2, "(oom)?one": 1, "(?:oom )+token": 1, "x{0,3}two": 1, "x{1,3}two": 0, "(two|one) (?i:oom)": 2, "^one": 1, "token=•••": 1, "token=(not)?": 1, "no[t]-a": 0, "": 2,
	} {
		if _, out := call[hits](t, cs, "query_host_log", map[string]any{"grep": grep}); len(out.Entries) != want {
			t.Errorf("%q finds %q, want %d", grep, out.messages(), want)
		}
	}
}

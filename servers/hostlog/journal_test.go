package hostlog_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// journals unpacks two journals that systemd-journal-remote 252 wrote: of a system,
// compact, with a service that is killed, and of a user, in the older form.
func journals(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"system.journal", "user-1000.journal"} {
		packed, err := os.Open(filepath.Join("testdata", name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		r, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "journal", "fedcba9876543210fedcba9876543210", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, r); err != nil {
			t.Fatal(err)
		}
		if err := errorsOf(out.Close(), os.Chtimes(path, now, now)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestJournal(t *testing.T) {
	dir := journals(t)
	write(t, dir, "app.log", "2026-03-01 11:59:30 ERROR not of the journal\n", now)
	cs := connect(t, dir)

	// Both files, merged by time, and no other log.
	text, out := call[hits](t, cs, "query_host_log", map[string]any{"max_count": 200})
	if len(out.Entries) != 48 || out.Source != "journal" || len(out.Notes) > 0 {
		t.Fatalf("%d entries, %+v", len(out.Entries), out.Notes)
	}
	for i, e := range out.Entries[1:] {
		if e.Time > out.Entries[i].Time {
			t.Errorf("%s is behind %s", e.Time, out.Entries[i].Time)
		}
	}
	if strings.Contains(text, "not-a-real-key") || !strings.Contains(text, "password=•••") {
		t.Error("the secret is not masked")
	}
	if e := out.Entries[0]; e.Unit != "user@1000.service" || e.Program != "sync" || e.Level != "info" || e.Host != "web1" || e.PID != "900" || e.Time != "2026-03-01T11:57:45.000Z" {
		t.Errorf("%+v", e)
	}

	// What the manager says of a unit belongs to it.
	for _, unit := range []string{"shop", "shop.service", "SHOP.service"} {
		_, out = call[hits](t, cs, "query_host_log", map[string]any{"unit": unit, "level": "warning", "max_count": 3})
		if len(out.Entries) != 3 || out.Entries[0].Program != "systemd" || out.Entries[1].Level != "error" || !out.More {
			t.Errorf("%s: %+v", unit, out)
		}
	}
	_, out = call[hits](t, cs, "query_host_log", map[string]any{"level": "error", "max_count": 50})
	if len(out.Entries) != 6 {
		t.Errorf("%d errors", len(out.Entries))
	}
	_, out = call[hits](t, cs, "query_host_log", map[string]any{"start": "2026-03-01 11:50:20", "end": "2026-03-01 11:50:45"})
	if diff := cmp.Diff([]string{"synced 6 files in 22 ms", "order 34 took 14 ms", "synced 3 files in 11 ms", "order 17 took 7 ms"}, out.messages()); diff != "" {
		t.Error(diff)
	}
	_, out = call[hits](t, cs, "query_host_log", map[string]any{"grep": "KILL", "context": 1, "max_count": 1})
	if len(out.Entries) != 1 || len(out.Entries[0].Before) != 1 || !strings.Contains(out.Entries[0].Before[0], "order 374 took") {
		t.Errorf("%+v", out.Entries)
	}
	_, out = call[hits](t, cs, "query_host_log", map[string]any{"source": "journal/fedcba9876543210fedcba9876543210/user-1000.journal", "max_count": 99})
	if len(out.Entries) != 24 {
		t.Errorf("%d entries of the user", len(out.Entries))
	}
	if _, out = call[hits](t, cs, "query_host_log", map[string]any{"source": "all"}); out.Entries[0].Message != "not of the journal" {
		t.Errorf("%+v", out.Entries[0])
	}
	_, found := call[patterns](t, cs, "log_patterns", nil)
	if found.Total != 48 || found.Found > 5 {
		t.Errorf("%+v", found)
	}
	for _, tt := range []struct { // what is not there is told from what is not found
		unit, text, start, end, want string
	}{
		{unit: "shpo", want: "None of them was written by shpo. Units and programs there: shop.service, and 2 more."},
		{unit: "zzz", want: "Units and programs there: init.scope, shop.service, user@1000.service."},
		{unit: "shop", text: "zzz", want: "Try without one of the filters"},
		{start: "2030-01-01", end: "2030-01-02", want: "What there is ends at 2026-03-01T"},
		{start: "2020-01-01", end: "2020-01-02", want: "What there is begins at 2026-0"},
	} {
		scope := map[string]any{"unit": tt.unit, "text": tt.text, "start": tt.start, "end": tt.end}
		if text, _ := call[hits](t, cs, "query_host_log", scope); !strings.Contains(text, tt.want) {
			t.Errorf("%v: %s", scope, text)
		}
	}
	text, sources := call[struct{ Sources []sourceValue }](t, cs, "list_log_sources", nil)
	i := slices.IndexFunc(sources.Sources, func(s sourceValue) bool { return s.Kind == "journal" })
	if i < 0 {
		t.Fatal(text)
	}
	s := sources.Sources[i]
	if diff := cmp.Diff([]string{"init.scope", "shop.service", "user@1000.service"}, s.Units); diff != "" || s.Files != 2 {
		t.Error(diff, s)
	}
}

// TestCutOffJournal reads what is left of a file, and says that it is damaged.
func TestCutOffJournal(t *testing.T) {
	dir := journals(t)
	path := filepath.Join(dir, "journal", "fedcba9876543210fedcba9876543210", "system.journal")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(strings.TrimRight(string(b), "\x00"))
	if err := errorsOf(os.Truncate(path, int64(end-2000)), os.Chtimes(path, now, now)); err != nil {
		t.Fatal(err)
	}
	_, out := call[hits](t, connect(t, dir), "query_host_log", map[string]any{"max_count": 200})
	if len(out.Entries) < 30 || len(out.Entries) > 47 || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "is damaged") {
		t.Errorf("%d entries, %v", len(out.Entries), out.Notes)
	}
}

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/alive"
	"github.com/tenon-mcp/tenon/internal/store"
	"github.com/tenon-mcp/tenon/tool"
)

// beginner begins a call as a process of its own, says so, and waits to be killed.
func beginner(url, dir string) {
	s, err := store.New(tickContext{}, store.Options{URL: url, Dir: dir, Eager: os.Getenv("STORE_TEST_EAGER") != ""})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := range 2 {
		p, err := s.Reserve(tickContext{}, time.Minute)
		if err == nil {
			f := finished(i)
			f.Result = nil
			err = s.Begin(tickContext{}, p, f)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if i == 0 {
			s.Add(p, finished(i))
		}
	}
	_ = s.Flush(tickContext{})
	fmt.Println("begun")
	select {}
}

// begun returns a process that is a beginner and has said so.
func begun(t *testing.T, url, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	said := run(t, cmd, append(env, "STORE_TEST_CHILD="+url, "STORE_TEST_DIR="+dir)...)
	if !said.Scan() || said.Text() != "begun" {
		t.Fatal(said.Text())
	}
	return cmd
}

// Who verifies before anybody writes is told of the process that was killed and of the
// call that it had begun, and changes nothing.
func TestVerifyTellsOfTheDead(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		cmd := begun(t, url, dir)
		verify := func() store.Verification {
			t.Helper()
			s := open(t, store.Options{URL: url, Dir: dir})
			v, err := s.Verify(t.Context(), "")
			if err := errors.Join(err, s.Close()); err != nil || len(v.Faults) > 0 {
				t.Fatalf("%+v %v", v, err)
			}
			return v
		}
		before := verify()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for range 2 {
			if v := verify(); before.Dead != 0 || v.Dead != 1 || v.Open != 1 || v.Head != before.Head || v.Gaps != 0 {
				t.Errorf("%+v, before the kill %+v", v, before)
			}
		}
	})
}

// A call that was begun is known when its process is killed at once afterwards; the
// next writer says that nobody knows how it ended, once.
func TestBegunCallsOfTheDead(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for _, eager := range []string{"", "1"} {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				url, dir := d.fresh(t)
				cmd := begun(t, url, dir, "STORE_TEST_EAGER="+eager)
				beside := open(t, store.Options{URL: url, Dir: dir})
				if eager == "" {
					page, err := beside.Calls(t.Context(), store.Filter{Running: true})
					if err != nil || len(page.Calls) != 1 || page.Calls[0].ID != "c_000001" || page.Calls[0].Type != store.TypeBegun {
						t.Errorf("running: %v %v", page.Calls, err)
					}
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				await(t, func() bool {
					page, err := beside.Calls(t.Context(), store.Filter{})
					return err == nil && len(page.Calls) == 2 && page.Calls[0].Kind == tool.OutcomeUnknown
				})
				if err := beside.Close(); err != nil {
					t.Fatal(err)
				}
				s := open(t, store.Options{URL: url, Dir: dir, Eager: true})
				row, ok, err := s.Call(t.Context(), "c_000001")
				if err != nil || !ok || row.Kind != tool.OutcomeUnknown || string(row.Arguments) == "" || len(row.Notes) == 0 {
					t.Errorf("%+v %v %v", row, ok, err)
				}
				if row, _, err := s.Call(t.Context(), "c_000000"); err != nil || row.Kind != "" || row.Type != store.TypeCall {
					t.Errorf("a call that ended: %+v %v", row, err)
				}
				v, err := s.Verify(t.Context(), "")
				if err != nil || len(v.Faults) > 0 || v.Rows != 5 || v.Gaps != 1 {
					t.Errorf("%+v %v, want 2 beginnings, 2 ends and a gap", v, err)
				}
			})
		}
	})
}

// What has begun and ended in order leaves nothing to close, and no file.
func TestBegunAndEnded(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir, Eager: true})
		p, err := s.Reserve(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Begin(t.Context(), p, finished(1)); err != nil {
			t.Fatal(err)
		}
		s.Add(p, finished(1))
		if n := s.Status().Queued; n > 1 {
			t.Errorf("%d places for one call", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.run")); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
		s = open(t, store.Options{URL: url, Dir: dir, Eager: true})
		if page, err := s.Calls(t.Context(), store.Filter{}); err != nil || len(page.Calls) != 1 || page.Calls[0].Kind != "" {
			t.Errorf("%+v %v", page, err)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 || v.Rows != 2 || v.Gaps != 0 {
			t.Errorf("%+v %v", v, err)
		}
	})
}

// While nothing can be written, a call that may write goes on or does not, as the
// options say.
func TestBeginWithoutDatabase(t *testing.T) {
	for _, stops := range []bool{false, true} {
		dir := t.TempDir()
		block(t, filepath.Join(dir, "deep"))
		s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "deep", "record.db"), StopGone: stops, Eager: true})
		p, err := s.Reserve(t.Context(), time.Minute)
		if err == nil {
			err = s.Begin(t.Context(), p, finished(1))
			s.Add(p, finished(1))
		}
		if stops != (tool.KindOf(err) == tool.Unavailable) || !stops && err != nil {
			t.Errorf("stops: %v, error %v", stops, err)
		}
	}
}

// Calls that could be written nowhere when their gateway ended are a gap.
func TestLostAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record.db")
	s := open(t, store.Options{URL: "sqlite:" + path, Eager: true})
	addMany(t, s, 1)
	for _, name := range []string{"record.db", "record.db.spool"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "kept-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	block(t, path+".spool")
	for i := range 3 {
		add(t, s, finished(10+i))
	}
	await(t, func() bool { return s.Status().Gone != "" })
	if n, err := os.ReadFile(theRun(t, dir)); err != nil || !strings.Contains(string(n), `"waiting":3`) {
		t.Errorf("others read %q, %v", n, err)
	}
	_ = s.Close() // it could not write
	for _, name := range []string{"record.db", "record.db.spool"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "kept-"+name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, store.Options{URL: "sqlite:" + path, Eager: true})
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 || v.Unrecorded != 3 {
		t.Errorf("%+v %v, want a gap of 3", v, err)
	}
}

// Who only looks knows what a process that runs cannot write.
func TestWhatOthersCannotWrite(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir, Eager: true})
		addMany(t, s, 1)
		if v, err := s.Verify(t.Context(), ""); err != nil || v.Waiting != 0 || v.Gone != "" || s.Status().Gone != "" {
			t.Errorf("%+v %v", v, err)
		}
		other, err := alive.New(filepath.Dir(theRun(t, dir)))
		if err == nil {
			err = other.Note(map[string]any{"waiting": 42, "gone": "the disk is full"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || v.Waiting != 42 || v.Gone != "the disk is full" {
			t.Errorf("%+v %v", v, err)
		}
		if st := s.Status(); st.Gone != "the disk is full" || st.Queued != 42 {
			t.Errorf("%+v", st)
		}
		if err := other.Remove(); err != nil {
			t.Fatal(err)
		}
	})
}

func theRun(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*.run"))
	if more, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.run")); err == nil {
		all = append(all, more...)
	}
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// The head beside a database that is gone, or is shorter, is not written over
// without a word.
func TestRecordThatWasTakenAway(t *testing.T) {
	gone := func(t *testing.T, d dialect, url string) {
		if d.name == "postgres" {
			rawExec(t, d, url, "DELETE FROM record")
			rawExec(t, d, url, "UPDATE record_head SET seq = 0, kept = 0, bytes = 0, hash = ''")
			return
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(d.dsn(url) + end); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		addMany(t, s, 3)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		heads, err := filepath.Glob(filepath.Join(dir, "*.head"))
		if more, _ := filepath.Glob(filepath.Join(dir, "*", "*.head")); err == nil {
			heads = append(heads, more...)
		}
		if err != nil || len(heads) != 1 {
			t.Fatal(heads, err)
		}
		before, err := os.ReadFile(heads[0])
		if err != nil {
			t.Fatal(err)
		}
		gone(t, d, url)
		for range 2 { // it is found again and again
			s = open(t, store.Options{URL: url, Dir: dir})
			if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) == 0 {
				t.Errorf("nothing found: %+v %v", v, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(d.dsn(url)); d.name == "sqlite" && err == nil {
				t.Error("the database was made anew by who only looked")
			}
			if now, err := os.ReadFile(heads[0]); err != nil || string(now) != string(before) {
				t.Errorf("the head became %s, %v", now, err)
			}
		}
		// Who writes on says so in the record itself.
		s = open(t, store.Options{URL: url, Dir: dir, Eager: true})
		for i := range 5 {
			add(t, s, finished(50+i))
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := s.Verify(t.Context(), "")
		if err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0].Text, "row 3") {
			t.Errorf("%+v %v", v, err)
		}
		// Retention does not take that away.
		if _, err := s.Prune(t.Context(), store.Bounds{MaxRows: 2}); err != nil {
			t.Fatal(err)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) == 0 {
			t.Errorf("%+v %v", v, err)
		}
	})
}

// A database that vanishes while it is written is noticed.
func TestVanishedWhileInUse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record.db")
	var log strings.Builder
	s := open(t, store.Options{URL: "sqlite:" + path, Eager: true, Logger: slog.New(slog.NewTextHandler(&locked{w: &log}, nil))})
	addMany(t, s, 3)
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
	add(t, s, finished(9))
	if page, err := s.Calls(t.Context(), store.Filter{}); err != nil || len(page.Calls) != 1 {
		t.Errorf("%+v %v", page, err)
	}
	if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) != 1 {
		t.Errorf("%+v %v", v, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "the file of the record is gone") {
		t.Error(log.String())
	}
}

// The rows of the chain say what is shown of an approval, and what may run on it.
func TestApprovalsThatWereChanged(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		now := time.Now().Truncate(time.Microsecond)
		tests := map[string]struct {
			query string
			seen  bool // it is shown, as it was
		}{
			"another argument": {"UPDATE approvals SET body = REPLACE(body, 'good', 'harmless')", true},
			"approved by ann":  {"UPDATE approvals SET status = 'approved', body = REPLACE(body, '\"cancelled\"', '\"approved\"')", true},
			"another end":      {"UPDATE approvals SET expires_at = expires_at + 1000000", true},
			"taken out":        {"DELETE FROM approvals", false},
			"put in":           {"INSERT INTO approvals SELECT 'apv_9', status, created_at, expires_at, REPLACE(body, 'apv_1', 'apv_9') FROM approvals", true},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				url, dir := d.fresh(t)
				s := open(t, store.Options{URL: url, Dir: dir})
				all := store.Approvals{Store: s}
				a := tool.Approval{
					ID: "apv_1", Status: tool.ApprovalPending, CallID: "c_1", Server: "files", Tool: "remove", Scope: tool.ScopeOnce,
					Arguments: json.RawMessage(`{"name":"good"}`), Hash: "00", CreatedAt: now, ExpiresAt: now.Add(time.Minute),
				}
				if err := all.InsertApproval(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				a.Status = tool.ApprovalCanceled
				if ok, err := all.SettleApproval(t.Context(), a); err != nil || !ok {
					t.Fatal(ok, err)
				}
				if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 {
					t.Fatalf("%+v %v", v, err)
				}
				rawExec(t, d, url, tt.query)
				v, err := s.Verify(t.Context(), "")
				if err != nil || len(v.Faults) == 0 || !strings.Contains(v.Faults[0].Text, "table of approvals") {
					t.Errorf("%+v %v", v, err)
				}
				shown, err := all.Approvals(t.Context(), 10)
				if err != nil || len(shown) > 1 || tt.seen != (len(shown) == 1) {
					t.Fatalf("%+v %v", shown, err)
				}
				if tt.seen && (string(shown[0].Arguments) != string(a.Arguments) || shown[0].Status != tool.ApprovalCanceled) {
					t.Errorf("shown is %+v", shown[0])
				}
				if open, err := all.OpenApprovals(t.Context(), now); err != nil || len(open) > 0 {
					t.Errorf("open are %+v, %v", open, err)
				}
				if used, err := all.UseApproval(t.Context(), "apv_1", "c_2"); used {
					t.Errorf("a call may run on it: %v", err)
				}
			})
		}
	})
}

// What is done with an approval that was changed does not hide that it was.
func TestChangedApprovalIsRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		now := time.Now().Truncate(time.Microsecond)
		a := tool.Approval{ID: "apv_1", Status: tool.ApprovalPending, Arguments: json.RawMessage(`{"name":"good"}`), CreatedAt: now, ExpiresAt: now.Add(time.Minute)}
		if err := (store.Approvals{Store: s}).InsertApproval(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		rawExec(t, d, url, "UPDATE approvals SET body = REPLACE(body, 'good', 'harmless')")
		a.Status = tool.ApprovalDenied
		if ok, err := (store.Approvals{Store: s}).SettleApproval(t.Context(), a); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0].Text, "apv_1") {
			t.Errorf("%+v %v", v, err)
		}
	})
}

// Rows that were changed and then leave are known to have been changed.
func TestPruneRemembersFaults(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for name, query := range map[string]string{
			"an edit": "UPDATE record SET body = REPLACE(body, 'a.txt', 'b.txt') WHERE seq = 2",
			"a hole":  "DELETE FROM record WHERE seq = 2",
		} {
			t.Run(name, func(t *testing.T) {
				url, dir := d.fresh(t)
				s := open(t, store.Options{URL: url, Dir: dir})
				addMany(t, s, 10)
				rawExec(t, d, url, query)
				for i := range 3 { // the row that says so leaves too
					if _, err := s.Prune(t.Context(), store.Bounds{MaxRows: 3}); err != nil {
						t.Fatal(err)
					}
					v, err := s.Verify(t.Context(), "")
					if err != nil || len(v.Faults) == 0 {
						t.Errorf("after %d: %+v %v", i, v, err)
					}
					for j := range 3 {
						add(t, s, finished(100*i+j+50))
					}
				}
			})
		}
	})
}

// The beginning of a call comes before its end in the record, also where a process that
// had not needed the database yet left the first and wrote the second.
func TestBeginningComesFirst(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		for i := range 2 {
			p, err := s.Reserve(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Begin(t.Context(), p, finished(i)); err != nil {
				t.Fatal(err)
			}
			s.Add(p, finished(i))
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		if err := s.Export(t.Context(), time.Time{}, func(r store.Row) error {
			got = append(got, r.Type+" "+r.ID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"begun c_000000", "call c_000000", "begun c_000001", "call c_000001"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

package store_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/store"
)

// child adds calls without an end, as a process of its own, and says which, and how many
// are written.
func child(url string) {
	s, err := store.New(tickContext{}, store.Options{URL: url})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	every, err := time.ParseDuration(cmp.Or(os.Getenv("STORE_TEST_EVERY"), "1ms"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	tick := time.NewTicker(every)
	for i := 0; ; i++ {
		p, err := s.Reserve(tickContext{}, time.Minute)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s.Add(p, finished(i))
		st := s.Status()
		fmt.Fprintln(out, i, time.Now().UnixMilli(), st.Written, st.Gone != "")
		out.Flush()
		<-tick.C
	}
}

// tickContext never ends.
type tickContext struct{}

func (tickContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (tickContext) Done() <-chan struct{}       { return nil }
func (tickContext) Err() error                  { return nil }
func (tickContext) Value(any) any               { return nil }

// run starts this test as another process, which the environment tells what to do, and
// returns what that says.
func run(t *testing.T, cmd *exec.Cmd, env ...string) *bufio.Scanner {
	t.Helper()
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(stdout)
}

// A process that is killed loses at most its last second, once it has its database, and
// nothing is broken. The second is that of the best of three, since others work on this
// machine.
func TestKilledWriter(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		var lost [3]int64 // milliseconds
		t.Cleanup(func() {
			if least := slices.Min(lost[:]); least > 1000 {
				t.Errorf("what is lost reaches back %d ms, and in no round less: %v", least, lost)
			}
		})
		for round := range lost {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				url, _ := d.fresh(t)
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				said := run(t, cmd, "STORE_TEST_CHILD="+url, "STORE_TEST_EVERY=10ms") // no more than any machine can write
				at := map[int]int64{}
				last, first := -1, -1 // call, and call when some were written
				for said.Scan() {
					parts := strings.Fields(said.Text())
					if len(parts) != 4 {
						t.Fatal(said.Text())
					}
					last, _ = strconv.Atoi(parts[0])
					at[last], _ = strconv.ParseInt(parts[1], 10, 64)
					if first < 0 && parts[2] != "0" {
						first = last
					}
					if first >= 0 && last == first+120+13*round {
						_ = cmd.Process.Kill()
					}
				}
				_ = cmd.Wait()
				killed := at[last]
				s := open(t, store.Options{URL: url})
				v, err := s.Verify(t.Context(), "")
				if err != nil || len(v.Faults) > 0 {
					t.Fatalf("%v %+v", err, v)
				}
				if next := int(v.Rows); next <= last {
					lost[round] = killed - at[next]
				}
				add(t, s, finished(99_999)) // it goes on
				if v, err = s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 {
					t.Fatalf("%v %+v", err, v)
				}
			})
		}
	})
}

// A disk that is full: the size of files is limited for the process.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the limit is one of Unix")
	}
	path := filepath.Join(t.TempDir(), "record.db")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 2000; exec "$0"`, os.Args[0])
	said := run(t, cmd, "STORE_TEST_CHILD=sqlite:"+path)
	full := 0
	for said.Scan() {
		if strings.HasSuffix(said.Text(), "true") {
			if full++; full == 200 { // it lives on without room
				_ = cmd.Process.Kill()
			}
		}
	}
	_ = cmd.Wait()
	if full < 200 {
		t.Fatalf("the process ended after %d calls without room", full)
	}
	s := open(t, store.Options{URL: "sqlite:" + path}) // with room again
	add(t, s, finished(99_999))
	v, err := s.Verify(t.Context(), "")
	if err != nil || len(v.Faults) > 0 || v.Rows < 100 {
		t.Errorf("%v %+v", err, v)
	}
}

// A crash between the commit and the removal of a file that was taken over must not
// write its calls twice.
func TestTakenOverOnce(t *testing.T) {
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "record.db")
	leave := open(t, store.Options{URL: url})
	add(t, leave, finished(1), finished(2))
	if err := leave.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "record.db.spool", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "record.db")); !os.IsNotExist(err) {
		t.Errorf("a process that ends opened the database: %v", err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, store.Options{URL: url})
	for range 2 {
		page, err := s.Calls(t.Context(), store.Filter{})
		if err != nil || len(page.Calls) != 2 {
			t.Fatalf("%d calls, want 2: %v", len(page.Calls), err)
		}
		if _, err := os.Stat(files[0]); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
		if err := os.WriteFile(files[0], append(body, "no row\n{\"type\":\"pruned\"}\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What processes leave does not pile up.
func TestNotTooMuchIsLeft(t *testing.T) {
	dir := t.TempDir()
	for i := range 70 {
		s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "record.db")})
		add(t, s, finished(i))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "record.db.spool", "*.jsonl"))
	if err != nil || len(files) > 10 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
	s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "record.db")})
	if v, err := s.Verify(t.Context(), ""); err != nil || v.Rows != 70 || len(v.Faults) > 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// Folders may have any name.
func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c=d#e%20f&'g")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b#e%20f&'g")
	}
	s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "re cord.db"), Eager: true})
	addMany(t, s, 3)
	if _, err := os.Stat(filepath.Join(dir, "re cord.db-wal")); err != nil {
		t.Error(err)
	}
	if v, err := s.Verify(t.Context(), ""); err != nil || v.Rows != 3 {
		t.Errorf("%+v %v", v, err)
	}
}

// A gateway that finds its database gone before any call notices its return.
func TestReturnsWithoutACall(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	block(t, blocked)
	s := open(t, store.Options{URL: "sqlite:" + filepath.Join(blocked, "record.db"), Eager: true, StopGone: true})
	await(t, func() bool { return s.Status().Gone != "" })
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return s.Status().Gone == "" })
}

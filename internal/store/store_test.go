package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/internal/store"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_CHILD"); dir != "" {
		if beside, ok := os.LookupEnv("STORE_TEST_DIR"); ok {
			beginner(dir, beside)
		}
		child(dir)
		return
	}
	code := m.Run()
	if postgres != nil {
		postgres.Stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// postgres is the server of all tests; nil until the first one that needs it.
var postgres *testenv.Postgres

// A dialect is a kind of database that the tests run against.
type dialect struct {
	name   string
	driver string
	fresh  func(t *testing.T) (url, dir string) // of a new database
	dsn    func(url string) string
}

// onEach runs a test against each kind of database.
func onEach(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel() // both wait more than they work
		test(t, dialect{"sqlite", "sqlite", func(t *testing.T) (string, string) {
			dir := t.TempDir()
			return "sqlite:" + filepath.Join(dir, "deep", "record.db"), dir
		}, func(url string) string { return strings.TrimPrefix(url, "sqlite:") }})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if postgres == nil {
			postgres = testenv.KeepPostgres(t)
		}
		test(t, dialect{"postgres", "pgx", func(t *testing.T) (string, string) {
			return postgres.Database(t), t.TempDir()
		}, func(url string) string { return url }})
	})
}

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func finished(i int) store.Finished {
	return store.Finished{
		Entry: record.Entry{
			ID: fmt.Sprintf("c_%06d", i), Server: "files", Tool: "read", Caller: tool.Caller{Name: "ann", Via: "mcp", Grant: &tool.Grant{Key: "k1"}},
			Session: "s", Task: "t", Skill: "k", Started: time.Unix(1_700_000_000+int64(i), 123_456_000), Elapsed: 1500 * time.Microsecond,
			Bytes: 42, Attempts: 2, Notes: []tool.Note{{Stage: "retry", Text: "sent twice"}}, Handle: "h_1",
			Decision: &tool.Decision{Behavior: tool.Allow, ReasonType: "ok"},
			Usage:    &tool.Usage{Provider: "Acme", Model: "m", Requests: 1, Input: 5, Output: 7},
		},
		Arguments: json.RawMessage(`{"path":"a.txt","n":9007199254740993}`),
		Result:    tool.OneOf([]byte(`{"content":[{"type":"text","text":"hello \"you\""},{"type":"text","text":"second"}]}`)),
	}
}

func add(t *testing.T, s *store.Store, all ...store.Finished) {
	t.Helper()
	for _, f := range all {
		p, err := s.Reserve(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(p, f)
	}
}

func addMany(t *testing.T, s *store.Store, n int) {
	t.Helper()
	for i := range n {
		add(t, s, finished(i))
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func ids(rows []store.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func TestRowComesBackWhole(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		add(t, s, finished(7))
		row, ok, err := s.Call(t.Context(), "c_000007") // no Flush: what is not written yet is there
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		c := *row.Call
		want := finished(7)
		if c.ID != want.ID || c.Server != "files" || c.Tool != "read" || c.Caller.Name != "ann" || c.Key != "k1" || c.Session != "s" || c.Task != "t" || c.Skill != "k" ||
			!c.Started.Equal(want.Started) || c.ElapsedMS != 1.5 || c.Bytes != 42 || c.Attempts != 2 || len(c.Notes) != 1 || c.Decision.ReasonType != "ok" || c.Handle != "h_1" {
			t.Errorf("the row is %+v", c)
		}
		if string(c.Arguments) != string(want.Arguments) {
			t.Errorf("arguments are %s", c.Arguments)
		}
		if c.ResultHead != "hello \"you\"\nsecond" {
			t.Errorf("the head of the result is %q", c.ResultHead)
		}
		if _, ok, err := s.Call(t.Context(), "c_nothing"); ok || err != nil {
			t.Errorf("a call that never was: %v, %v", ok, err)
		}
	})
}

func TestFilters(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		for i := range 10 {
			f := finished(i)
			f.Server = fmt.Sprint("s", i%2)
			f.Tool = fmt.Sprint("t", i%3)
			if i == 4 {
				f.Kind, f.Result, f.Message = tool.Denied, nil, "no"
			}
			f.Session = fmt.Sprint("run", i%5)
			f.Task = fmt.Sprint("task", i%5)
			f.Caller.Name = fmt.Sprint("who", i/5)
			add(t, s, f)
		}
		at := func(i int) time.Time { return finished(i).Started }
		tests := map[string]struct {
			f    store.Filter
			want []string
		}{
			"server":    {store.Filter{Server: "s1", Limit: 2}, []string{"c_000009", "c_000007"}},
			"tool":      {store.Filter{Tool: "t0"}, []string{"c_000009", "c_000006", "c_000003", "c_000000"}},
			"kind":      {store.Filter{Kind: tool.Denied}, []string{"c_000004"}},
			"succeeded": {store.Filter{OK: true, Server: "s0", Limit: 3}, []string{"c_000008", "c_000006", "c_000002"}},
			"session":   {store.Filter{Session: "run1"}, []string{"c_000006", "c_000001"}},
			"task":      {store.Filter{Task: "task0"}, []string{"c_000005", "c_000000"}},
			"caller":    {store.Filter{Caller: "who0", Limit: 1}, []string{"c_000004"}},
			"times":     {store.Filter{Since: at(3), Until: at(5)}, []string{"c_000004", "c_000003"}},
			"quotes":    {store.Filter{Server: "s0' OR '1'='1"}, []string{}},
		}
		for name, tt := range tests {
			page, err := s.Calls(t.Context(), tt.f)
			if err != nil {
				t.Fatal(name, err)
			}
			if got := ids(page.Calls); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
		}
		var all []string
		f := store.Filter{Limit: 3}
		for pages := 0; ; pages++ {
			page, err := s.Calls(t.Context(), f)
			if err != nil || pages > 4 {
				t.Fatal(pages, err)
			}
			all = append(all, ids(page.Calls)...)
			if f.Before = page.Next; page.Next == 0 {
				break
			}
		}
		if len(all) != 10 || all[0] != "c_000009" || all[9] != "c_000000" {
			t.Errorf("by pages: %v", all)
		}
	})
}

// rawExec changes the database behind the back of the store.
func rawExec(t *testing.T, d dialect, url, query string) {
	t.Helper()
	db, err := sql.Open(d.driver, d.dsn(url))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	res, err := db.ExecContext(t.Context(), query)
	if err != nil {
		t.Fatal(query, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatal(query, "changed nothing", err)
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		tests := map[string]struct {
			queries []string
			want    string // in the text of the first fault
			seq     int64
		}{
			"nothing":                   {nil, "", 0},
			"an edit":                   {[]string{"UPDATE record SET body = REPLACE(body, 'a.txt', 'b.txt') WHERE seq = 5"}, "was changed", 5},
			"an edit of the first":      {[]string{"UPDATE record SET body = REPLACE(body, 'a.txt', 'b.txt') WHERE seq = 1"}, "was changed", 1},
			"an edit of the last":       {[]string{"UPDATE record SET body = REPLACE(body, 'a.txt', 'b.txt') WHERE seq = 10"}, "was changed", 10},
			"an edit of a column":       {[]string{"UPDATE record SET tool = 'other' WHERE seq = 5"}, "column", 5},
			"no JSON":                   {[]string{"UPDATE record SET body = 'x' WHERE seq = 5"}, "no JSON", 5},
			"a deletion":                {[]string{"DELETE FROM record WHERE seq = 5"}, "1 rows before this one are missing", 6},
			"a deletion, closed up":     {[]string{"DELETE FROM record WHERE seq = 5", "UPDATE record SET seq = seq - 1 WHERE seq = 6"}, "was changed", 5},
			"a deletion at the front":   {[]string{"DELETE FROM record WHERE seq <= 3"}, "3 rows before this one are missing", 4},
			"a swap":                    {[]string{"UPDATE record SET seq = 99 WHERE seq = 5", "UPDATE record SET seq = 5 WHERE seq = 6", "UPDATE record SET seq = 6 WHERE seq = 99"}, "was changed", 5},
			"a tail that is missing":    {[]string{"DELETE FROM record WHERE seq > 7"}, "the last 3 rows are missing", 10},
			"a tail and the head":       {[]string{"DELETE FROM record WHERE seq > 7", "UPDATE record_head SET seq = 7, kept = 7, hash = (SELECT hash FROM record WHERE seq = 7)"}, "as the file beside the database says", 10},
			"a row put in at the end":   {[]string{"INSERT INTO record SELECT 11, type, id, at, server, tool, kind, caller, session, task, hash, body FROM record WHERE seq = 10"}, "was changed", 11},
			"everything, and the table": {[]string{"DELETE FROM record", "UPDATE record_head SET seq = 0, kept = 0"}, "missing", 10},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				url, dir := d.fresh(t)
				s := open(t, store.Options{URL: url, Dir: dir})
				addMany(t, s, 10)
				for _, q := range tt.queries {
					rawExec(t, d, url, q)
				}
				v, err := s.Verify(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				if tt.want == "" {
					if len(v.Faults) > 0 || v.Rows != 10 || v.First != 1 || v.Last != 10 || len(v.Head) != 64 {
						t.Errorf("%+v", v)
					}
					return
				}
				if len(v.Faults) == 0 {
					t.Fatalf("nothing found: %+v", v)
				}
				found := slices.IndexFunc(v.Faults, func(f store.Fault) bool { return f.Seq == tt.seq && strings.Contains(f.Text, tt.want) })
				if found < 0 {
					t.Errorf("faults are %+v, want one at %d with %q", v.Faults, tt.seq, tt.want)
				}
			})
		}
	})
}

// A row that was changed and given a hash of its own does not fit the row after it.
func TestVerifyFindsARowWithANewHash(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		addMany(t, s, 5)
		db, err := sql.Open(d.driver, d.dsn(url))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var before []byte
		var body string
		if err := db.QueryRowContext(t.Context(), "SELECT hash FROM record WHERE seq = 2").Scan(&before); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT body FROM record WHERE seq = 3").Scan(&body); err != nil {
			t.Fatal(err)
		}
		body = strings.Replace(body, "a.txt", "b.txt", 1)
		sum := sha256.Sum256(append(append(before, 0, 0, 0, 0, 0, 0, 0, 3), body...))
		query := "UPDATE record SET hash = ?, body = ? WHERE seq = 3"
		if d.driver == "pgx" {
			query = "UPDATE record SET hash = $1, body = $2 WHERE seq = 3"
		}
		if _, err := db.ExecContext(t.Context(), query, sum[:], body); err != nil {
			t.Fatal(err)
		}
		v, err := s.Verify(t.Context(), "")
		if err != nil || len(v.Faults) != 1 || v.Faults[0].Seq != 4 {
			t.Errorf("%v %+v, want a fault at 4", err, v.Faults)
		}
	})
}

// A chain that was made anew from some row on, head and all, is found by the file
// beside the database, as long as that was not written anew as well.
func TestVerifyFindsAChainMadeAnew(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		addMany(t, s, 3)
		other, otherDir := d.fresh(t)
		forged := open(t, store.Options{URL: other, Dir: otherDir})
		for i := range 3 {
			f := finished(i)
			f.Tool = "harmless"
			add(t, forged, f)
		}
		if err := forged.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		copyRows(t, d, other, url)
		v, err := s.Verify(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Faults) != 1 || !strings.Contains(v.Faults[0].Text, "made anew") {
			t.Errorf("faults are %+v", v.Faults)
		}
		// A head that was kept elsewhere finds it too.
		fresh, err := forged.Verify(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := forged.Verify(t.Context(), fresh.Head); err != nil || len(v.Faults) > 0 {
			t.Errorf("%v %+v", err, v)
		}
		if v, err := forged.Verify(t.Context(), strings.Repeat("0", 64)); err != nil || len(v.Faults) != 1 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

func copyRows(t *testing.T, d dialect, from, to string) {
	t.Helper()
	src, err1 := sql.Open(d.driver, d.dsn(from))
	dst, err2 := sql.Open(d.driver, d.dsn(to))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	defer dst.Close()
	rows, err := src.QueryContext(t.Context(), "SELECT seq, tool, hash, body FROM record ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	update, head := "UPDATE record SET tool = ?, hash = ?, body = ? WHERE seq = ?", "UPDATE record_head SET hash = ?"
	if d.driver == "pgx" {
		update, head = "UPDATE record SET tool = $1, hash = $2, body = $3 WHERE seq = $4", "UPDATE record_head SET hash = $1"
	}
	var hash []byte
	for rows.Next() {
		var seq int64
		var name, body string
		if err := rows.Scan(&seq, &name, &hash, &body); err != nil {
			t.Fatal(err)
		}
		if _, err := dst.ExecContext(t.Context(), update, name, hash, body, seq); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dst.ExecContext(t.Context(), head, hash); err != nil {
		t.Fatal(errors.Join(err, rows.Err()))
	}
}

func TestRetentionKeepsTheChain(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		tests := map[string]struct {
			b    store.Bounds
			want int // calls that stay
		}{
			"nothing":  {store.Bounds{}, 100},
			"by age":   {store.Bounds{Before: finished(60).Started}, 40},
			"all":      {store.Bounds{Before: finished(1000).Started}, 0},
			"by rows":  {store.Bounds{MaxRows: 11}, 10},
			"by bytes": {store.Bounds{MaxBytes: 1}, 0},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				url, dir := d.fresh(t)
				s := open(t, store.Options{URL: url, Dir: dir})
				addMany(t, s, 100)
				removed, err := s.Prune(t.Context(), tt.b)
				if err != nil || removed != int64(100-tt.want) {
					t.Fatalf("%d rows left, %v; want %d", removed, err, 100-tt.want)
				}
				page, err := s.Calls(t.Context(), store.Filter{Limit: 1000})
				if err != nil || len(page.Calls) != tt.want {
					t.Fatalf("%d calls stay, %v; want %d", len(page.Calls), err, tt.want)
				}
				// Again, and with more calls: the row that says what left may leave too.
				for i := range 30 {
					add(t, s, finished(100+i))
				}
				if _, err := s.Prune(t.Context(), tt.b); err != nil {
					t.Fatal(err)
				}
				v, err := s.Verify(t.Context(), "")
				if err != nil || len(v.Faults) > 0 {
					t.Errorf("%v %+v", err, v)
				}
				if n, err := s.Prune(t.Context(), tt.b); err != nil || n != 0 {
					t.Errorf("pruned again without need: %d, %v", n, err)
				}
				if tt.want == 100 {
					return
				}
				rawExec(t, d, url, "DELETE FROM record WHERE seq = (SELECT MIN(seq) FROM record)")
				if v, err = s.Verify(t.Context(), ""); err != nil || len(v.Faults) == 0 {
					t.Errorf("a deletion behind what left is not found: %v %+v", err, v)
				}
			})
		}
	})
}

func TestSecretsAreMaskedBeforeTheyAreCut(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		const secret, pin = "not-a-real-key-0001", "424242424242"
		hide := strings.NewReplacer(secret, "•••", pin, "•••").Replace
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir, Mask: hide, MaskJSON: func(raw []byte) []byte { return maskTexts(raw, hide) }})
		f := finished(1)
		f.Arguments = json.RawMessage(`{"key":"` + secret + `","pin":` + pin + `,"bytes":1}`)
		f.Result = tool.OneOf([]byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 1015) + secret + `"}]}`))
		f.Tool, f.Notes = "with-"+secret, []tool.Note{{Stage: "x", Text: secret}}
		f.Decision = &tool.Decision{Behavior: tool.Deny, Reason: secret, Chain: []tool.Step{{Rule: "rule_param", Text: secret}}}
		long := finished(2)
		long.Arguments = json.RawMessage(`{"a":"` + strings.Repeat("y", 64<<10-10) + secret + strings.Repeat("z", 300<<10) + `"}`)
		long.Result, long.Kind, long.Message = nil, tool.Failed, strings.Repeat("ä", 511)+"-"+secret
		add(t, s, f, long)
		var all strings.Builder
		if err := s.Export(t.Context(), time.Time{}, func(r store.Row) error {
			return json.NewEncoder(&all).Encode(r)
		}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{secret, secret[:8], pin, pin[:5]} {
			if strings.Contains(all.String(), part) {
				t.Errorf("the record shows %q", part)
			}
		}
		row, _, err := s.Call(t.Context(), "c_000002")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(row.ArgumentsHead); n > 64<<10 || n < 63<<10 || row.ArgumentsSize != len(long.Arguments) || len(row.ArgumentsHash) != 64 || row.Arguments != nil {
			t.Errorf("long arguments: %d bytes of %d, hash %q", n, row.ArgumentsSize, row.ArgumentsHash)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

// What models and servers make up must not stop the record.
func TestOddTextsAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		f := finished(1)
		f.Server, f.Tool, f.Session = "nul\x00byte", "bad\xff\xfeutf8\xff", strings.Repeat("ä", 1000)
		f.Arguments = json.RawMessage("{\"a\":\"\\u0000 \xff\"}")
		f.Result = tool.OneOf([]byte(`{"content":[{"type":"text","text":"cut \ud83d`))
		broken := finished(2)
		broken.Arguments = json.RawMessage(`no json`)
		broken.Result = tool.OneOf([]byte(`[1,2]`))
		add(t, s, f, broken)
		a := tool.Approval{ID: "apv_1", Status: tool.ApprovalPending, Server: "s\x00\xff\xfe", Session: "nul\x00", Reason: "\xff", Arguments: json.RawMessage("{\"a\":\"\xff\"}"), CreatedAt: time.Now(), ExpiresAt: time.Now()}
		if err := (store.Approvals{Store: s}).InsertApproval(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		page, err := s.Calls(t.Context(), store.Filter{})
		if err != nil || len(page.Calls) != 2 {
			t.Fatal(err, len(page.Calls))
		}
		if page.Calls[0].ArgumentsHead != "no json" || page.Calls[0].ResultHead != "[1,2]" {
			t.Errorf("%+v", page.Calls[0].Call)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

// Beside a running writer, others leave what they have; it is in the record once
// and in one chain.
func TestOthersHandTheirCallsOver(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		writer := open(t, store.Options{URL: url, Dir: dir, Eager: true})
		addMany(t, writer, 1)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				o, err := store.New(t.Context(), store.Options{URL: url, Dir: dir})
				if err != nil {
					t.Error(err)
					return
				}
				add(t, o, finished(100+i))
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		await(t, func() bool {
			page, err := writer.Calls(t.Context(), store.Filter{})
			return err == nil && len(page.Calls) == 9
		})
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		// The next one writes itself.
		last := open(t, store.Options{URL: url, Dir: dir})
		addMany(t, last, 1)
		v, err := last.Verify(t.Context(), "")
		if err != nil || len(v.Faults) > 0 || v.Rows != 10 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

func TestManyWritersMakeOneChain(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				o := store.Options{URL: url, Dir: dir}
				if d.name == "postgres" {
					o.Dir = "" // of several machines
				}
				s, err := store.New(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 50 {
					add(t, s, finished(w*1000+i))
					if i%10 == 0 {
						if err := s.Flush(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := open(t, store.Options{URL: url, Dir: dir, Eager: true})
		await(t, func() bool {
			page, err := s.Calls(t.Context(), store.Filter{Limit: 1000})
			return err == nil && len(page.Calls) == 200
		})
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 || v.Rows != 200 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if so() {
			return
		}
	}
	t.Fatal("it never came to be so")
}

func TestApprovals(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		url, dir := d.fresh(t)
		s := open(t, store.Options{URL: url, Dir: dir})
		now := time.Now().Truncate(time.Microsecond)
		ask := func(id string) tool.Approval {
			return tool.Approval{
				ID: id, Status: tool.ApprovalPending, CallID: "c_1", Caller: tool.Caller{Name: "ann"}, Server: "docker", Tool: "docker_restart",
				Arguments: json.RawMessage(`{"name":"web"}`), Hash: "00", Reason: "r", Impact: "high", CreatedAt: now, ExpiresAt: now.Add(time.Minute),
			}
		}
		for _, id := range []string{"apv_1", "apv_2", "apv_3"} {
			a := ask(id)
			if id == "apv_3" {
				a.ExpiresAt = now.Add(-time.Second)
			}
			if err := (store.Approvals{Store: s}).InsertApproval(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if err := (store.Approvals{Store: s}).InsertApproval(t.Context(), ask("apv_1")); err == nil {
			t.Error("an approval came twice")
		}
		var wins, uses sync.Map
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				a := ask("apv_1")
				a.Status, a.Scope, a.DecidedBy = tool.ApprovalApproved, tool.ScopeOnce, fmt.Sprint(i)
				if i%2 == 0 {
					a.Status = tool.ApprovalDenied
				}
				if ok, err := (store.Approvals{Store: s}).SettleApproval(t.Context(), a); err != nil {
					t.Error(err)
				} else if ok {
					wins.Store(i, true)
				}
			})
		}
		wg.Wait()
		if n := length(&wins); n != 1 {
			t.Errorf("%d decisions, want 1", n)
		}
		two := ask("apv_2")
		two.Status, two.Scope = tool.ApprovalApproved, tool.ScopeOnce
		if ok, err := (store.Approvals{Store: s}).SettleApproval(t.Context(), two); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, store.Options{URL: url, Dir: dir}) // it survives a restart
		open, err := store.Approvals{Store: s}.OpenApprovals(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(open, func(a tool.Approval) bool { return a.ID == "apv_2" }) || slices.ContainsFunc(open, func(a tool.Approval) bool { return a.ID == "apv_3" }) {
			t.Errorf("open are %+v", open)
		}
		for i := range 10 {
			wg.Go(func() {
				if ok, err := (store.Approvals{Store: s}).UseApproval(t.Context(), "apv_2", fmt.Sprint("c_", i)); err != nil {
					t.Error(err)
				} else if ok {
					uses.Store(i, true)
				}
			})
		}
		wg.Wait()
		if n := length(&uses); n != 1 {
			t.Errorf("%d calls ran on an approval, want 1", n)
		}
		if _, err := (store.Approvals{Store: s}).UseApproval(t.Context(), "apv_9", "c"); err == nil {
			t.Error("an approval that never was can be used")
		}
		got, ok, err := store.Approvals{Store: s}.Approval(t.Context(), "apv_2")
		if err != nil || !ok || got.UsedBy == "" || string(got.Arguments) != `{"name":"web"}` || !got.CreatedAt.Equal(now) {
			t.Errorf("%+v %v %v", got, ok, err)
		}
		recent, err := store.Approvals{Store: s}.Approvals(t.Context(), 2)
		if err != nil || len(recent) != 2 {
			t.Errorf("%v %v", recent, err)
		}
		if v, err := s.Verify(t.Context(), ""); err != nil || len(v.Faults) > 0 || v.Rows != 6 {
			t.Errorf("%v %+v", err, v)
		}
	})
}

func length(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func TestFullQueue(t *testing.T) {
	dir := t.TempDir()
	t.Run("fails", func(t *testing.T) {
		s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "a.db"), Queue: 2, FailFull: true})
		for range 2 {
			if p, err := s.Reserve(t.Context(), time.Minute); err != nil || !bool(p) {
				t.Fatal(p, err)
			}
		}
		if _, err := s.Reserve(t.Context(), time.Minute); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("error is %v, want unavailable", err)
		}
		if n := s.Status().Refused; n != 1 {
			t.Errorf("%d refused, want 1", n)
		}
	})
	t.Run("waits", func(t *testing.T) {
		s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "b.db"), Queue: 2})
		first, err := s.Reserve(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, finished(1))
		if _, err := s.Reserve(t.Context(), time.Minute); err != nil { // once that is written
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Reserve(ctx, time.Minute); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("error is %v, want unavailable", err)
		}
		s.Add(first, finished(2))
		if _, err := s.Reserve(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("by bytes", func(t *testing.T) {
		s := open(t, store.Options{URL: "sqlite:" + filepath.Join(dir, "none", "c.db"), QueueBytes: 100, FailFull: true})
		block(t, filepath.Join(dir, "none"))
		add(t, s, finished(1))
		if _, err := s.Reserve(t.Context(), time.Minute); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("error is %v, want unavailable", err)
		}
	})
}

// block puts a file where a folder would be made.
func block(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseThatCannotBeWritten(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		// gone opens stores of a database that cannot be written until back is called.
		gone := func(t *testing.T, o store.Options) (s *store.Store, back func()) {
			url, dir := d.fresh(t)
			if d.name == "sqlite" {
				blocked := filepath.Join(dir, "deep")
				block(t, blocked)
				o.URL = url
				return open(t, o), func() {
					if err := os.Remove(blocked); err != nil {
						t.Fatal(err)
					}
				}
			}
			i := strings.LastIndex(url, "/t")
			o.URL = url[:i] + "/later" + url[i+2:]
			return open(t, o), func() {
				_, name, _ := strings.Cut(strings.TrimSuffix(o.URL, "?sslmode=disable"), "/later")
				db, err := sql.Open("pgx", url)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), "CREATE DATABASE later"+name); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Run("calls go on and are counted", func(t *testing.T) {
			var log strings.Builder
			s, back := gone(t, store.Options{Queue: 5, Logger: slog.New(slog.NewTextHandler(&locked{w: &log}, nil))})
			add(t, s, finished(0))
			await(t, func() bool { return s.Status().Gone != "" })
			for i := 1; i < 12; i++ {
				add(t, s, finished(i)) // none waits, none fails
			}
			if st := s.Status(); st.Unrecorded != 7 || st.Queued != 5 {
				t.Errorf("%+v, want 7 unrecorded", st)
			}
			back()
			await(t, func() bool { return s.Status().Gone == "" && s.Status().Queued == 0 })
			var gap *store.Gap
			calls := 0
			if err := s.Export(t.Context(), time.Time{}, func(r store.Row) error {
				if r.Gap != nil {
					gap = r.Gap
				} else {
					calls++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if page, err := s.Calls(t.Context(), store.Filter{}); err != nil || page.Unrecorded != 7 {
				t.Errorf("the page says that %d calls are missing, %v", page.Unrecorded, err)
			}
			if calls != 5 || gap == nil || gap.Calls != 7 {
				t.Errorf("%d calls, gap %+v; want 5 calls and a gap of 7", calls, gap)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"the record of calls cannot be written", "remedy=", "unrecorded=7"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q:\n%s", want, log.String())
				}
			}
		})
		t.Run("calls stop", func(t *testing.T) {
			s, back := gone(t, store.Options{StopGone: true})
			add(t, s, finished(0))
			await(t, func() bool { return s.Status().Gone != "" })
			_, err := s.Reserve(t.Context(), time.Minute)
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "Tell the operator") {
				t.Errorf("error is %v", err)
			}
			back()
			await(t, func() bool { _, err := s.Reserve(t.Context(), time.Minute); return err == nil })
		})
	})
}

// A PostgreSQL that stops while it is used.
func TestStoppedServer(t *testing.T) {
	server := testenv.StartPostgres(t)
	dir := t.TempDir()
	s := open(t, store.Options{URL: server.Database(t), Dir: dir})
	addMany(t, s, 3)
	server.Stop()
	add(t, s, finished(4))
	await(t, func() bool { return s.Status().Gone != "" })
	if _, err := s.Calls(t.Context(), store.Filter{}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("error of a read is %v", err)
	}
	if err := s.Close(); err != nil {
		t.Log(err)
	}
	// What could not be written is left for the next writer.
	left, err := filepath.Glob(filepath.Join(dir, "record-*.spool", "*.jsonl"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if text, err := os.ReadFile(left[0]); err != nil || !strings.Contains(string(text), "c_000004") {
		t.Errorf("%s %v", text, err)
	}
}

func TestNothingShowsThePassword(t *testing.T) {
	var log strings.Builder
	s := open(t, store.Options{
		URL:    "postgres://ann:not-a-real-password-1@127.0.0.1:1/db?connect_timeout=1",
		Logger: slog.New(slog.NewTextHandler(&locked{w: &log}, nil)),
	})
	add(t, s, finished(1))
	await(t, func() bool { return s.Status().Gone != "" })
	_, err := s.Calls(t.Context(), store.Filter{})
	_ = s.Close()
	if all := fmt.Sprint(s.Status(), err, log.String()); strings.Contains(all, "not-a-real-password") {
		t.Error(all)
	}
	if _, err := store.New(t.Context(), store.Options{URL: "mysql://ann:not-a-real-password-1@h/db"}); err == nil || strings.Contains(err.Error(), "not-a-real-password") {
		t.Errorf("error is %v", err)
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the folder of the user decides who may read")
	}
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "state", "record.db")
	s := open(t, store.Options{URL: url})
	addMany(t, s, 1)
	beside := open(t, store.Options{URL: url})
	add(t, beside, finished(9))
	if err := beside.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.Walk(filepath.Join(dir, "state"), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return nil // a file that was taken over meanwhile
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 6 {
		t.Errorf("%d files, %v", seen, err)
	}
	// There is one writer: whoever comes second left its row, and wrote nothing itself.
	if _, err := os.Stat(filepath.Join(dir, "state", "record.db.spool")); err != nil {
		t.Error(err)
	}
}

// A locked writer may be written from several goroutines.
type locked struct {
	mu sync.Mutex
	w  *strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

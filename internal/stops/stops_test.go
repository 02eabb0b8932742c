package stops_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/stops"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *stops.Stops {
	t.Helper()
	s, err := stops.Open(stops.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func names(s *stops.Stops) string {
	var out []string
	for _, x := range s.List() {
		out = append(out, x.Server+"/"+x.Tool)
	}
	return strings.Join(out, " ")
}

var echo = tool.ID{Server: "words", Name: "echo"}

// TestOneFileForAll: two processes that change the file lose nothing of each other,
// and each follows the other.
func TestOneFileForAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "stops.json")
	one, two := open(t, path), open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { one.Watch(ctx) })
	if err := one.Stop(ctx, stops.Stop{Server: "words", Reason: "freeze."}); err != nil {
		t.Fatal(err)
	}
	if err := two.Stop(ctx, stops.Stop{Server: "other", Tool: "x*"}); err != nil {
		t.Fatal(err)
	}
	if got := names(two); got != "words/* other/x*" {
		t.Errorf("the second knows %s", got)
	}
	if got := names(open(t, path)); got != "words/* other/x*" {
		t.Errorf("the file holds %s", got)
	}
	await(t, func() bool { return names(one) == "words/* other/x*" })
	if why := one.Why(echo); why != "Server words was stopped by the operator: freeze." {
		t.Error(why)
	}
	if err := two.Resume(ctx, "words", ""); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return one.Why(echo) == "" })
	if err := two.Resume(ctx, "words", ""); tool.KindOf(err) != tool.NotFound {
		t.Errorf("what is not stopped was resumed: %v", err)
	}
}

// await waits for what another process brings about.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come about")
		}
	}
}

// TestManyAtOnce: none of many changes is lost, whoever makes them.
func TestManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stops.json")
	var wg sync.WaitGroup
	for i := range 8 {
		s := open(t, path)
		wg.Go(func() {
			for j := range 5 {
				if err := s.Stop(t.Context(), stops.Stop{Server: "s" + strconv.Itoa(i), Tool: strconv.Itoa(j)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(open(t, path).List()); n != 40 {
		t.Errorf("%d stops of 40 are left", n)
	}
}

// TestUnreadable: a file that says nothing stops everything, until it is written anew.
func TestUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stops.json")
	if err := os.WriteFile(path, []byte(`[{"server":`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stops.Open(stops.Options{Path: path})
	if err == nil || !strings.Contains(s.Why(echo), "cannot be read") {
		t.Fatalf("%v: %s", err, s.Why(echo))
	}
	if err := s.Resume(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	if again := open(t, path); again.Why(echo) != "" {
		t.Error(again.Why(echo))
	}
}

// TestNotKept: what cannot be kept is in force here, and it is said.
func TestNotKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := stops.Open(stops.Options{Path: filepath.Join(dir, "state", "stops.json")})
	if err := s.Stop(t.Context(), stops.Stop{Server: "words"}); tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "in this gateway until that ends") {
		t.Errorf("%v", err)
	}
	if s.Why(echo) == "" {
		t.Error("it is not in force")
	}
}

// running is a call that runs.
type running struct {
	key, name string
	mu        sync.Mutex
	why       string
}

func (r *running) Key() string     { return r.key }
func (r *running) ToolID() tool.ID { return tool.ID{Server: "words", Name: r.name} }
func (r *running) Cancel(why *tool.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why.Text
}

func (r *running) ended() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// TestRunning: what runs is ended, also by what another process stops, and only that.
func TestRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stops.json")
	s, other := open(t, path), open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { s.Watch(ctx) })
	a, b, gone := &running{key: "c_1", name: "wait"}, &running{key: "c_2", name: "echo"}, &running{key: "c_3", name: "wait"}
	for _, r := range []*running{a, b, gone} {
		if err := s.Enter(r); err != nil {
			t.Fatal(err)
		}
	}
	s.Leave(gone)
	if err := other.Stop(ctx, stops.Stop{Server: "words", Tool: "wait", Reason: "the vendor asked"}); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return a.ended() != "" })
	if !strings.Contains(a.ended(), "the vendor asked") || b.ended() != "" || gone.ended() != "" {
		t.Errorf("%q, %q, %q", a.ended(), b.ended(), gone.ended())
	}
	if err := s.Enter(&running{key: "c_4", name: "wait"}); err == nil || err.Kind != tool.Denied {
		t.Errorf("%v", err)
	}
}

func BenchmarkEnter(b *testing.B) {
	s, err := stops.Open(stops.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := &running{key: "c_1", name: "echo"}
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Enter(r)
		s.Leave(r)
	}
}

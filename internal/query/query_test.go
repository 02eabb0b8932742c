package query_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/query"
	"github.com/tenon-mcp/tenon/tool"
)

const child = "TENON_TEST_QUERY"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		os.Exit(query.Serve(context.Background(), os.Stdin, os.Stdout, os.Stderr, os.Exit))
	}
	goleak.VerifyTestMain(m)
}

// runners are a runner with children and one without.
func runners(t *testing.T) map[string]query.Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spawner := proc.New(proc.Options{})
	t.Cleanup(func() { _ = spawner.Close() })
	return map[string]query.Runner{
		"child": {Spawner: spawner, Command: []string{self}, Env: append(os.Environ(), child+"=1")},
		"here":  {},
	}
}

func TestRun(t *testing.T) {
	const body = `{"items":[{"n":9007199254740993,"s":"<ü>"},{"n":2}]}`
	for name, r := range runners(t) {
		for text, want := range map[string]string{
			".items[].n":         "9007199254740993 2",
			".items[0].s":        `"<ü>"`,
			"empty":              "",
			`"a", halt, "b"`:     `"a"`,
			"env, $ENV":          "{} {}",
			".items|length":      "2",
			`"a\nb"`:             `"a\nb"`,
			"[.items[]|.n==2]":   "[false,true]",
			"range(3)":           "0 1 2",
			".items[1].n * 1e10": "20000000000",
		} {
			var got [][]byte
			err := r.Run(t.Context(), text, strings.NewReader(body), func(v []byte) bool {
				got = append(got, v)
				return true
			})
			if all := string(bytes.Join(got, []byte(" "))); err != nil || all != want {
				t.Errorf("%s: %s gave %q, %v; want %q", name, text, all, err, want)
			}
		}
		for text, want := range map[string]string{
			".a[":                "no query",
			"input":              "not allowed",
			`import "x" as x; .`: "no query",
			".items.a":           "expected an object",
			`error("mine")`:      "mine",
		} {
			err := r.Run(t.Context(), text, strings.NewReader(body), func([]byte) bool { return true })
			if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
	}
}

// TestLongValue: a value that is too long to be given back is told as that, though the
// child that gives it is killed.
func TestLongValue(t *testing.T) {
	err := runners(t)["child"].Run(t.Context(), `"1" * 70000000`, strings.NewReader("{}"), func([]byte) bool { return true })
	if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "too much memory") {
		t.Error(err)
	}
}

// TestEnough: whoever has seen enough ends a query that would go on for ever.
func TestEnough(t *testing.T) {
	for name, r := range runners(t) {
		n := 0
		err := r.Run(t.Context(), "repeat(1)", strings.NewReader("{}"), func([]byte) bool {
			n++
			return n < 5
		})
		if err != nil || n != 5 {
			t.Errorf("%s: %d values, %v", name, n, err)
		}
	}
}

// TestWhatCannotBeInterrupted: functions of the language that take long, or all the
// memory, end with their child.
func TestWhatCannotBeInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("takes long there")
	}
	r := runners(t)["child"]
	r.Env = append(r.Env, "GOMAXPROCS=1") // as on a machine with one
	gone := errors.New("the caller is gone")
	for _, c := range []struct {
		name, text string
		limit      time.Duration
		kind       tool.Kind
	}{
		{"a match that takes minutes", `("ab"*1000000)|[match("(a)(b)";"g")]|length`, 0, tool.Timeout},
		{"a text of gigabytes", `"x"*2000000000|length`, 0, tool.Invalid},
		{"an endless list", `[range(1e12)]|length`, 0, ""}, // whichever comes first
		{"a caller that gives up", `("ab"*1000000)|[match("(a)(b)";"g")]|length`, 200 * time.Millisecond, "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.limit > 0 {
				defer time.AfterFunc(c.limit, func() { cancel(gone) }).Stop()
			}
			began := time.Now()
			err := r.Run(ctx, c.text, strings.NewReader("{}"), func([]byte) bool { return true })
			switch took := time.Since(began); {
			case err == nil:
				t.Error("it ended")
			case c.kind == "gone" && !errors.Is(err, gone):
				t.Errorf("ended with %v", err)
			case c.kind != "" && c.kind != "gone" && tool.KindOf(err) != c.kind:
				t.Errorf("ended with %v", err)
			case took > time.Minute:
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestServeRefuses(t *testing.T) {
	var out, stderr bytes.Buffer
	status := query.Serve(t.Context(), strings.NewReader("no query"), &out, &stderr, func(int) {})
	if status == 0 || out.Len() > 0 || !strings.Contains(stderr.String(), "reads a query") {
		t.Errorf("status %d, %q, %q", status, out.String(), stderr.String())
	}
}

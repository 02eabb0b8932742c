package faults_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestCancelReachesServer: the server of a call hears at once that it was
// canceled, by its own clock.
func TestCancelReachesServer(t *testing.T) {
	limit := 5 * time.Millisecond
	if slow {
		limit = 50 * time.Millisecond
	}
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			script := upstreamtest.Script{Extra: upstreamtest.BadTools}
			entry := child("s", script, "")
			if transport != stdio {
				script.Over = transport
				kind := "streamable-http"
				if transport == upstreamtest.OverSSE {
					kind = "sse"
				}
				entry = fmt.Sprintf("  s: {url: %q, transport: %s}\n", upstreamtest.Listen(t, script).URL, kind)
			}
			g := openGateway(t, "version: 1\nservers:\n"+entry, dir)
			best := time.Hour
			for round := 0; round < 3 && best > limit; round++ { // others work on this machine too
				best = min(best, cancels(t, g, filepath.Join(dir, strconv.Itoa(round))))
			}
			t.Logf("the server hears of it after %s", best)
			if best > limit {
				t.Errorf("the server hears of it after %s, want %s", best, limit)
			}
		})
	}
}

// cancels cancels 50 calls, one after the other, and returns the median of how
// long it took their server to hear of it.
func cancels(t *testing.T, g *tenon.Gateway, file string) time.Duration {
	t.Helper()
	args := upstreamtest.Fault{Kind: "hang", Ran: file + " ran", ID: "x", Canceled: file + " canceled"}
	var took []time.Duration
	for i := 1; i <= 50; i++ {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var res *tool.Result
		wg.Go(func() {
			res = g.Call(ctx, tool.Call{Server: "s", Tool: "bad", Arguments: args.Arguments(), Timeout: patience})
		})
		line(t, args.Ran, i)
		canceled := time.Now()
		cancel()
		wg.Wait()
		if res.Kind != tool.Canceled {
			t.Fatalf("%q: %s", res.Kind, res.Text())
		}
		at, err := strconv.ParseInt(line(t, args.Canceled, i), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Unix(0, at).Sub(canceled))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// line waits for the nth line of a file, and returns it.
func line(t *testing.T, file string, n int) string {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); <-time.After(time.Millisecond) {
		b, err := os.ReadFile(filepath.Clean(file))
		if lines := strings.Split(string(b), "\n"); err == nil && len(lines) > n {
			return lines[n-1]
		}
	}
	t.Fatalf("%s has no line %d", file, n)
	return ""
}

package a2a_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/agent/a2a"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// TestATaskDoesNotWaitForEver: one that nobody answers is canceled, when its time is over
// or the gateway ends; one that is answered is not.
func TestATaskDoesNotWaitForEver(t *testing.T) {
	d := doubles.StartAgent(t, true, "")
	var wg sync.WaitGroup
	closing := make(chan struct{})
	a, err := a2a.New(a2a.Options{URL: d.URL, HTTP: &http.Client{Transport: http.DefaultTransport}, Go: wg.Go, Closing: closing})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(life time.Duration) string {
		asked, err := a.Run(t.Context(), a2a.Work{Text: "ask"}, nil)
		if err != nil || asked.Question == "" {
			t.Fatalf("%+v, %v", asked, err)
		}
		a.Await(t.Context(), asked.Task, life)
		return asked.Task
	}
	a.TakeUp(ask(time.Hour))
	wg.Wait()
	if n := d.Canceled(); n != 0 {
		t.Errorf("one that was answered: %d canceled", n)
	}
	ask(time.Millisecond)
	if wg.Wait(); d.Canceled() != 1 {
		t.Errorf("one whose time is over: %d canceled", d.Canceled())
	}
	ask(time.Hour)
	close(closing)
	if wg.Wait(); d.Canceled() != 2 {
		t.Errorf("one at the end: %d canceled", d.Canceled())
	}
}

package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
)

// says returns a stream to a server that reads so many requests and then says
// what the function writes. What it answers with is for requests 1, 2 ….
func says(t *testing.T, requests int, o wire.StreamOptions, say func(w io.Writer)) *wire.Stream {
	t.Helper()
	return saysAfter(t, requests, o, func() {}, say)
}

// saysAfter is says, and tells of each request that it has read.
func saysAfter(t *testing.T, requests int, o wire.StreamOptions, read func(), say func(w io.Writer)) *wire.Stream {
	t.Helper()
	r, w := io.Pipe()
	sr, sw := io.Pipe()
	o.R, o.W = r, sw
	c := wire.NewStream(o)
	var wg sync.WaitGroup
	wg.Go(func() {
		lines := bufio.NewReader(sr)
		for range requests {
			if _, err := lines.ReadString('\n'); err != nil {
				return
			}
			read()
		}
		say(w)
		_, _ = io.Copy(io.Discard, lines)
	})
	t.Cleanup(func() { _ = c.Close(); wg.Wait() })
	return c
}

// TestStreamAnswerWithoutID: an answer that is too large and has no id is that of
// the only call, and of none where there are several.
func TestStreamAnswerWithoutID(t *testing.T) {
	large := `{"jsonrpc":"2.0","result":{"x":"` + strings.Repeat("x", 200_000) + "\"}}\n"
	for text, fails := range map[string]bool{
		large: true,
		strings.Replace(large, `"result"`, `"method":"m","params"`, 1): false,
		strings.Replace(large, "}}", "", 1):                            false,
		strings.Repeat("no message", 20_000) + "\n":                    false,
	} {
		c := says(t, 1, wire.StreamOptions{MaxMessage: 100_000}, func(w io.Writer) {
			_, _ = io.WriteString(w, text+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
		})
		_, err := c.Call(t.Context(), &wire.Request{Method: "echo"})
		if _, failed := errors.AsType[*jsonrpc.TooLargeError](err); failed != fails || !failed && err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	c := says(t, 2, wire.StreamOptions{MaxMessage: 100_000}, func(w io.Writer) {
		_, _ = io.WriteString(w, large+`{"jsonrpc":"2.0","id":2,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
				t.Errorf("one of two calls: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestStreamAnswerOfSomebodyElse: a call is not blamed for the answer to one that
// was given up.
func TestStreamAnswerOfSomebodyElse(t *testing.T) {
	large := `{"jsonrpc":"2.0","result":{"x":"` + strings.Repeat("x", 200_000) + "\"}}\n"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := saysAfter(t, 3, wire.StreamOptions{MaxMessage: 100_000}, cancel, func(w io.Writer) { // the second is the cancellation
		_, _ = io.WriteString(w, large+`{"jsonrpc":"2.0","id":2,"result":{}}`+"\n")
	})
	if _, err := c.Call(ctx, &wire.Request{Method: "echo"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
		t.Error(err)
	}
}

// TestStreamBrokenAnswer: what is meant as an answer and is no message fails its
// call at once.
func TestStreamBrokenAnswer(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"both"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":oops}]}}`,
		`{"jsonrpc":"2.0","id":1,"error":[}`,
		`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}",
	} {
		c := says(t, 1, wire.StreamOptions{}, func(w io.Writer) { fmt.Fprintln(w, text) })
		_, err := c.Call(t.Context(), &wire.Request{Method: "echo"})
		if err == nil || !strings.Contains(err.Error(), "the answer is no message") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestStreamFlood: what is no message, without end, ends the connection.
func TestStreamFlood(t *testing.T) {
	for _, line := range []string{strings.Repeat("x", 1000) + "\n", strings.Repeat("x", 1<<20)} {
		c := says(t, 1, wire.StreamOptions{MaxMessage: 1 << 20}, func(w io.Writer) {
			for {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		})
		_, err := c.Call(t.Context(), &wire.Request{Method: "echo"})
		if err == nil || c.Err() == nil || !strings.Contains(err.Error(), "without end") && !errors.Is(err, jsonrpc.ErrEndless) {
			t.Errorf("%.10q: %v", line, err)
		}
	}
}

// TestSSEOpenPost: an answer on the stream counts while the POST of its request
// is still open.
func TestSSEOpenPost(t *testing.T) {
	s := newOldServer(t, "/messages?sessionId=1", func(s *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		s.events <- answerText(m.ID, "{}")
		<-t.Context().Done()
	})
	c := s.dial(t, wire.HTTPOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Call(ctx, &wire.Request{Method: "echo", Params: []byte("{}")}); err != nil {
		t.Error(err)
	}
}

// TestStreamNeverLeft: where the other side takes no more, what it had not taken
// can be sent again without harm.
func TestStreamNeverLeft(t *testing.T) {
	synctest.Test(t, neverLeft)
}

func neverLeft(t *testing.T) {
	r, _ := io.Pipe()
	sr, sw := io.Pipe()
	c := wire.NewStream(wire.StreamOptions{R: r, W: sw})
	defer c.Close()
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := c.Call(t.Context(), &wire.Request{Method: "taken"})
		errs <- err
	})
	if _, err := bufio.NewReader(sr).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = sr.Close()
	_, err := c.Call(t.Context(), &wire.Request{Method: "not taken"})
	if _, unsent := errors.AsType[*wire.SendError](err); !unsent {
		t.Errorf("what was not taken: %v", err)
	}
	err = <-errs
	if _, unsent := errors.AsType[*wire.SendError](err); unsent || err == nil {
		t.Errorf("what was taken: %v", err)
	}
}

// TestStreamLastWords: an answer counts that was given before the other side stopped
// listening, however late it is read.
func TestStreamLastWords(t *testing.T) {
	r, w := io.Pipe()
	sr, sw := io.Pipe()
	tried := make(chan struct{})
	c := wire.NewStream(wire.StreamOptions{R: r, W: &told{PipeWriter: sw, failed: tried}})
	defer c.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if _, err := c.Call(t.Context(), &wire.Request{Method: "answered"}); err != nil {
			t.Error(err)
		}
	})
	if _, err := bufio.NewReader(sr).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = sr.Close()
	wg.Go(func() {
		_, err := c.Call(t.Context(), &wire.Request{Method: "not taken"})
		if _, unsent := errors.AsType[*wire.SendError](err); !unsent {
			t.Errorf("what was not taken: %v", err)
		}
	})
	<-tried
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"); err != nil {
		t.Error(err)
	}
	_ = w.Close()
}

// told tells that a write has failed.
type told struct {
	*io.PipeWriter
	failed chan struct{}
}

func (w *told) Write(b []byte) (int, error) {
	n, err := w.PipeWriter.Write(b)
	if err != nil {
		close(w.failed)
	}
	return n, err
}

package events_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenon-mcp/tenon/internal/events"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
)

func ExampleReader() {
	in := events.NewReader(strings.NewReader("retry: 50\n\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"n\"}\n\n: a comment\nevent: endpoint\ndata: /here\n\n"), 1<<20)
	defer in.Release()
	for {
		e, err := in.Next()
		if err != nil {
			fmt.Println(err, in.Ended(), in.Retry)
			return
		}
		m, err := e.Message()
		fmt.Println(e.Name, string(in.LastID), m != nil, err != nil)
	}
	// Output:
	// message 7 true false
	// endpoint 7 false true
	// EOF true 50ms
}

// TestReset: what goes on where another stream broke off knows the last id, and nothing
// of the event that was not whole.
func TestReset(t *testing.T) {
	broken := errors.New("broken")
	in := events.NewReader(io.MultiReader(strings.NewReader("id: a\ndata: 1\n\nid: b\ndata: half"), iotest.ErrReader(broken)), 1<<20)
	defer in.Release()
	if e, err := in.Next(); err != nil || string(e.Data.Join()) != "1" || string(e.Head()) != "1" {
		t.Fatalf("got %+v, %v", e, err)
	}
	if _, err := in.Next(); !errors.Is(err, broken) || in.Ended() || string(in.LastID) != "a" || !in.Alive {
		t.Fatalf("got %v, ended %v, id %q, alive %v", err, in.Ended(), in.LastID, in.Alive)
	}
	in.Reset(strings.NewReader("data: 2\n\n"))
	if in.Alive {
		t.Error("alive before anything came")
	}
	if e, err := in.Next(); err != nil || string(e.Data.Join()) != "2" || string(in.LastID) != "a" {
		t.Errorf("got %+v, %v, id %q", e, err, in.LastID)
	}
}

// TestTooLong: of an event that is too large the id of its message is known, and its
// head, and the one behind it is read.
func TestTooLong(t *testing.T) {
	in := events.NewReader(strings.NewReader("data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\""+strings.Repeat("x", 200<<10)+"\"}\n\ndata: next\n\nid: "+strings.Repeat("i", events.MaxID+1)+"\n\n"), 64<<10)
	defer in.Release()
	e, err := in.Next()
	if err != nil || len(e.Head()) > 256 {
		t.Fatalf("%d bytes of head, %v", len(e.Head()), err)
	}
	m, err := e.Message()
	if _, large := errors.AsType[*jsonrpc.TooLargeError](err); !large || m == nil || string(m.ID) != "3" {
		t.Errorf("got %+v, %v", m, err)
	}
	if e, err = in.Next(); err != nil || string(e.Data.Join()) != "next" {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err = in.Next(); !errors.Is(err, io.EOF) || len(in.LastID) > 0 {
		t.Errorf("got %v, an id of %d bytes", err, len(in.LastID))
	}
}

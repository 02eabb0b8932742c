package call_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// TestRefusedCallIsKept: a call that is not carried out at all has an id and a
// record like any other.
func TestRefusedCallIsKept(t *testing.T) {
	var kept *tool.Result
	refuse := call.Refuser(call.Options{
		Record: func(_ *call.Request, res *tool.Result) { kept = res },
		NewID:  func() string { return "id" },
	})
	note, cause := tool.Note{Stage: "batch", Text: "too many"}, errors.New("cause")
	res := refuse(t.Context(), tool.Call{Server: "s", Tool: "t"}, &tool.Error{Kind: tool.Denied, Text: "not run", Err: cause}, note)
	if res.ID != "id" || res.Server != "s" || res.Tool != "t" || res.Kind != tool.Denied || res.Text() != "not run." ||
		len(res.Notes) != 1 || res.Notes[0] != note || !errors.Is(res.Err, cause) || res.Attempts != 0 {
		t.Errorf("got %+v", res)
	}
	if kept != res {
		t.Errorf("kept %+v", kept)
	}
}

// TestPlaceIsReservedFirst: a call that finds no place in the record does nothing,
// and one that panics gives its place back.
func TestPlaceIsReservedFirst(t *testing.T) {
	var kept []*tool.Result
	var places []bool
	sent := 0
	var most time.Duration
	var refuse error
	run := call.New(call.Options{
		Catalog: &shelf{}, NewID: func() string { return "id" },
		Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) { sent++; return nil, nil },
		Reserve: func(_ context.Context, d time.Duration) (bool, error) {
			most = d
			return refuse == nil, refuse
		},
		Record: func(r *call.Request, res *tool.Result) { kept, places = append(kept, res), append(places, r.Place) },
	})
	run(t.Context(), tool.Call{Server: "s", Tool: "absent", Timeout: time.Second})
	if len(kept) != 1 || !places[0] || most != time.Second {
		t.Fatalf("kept %v, places %v, most %v", kept, places, most)
	}
	refuse = &tool.Error{Kind: tool.Unavailable, Text: "The record is full."}
	res := run(t.Context(), tool.Call{Server: "s", Tool: "absent"})
	if res.Kind != tool.Unavailable || res.Text() != "The record is full." || len(kept) != 2 || places[1] || sent != 0 {
		t.Errorf("got %+v, kept %d, sent %d", res, len(kept), sent)
	}
	if most <= 0 {
		t.Error("a call without a timeout waits without end")
	}
}

// TestPanicIsKept: a call that panics is recorded, and gives its place back by that.
func TestPanicIsKept(t *testing.T) {
	var kept []*tool.Result
	run := call.New(call.Options{
		NewID:   func() string { return "id" }, // no catalog: resolve panics
		Reserve: func(context.Context, time.Duration) (bool, error) { return true, nil },
		Record:  func(_ *call.Request, res *tool.Result) { kept = append(kept, res) },
	})
	res := run(t.Context(), tool.Call{Server: "s", Tool: "t"})
	if res.Kind != tool.Internal || len(kept) != 1 || kept[0].Kind != tool.Internal {
		t.Errorf("got %+v, kept %v", res, kept)
	}
}

// TestLogIsBounded: a caller can give a server and a tool any name.
func TestLogIsBounded(t *testing.T) {
	var log strings.Builder
	run := call.New(call.Options{
		Catalog: &shelf{}, NewID: func() string { return "id" },
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Record: func(*call.Request, *tool.Result) {},
	})
	run(t.Context(), tool.Call{Server: strings.Repeat("s ", 1<<20), Tool: strings.Repeat("ö", 1<<20)})
	if got := log.String(); len(got) > 3000 || !strings.Contains(got, "s s s") || !strings.Contains(got, "öööö…") {
		t.Errorf("%d bytes: %.500s", len(got), got)
	}
}

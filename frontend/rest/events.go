package rest

import (
	"bufio"
	"bytes"
	"context"
	"iter"
	"net/http"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	typeEvents = "text/event-stream"
	// quiet is how long a stream is silent at most, so that no proxy ends it.
	quiet = 15 * time.Second
	// patience is how long a client may take nothing.
	patience = time.Minute
)

// An event is one of a stream; the zero value is a comment that keeps it alive.
type event struct {
	name string
	data []byte
}

// events gives the approvals that wait, and from then on each as it is asked for and
// as it leaves pending.
func (a approvals) events(r *http.Request, _ tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	told := a.gw.Approvals().Watch(r.Context()) // before the list: none is missed
	pending, err := a.gw.Approvals().Pending(r.Context(), maxApprovals)
	if err != nil {
		return response{}, err
	}
	return response{contentType: typeEvents, events: func(yield func(event) bool) {
		for _, p := range pending {
			if !yield(eventOf(p)) {
				return
			}
		}
		alive := time.NewTicker(quiet)
		defer alive.Stop()
		for {
			var e event
			select {
			case p, ok := <-told:
				if !ok {
					return
				}
				e = eventOf(p)
			case <-alive.C:
			}
			if !yield(e) {
				return
			}
		}
	}}, nil
}

func eventOf(p tool.Approval) event {
	name := "tool_approval_resolved"
	if p.Status == tool.ApprovalPending {
		name = "tool_pending_approval"
	}
	b, err := marshal(tenon.ShownApproval(p))
	if err != nil { // an approval always marshals
		return event{}
	}
	return event{name, b}
}

// stream writes events until they end, or the client takes no more.
func stream(w http.ResponseWriter, events iter.Seq[event]) {
	h := w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	for e := range events {
		text := []byte(": alive\n\n")
		if e.name != "" {
			text = append([]byte("event: "+e.name+"\ndata: "), e.data...)
			text = append(text, "\n\n"...)
		}
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // not every writer has one
		if _, err := w.Write(text); err != nil || control.Flush() != nil {
			return
		}
	}
}

// maxEvent bounds an event that a client takes: arguments are the longest part.
const maxEvent = 4 << 20

// Watch gives the approvals that wait, and from then on each as it is asked
// for and as it leaves pending, until ctx or the gateway ends. An error is the last.
func (p Approvals) Watch(ctx context.Context) iter.Seq2[tool.Approval, error] {
	return func(yield func(tool.Approval, error) bool) {
		watched, end := vigil{c: p.c}.attend(ctx)
		defer end()
		res, err := p.c.send(watched, http.MethodGet, "/events", nil)
		if err != nil {
			yield(tool.Approval{}, err)
			return
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, maxEvent)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var a tool.Approval
			if err := p.c.decode(data, &a); err != nil {
				yield(a, err)
				return
			}
			if !yield(a, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil && ctx.Err() == nil {
			yield(tool.Approval{}, p.c.lost(watched, http.MethodGet, err))
		}
	}
}

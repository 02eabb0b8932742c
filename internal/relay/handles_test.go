package relay_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// TestHandlesAreOfTheirOwner: another caller has no task of a handle, not even one that has
// seen it, and neither has another relay.
func TestHandlesAreOfTheirOwner(t *testing.T) {
	const own = "known-to-its-server-alone" // too long to be found in a handle by chance
	f := &fake{spoken: era.Modern, answer: func(_ context.Context, s *relay.Sending, _ relay.Handler) (tool.Bytes, error) {
		result := `{"resultType":"complete","taskId":"` + own + `","status":"working","ttlMs":600000}`
		if s.Method == "tools/call" {
			result = `{"resultType":"task","taskId":"` + own + `","status":"working","ttlMs":600000}`
		}
		return tool.OneOf([]byte(result)), nil
	}}
	r, strange := relay.New(t.Context()), relay.New(t.Context())
	defer strange.Close()
	defer r.Close()
	client := func(r *relay.Relay, caller string) *relay.Client {
		c := r.Client(relay.Options{Caller: caller})
		t.Cleanup(c.Close)
		return c
	}
	ann := client(r, "ann")
	begun, err := ann.Do(t.Context(), f, relay.Request{Method: "tools/call", Params: []byte(`{"name":"x","task":{}}`)})
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Task struct{ TaskID string } }
	if err := json.Unmarshal(begun.Join(), &said); err != nil || !relay.IsHandle(said.Task.TaskID) || strings.Contains(said.Task.TaskID, own) {
		t.Fatalf("%s, %v", begun.Join(), err)
	}
	get := relay.Request{Method: "tasks/get", Params: []byte(`{"taskId":"` + said.Task.TaskID + `"}`)}
	for name, c := range map[string]*relay.Client{"bob": client(r, "bob"), "strange": client(strange, "ann")} {
		if got, err := c.Do(t.Context(), f, get); err == nil {
			t.Errorf("%s has got %s", name, got.Join())
		}
	}
	for name, want := range map[string]bool{"ann": true, "bob": false} {
		c := client(r, name)
		if got, err := c.Do(t.Context(), f, get); (err == nil) != want {
			t.Errorf("%s: %s, %v", name, got.Join(), err)
		}
		list, err := relay.ListTasks(t.Context(), c, func(string) relay.Server { return f }, "")
		if err != nil || strings.Contains(string(list.Join()), said.Task.TaskID) != want {
			t.Errorf("%s lists %s, %v", name, list.Join(), err)
		}
	}
}

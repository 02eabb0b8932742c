package tenon

import (
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

// TestNobodyPushesTasksOfOthersOut: whoever begins too many forgets his own.
func TestNobodyPushesTasksOfOthersOut(t *testing.T) {
	var all tasks
	at := &member{name: "s"}
	began := func(owner, id string) {
		all.began(owner, at, tool.OneOf(fmt.Appendf(nil, `{"task":{"taskId":%q,"status":"working","ttl":1000}}`, id)))
	}
	began("ann", "of ann")
	for i := range maxTasks + 50 {
		began("bob", fmt.Sprint(i))
	}
	for owner, id := range map[string]string{"ann": "of ann", "bob": fmt.Sprint(maxTasks + 49)} {
		if server, err := all.of(owner, id, ""); server != "s" {
			t.Errorf("the task %s of %s: %v", id, owner, err)
		}
	}
	if _, err := all.of("bob", "0", ""); err == nil || len(all.all) > maxTasks {
		t.Errorf("%d are remembered", len(all.all))
	}
}

package begun_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/begun"
	"github.com/tenon-mcp/tenon/tool"
)

var here = begun.Place{Server: "s"}

// result says that a task has begun, which lives for a second.
func result(id string) tool.Bytes {
	return tool.OneOf(fmt.Appendf(nil, `{"task":{"taskId":%q,"status":"working","ttl":1000}}`, id))
}

// TestNobodyPushesTasksOfOthersOut: whoever begins too many forgets his own.
func TestNobodyPushesTasksOfOthersOut(t *testing.T) {
	var all begun.Tasks
	all.Began("ann", here, result("of ann"))
	for i := range begun.Most + 50 {
		all.Began("bob", here, result(fmt.Sprint(i)))
	}
	for owner, id := range map[string]string{"ann": "of ann", "bob": fmt.Sprint(begun.Most + 49)} {
		if server, err := all.Server(owner, id, ""); server != "s" {
			t.Errorf("the task %s of %s: %v", id, owner, err)
		}
	}
	if _, err := all.Server("bob", "0", ""); err == nil || all.Knows("0") {
		t.Error("the oldest one is still known")
	}
}

// TestOwner: a name is its first owner's for as long as its task lives, and each process
// of a server has names of its own.
func TestOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all begun.Tasks
		has := func(owner, id string) bool {
			server, err := all.Server(owner, id, "")
			return err == nil && server == "s"
		}
		all.Began("ann", here, result("1"))
		all.Began("bob", here, result("1"))
		all.Began("carl", begun.Place{Server: "s", Of: "carl"}, result("1"))
		if !has("ann", "1") || has("bob", "1") || !has("carl", "1") {
			t.Errorf("at first: ann %t, bob %t, carl %t", has("ann", "1"), has("bob", "1"), has("carl", "1"))
		}
		time.Sleep(time.Second)
		all.Began("bob", here, result("1"))
		if has("ann", "1") || !has("bob", "1") || !has("carl", "1") {
			t.Errorf("after its life: ann %t, bob %t, carl %t", has("ann", "1"), has("bob", "1"), has("carl", "1"))
		}
	})
}

// TestServer: a name that two servers have used is told by its server alone.
func TestServer(t *testing.T) {
	var all begun.Tasks
	all.Began("ann", here, result("1"))
	all.Began("ann", begun.Place{Server: "other"}, result("1"))
	if server, err := all.Server("ann", "1", ""); err == nil {
		t.Errorf("one of two was taken: %s", server)
	}
	if server, err := all.Server("ann", "1", "other"); server != "other" {
		t.Error(server, err)
	}
}

// TestNoTask: what says nothing of a task begins none.
func TestNoTask(t *testing.T) {
	var all begun.Tasks
	for _, text := range []string{``, `{}`, `{"taskId":"1"}`, `{"content":[{"taskId":"1"}]}`, `{"task":{"status":"working"},"x":"taskId"}`, `["taskId"]`} {
		all.Began("ann", here, tool.OneOf([]byte(text)))
	}
	if all.Knows("1") || all.Knows("") {
		t.Error("a task is known")
	}
}

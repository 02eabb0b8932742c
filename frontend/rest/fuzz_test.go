package rest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// A body is a call with arguments that are an object, or an *Error; never both,
// never a panic.
func FuzzDecodeCall(f *testing.F) {
	for _, s := range []string{
		`{"server":"s","tool":"t","arguments":{"a":1},"timeout":"30s"}`, `{"tool":"t","timeout":1e3}`, `{"tool":"t","timeout":1e999}`,
		`{"tool":null}`, ` {"tool" : "t" , "arguments" : null } `, `{"tool":"t"}x`, `[]`, `{`, `"`, `{"tool":"t","timeout":"-1ns"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := rest.DecodeCall(body, "")
		if err != nil {
			if e, ok := errors.AsType[*rest.Error](err); !ok || e.Kind != tool.Invalid || e.Text == "" {
				t.Errorf("%s: %v", body, err)
			}
			return
		}
		var object map[string]any
		if c.Tool == "" || c.Timeout < 0 || len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &object) != nil {
			t.Errorf("%s: %+v", body, c)
		}
	})
}

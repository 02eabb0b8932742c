package method_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/method"
)

func TestCheck(t *testing.T) {
	const fine = 0
	for _, c := range []struct {
		method, params string
		code           int
	}{
		{"ping", "", fine},
		{"tools/list", `{"cursor":"x"}`, fine},
		{"prompts/get", `{"name":"a","arguments":{"name":"b","uri":"c"},"_meta":{"name":"d"}}`, fine},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":"c"}}`, fine},
		{"tasks/get", `{"taskId":"a"}`, fine},
		{"tasks/list", ``, fine},
		{"x/own", `[1,2]`, fine},
		{"x/own", `{"Name":1,"name":2}`, fine},
		{"notifications/x", `{"requestId":1}`, fine},

		{"Tools/Call", ``, -32601},
		{"TASKS/GET", `{"taskId":"a"}`, -32601},
		{"tools/call ", ``, -32601},
		{"\ttools/call", ``, -32601},
		{"tools/cａll", ``, -32601},
		{"tools/\u200bcall", ``, -32601},
		{"", ``, -32601},

		{"tasks/get", `{"taskId":"a","taskId":"b"}`, -32602},
		{"tasks/get", `{"taskId":"a","task\u0049d":"b"}`, -32602},
		{"tasks/get", `{"taskId":"a","taskID":"b"}`, -32602},
		{"tasks/get", `{"taskID":"b"}`, -32602},
		{"tasks/get", `{"taskId":["a"]}`, -32602},
		{"tasks/get", `{"taskId":""}`, -32602},
		{"tasks/get", `{"taskId":null}`, -32602},
		{"tasks/get", `["a"]`, -32602},
		{"tasks/get", ` {"taskId":"a"`, -32602},
		{"prompts/get", `["a"]`, -32602},
		{"prompts/get", strings.Repeat(" ", 100) + `{"name":"a","name":"b"}`, -32602},
		{"tasks/result", ``, -32602},
		{"tasks/anything", `{}`, -32602},
		{"prompts/get", `{"name":"a","name":"b"}`, -32602},
		{"prompts/get", `{"name":"a","Name":"b"}`, -32602},
		{"resources/read", `{"uri":"a","URI":"b"}`, -32602},
		{"completion/complete", `{"ref":{"name":"a","name":"b"}}`, -32602},
		{"completion/complete", `{"ref":{"name":"a"},"ref":{"name":"b"}}`, -32602},
	} {
		got := fine
		e := method.Check(c.method, []byte(c.params))
		if e != nil {
			got = e.Code
		}
		if got != c.code {
			t.Errorf("%q %s: %d (%v), want %d", c.method, c.params, got, e, c.code)
		}
	}
}

func TestDefined(t *testing.T) {
	for name, want := range map[string]bool{"tools/call": true, "notifications/x": true, "x/wipe": false, "Tools/Call": false, "": false} {
		if method.Defined(name) != want {
			t.Errorf("%q: %v, want %v", name, !want, want)
		}
	}
}

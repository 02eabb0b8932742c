package mcp_test

import (
	"strings"
	"testing"
)

// TestApprovedOnceForAllRounds: a person approves a call of a modern client, and the
// server then wants input. The call that comes again with it goes on without a question
// of its own; once, with that state, and with nothing else changed.
func TestApprovedOnceForAllRounds(t *testing.T) {
	const allow = `"inputResponses":{"approval":{"action":"accept","content":{"decision":"allow once"}}}`
	for spoken, tool := range map[string]string{legacyOnly: "elicit", modernOnly: "ask"} {
		t.Run(spoken, func(t *testing.T) {
			url := gateway(t, "", newUpstream(t, "one", spoken))
			strict := asksFirst(t, newUpstream(t, "one", spoken))
			call := func(url, members string) string {
				return sendModern(t, url+"/mcp/s/s1", "tools/call", tool, `"name":"`+tool+`","arguments":{}`+members)
			}
			// the call is approved, and then the server asks
			begin := func() (state, name string) {
				t.Helper()
				state, name = wantsInput(t, call(strict, ""))
				if name != "approval" {
					t.Fatalf("asks for %s first", name)
				}
				state, name = wantsInput(t, call(strict, `,"requestState":"`+state+`",`+allow))
				if name == "approval" {
					t.Fatal("the approval is asked for again")
				}
				return state, name
			}
			answer := func(state, name, who string) string {
				return `,"requestState":"` + state + `","inputResponses":{"` + name + `":{"action":"accept","content":{"who":"` + who + `"}}}`
			}
			state, name := begin()
			if got := call(strict, answer(state, name, "eve")); !strings.Contains(got, "eve") || !strings.Contains(got, `"complete"`) {
				t.Fatalf("the call that comes again: %s", got)
			}
			// Used once, it is worth nothing: neither is a state that was never approved.
			if got := call(strict, answer(state, name, "mallory")); strings.Contains(got, "mallory") {
				t.Errorf("the approval was used twice: %s", got)
			}
			foreign, name := wantsInput(t, call(url, ""))
			if got := call(strict, answer(foreign, name, "mallory")); strings.Contains(got, "mallory") {
				t.Errorf("the state of another gateway: %s", got)
			}
			state, name = begin()
			if got := sendModern(t, strict+"/mcp/s/s1", "tools/call", tool, `"name":"`+tool+`","arguments":{"x":1}`+answer(state, name, "mallory")); strings.Contains(got, "mallory") {
				t.Errorf("the approval held for other arguments: %s", got)
			}
			if got := sendModern(t, strict+"/mcp/s/s1", "tools/call", "plain", `"name":"plain","arguments":{}`+answer(state, name, "mallory")); strings.Contains(got, `"plain"`) && strings.Contains(got, `"content"`) {
				t.Errorf("the approval held for another tool: %s", got)
			}
		})
	}
}

// asksFirst serves a gateway whose calls a person has to approve.
func asksFirst(t *testing.T, u *upstream) string {
	t.Helper()
	return gatewayOf(t, "policy: {mode: ask_destructive, block_high_risk: false}\ntools: {\"s1/*\": {destructive: true}}\n", u)
}

package named_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// name is a pattern in line 1, or a rule for an argument where there is a colon.
func name(text string) named.Name {
	text, argument, _ := strings.Cut(text, ":")
	server, own, _ := strings.Cut(text, "/")
	n := named.Name{Text: text, Patterns: []tool.ID{{Server: server, Name: own}}, Argument: argument}
	n.At = source.Problem{File: "f", Line: 1, Column: 2}
	return n
}

func steps(argument string) []string {
	if argument == "." {
		return nil
	}
	return strings.Split(argument, ".")
}

var pool = map[string][]named.Tool{
	"kube": {
		{Name: "kubectl", Schema: []byte(`{"type":"object","properties":{"verb":{"type":"string"},"meta":{"type":"object","properties":{"name":{}}}}}`)},
		{Name: "free", Schema: []byte(`{"type":"object"}`)},
		{Name: "open", Schema: []byte(`{"properties":{"a":{}},"additionalProperties":true}`)},
		{Name: "closed", Schema: []byte(`{"properties":{},"additionalProperties":false}`)},
		{Name: "either", Schema: []byte(`{"properties":{"a":{}},"anyOf":[{"properties":{"b":{}}}]}`)},
		{Name: "list", Schema: []byte(`{"properties":{"a":{"type":"array","items":{"properties":{"b":{}}}},"t":{"type":"string"}}}`)},
	},
	"web": {{Name: "get"}, {Name: "post", Schema: []byte(`{"properties":{"url":{}}}`)}},
}

func TestWatch(t *testing.T) {
	for text, want := range map[string]string{
		"kube/kubectl": "", "kube/*": "", "*/get": "", "*/*": "", "k*/kube[c]tl": "",
		"kube/kubctl":            `f:1:2: "kube/kubctl" names no tool of kube (did you mean "kube/kubectl"?)`,
		"kube/zzzzzzzzzzzz":      `f:1:2: "kube/zzzzzzzzzzzz" names no tool of kube (it has: kubectl, free, open, closed, either, list)`,
		"kube/kubctl*":           `f:1:2: "kube/kubctl*" names no tool of kube (did you mean "kube/kubectl"?)`,
		"*/psot":                 `f:1:2: "*/psot" names no tool of any server (did you mean "web/post"?)`,
		"*/delete_everything_*":  `f:1:2: "*/delete_everything_*" names no tool of any server`,
		"kube/post":              `f:1:2: "kube/post" names no tool of kube (it has: kubectl, free, open, closed, either, list)`,
		"kube/kubectl:verb":      "",
		"kube/kubectl:.":         "",
		"kube/kubectl:vreb":      `f:1:2: "kube/kubectl" has no argument "vreb", so this rule refuses every call (did you mean "verb"?)`,
		"kube/kubectl:meta.nme":  `f:1:2: "kube/kubectl" has no argument "meta.nme", so this rule refuses every call (it takes: name)`,
		"kube/kubectl:meta.name": "", "kube/free:x": "", "kube/open:x": "", "kube/either:b": "", "kube/list:a.b": "", "kube/list:t.x": "",
		"kube/closed:x": `f:1:2: "kube/closed" has no argument "x", so this rule refuses every call`,
		"kube/kubctl:x": "", // of the tool it is told by itself
		"*/*:url":       "", // some have it, or may
	} {
		w := named.NewWatch([]named.Name{name(text)}, []string{"kube", "web"}, steps)
		var got []string
		for _, s := range []string{"web", "kube", "kube"} {
			for _, f := range w.Listed(s, pool[s]) {
				got = append(got, f.Problem.String())
				if plain := !strings.ContainsAny(text, "*?["); f.Plain != plain {
					t.Errorf("%s: plain is %t", text, f.Plain)
				}
			}
		}
		if g := strings.Join(got, "\n"); g != want {
			t.Errorf("%s:\n got %s\nwant %s", text, g, want)
		}
	}
}

// TestWatchWaits: a server that has not listed its tools may have what is named.
func TestWatchWaits(t *testing.T) {
	w := named.NewWatch([]named.Name{name("*/psot"), name("web/psot"), name("gone/x")}, []string{"kube", "web", "slow"}, steps)
	if got := w.Listed("kube", pool["kube"]); len(got) != 0 {
		t.Errorf("told %v before the server that may have it has listed its tools", got)
	}
	got := w.Listed("web", pool["web"])
	if len(got) != 1 || !strings.Contains(got[0].Problem.Text, `"web/psot"`) {
		t.Errorf("told %v, want web/psot alone", got)
	}
	if got = w.Listed("slow", []named.Tool{{Name: "psot"}}); len(got) != 0 {
		t.Errorf("told %v, though a server that came late has it", got)
	}
	if got = w.Nowhere(); len(got) != 1 || got[0].Plain || !strings.Contains(got[0].Problem.Text, `"gone/x"`) {
		t.Errorf("nowhere is %v, want gone/x alone", got)
	}
}

// TestFlat: an entry of a skill may be the name under which clients know a tool.
func TestFlat(t *testing.T) {
	flat := func(server, own string) named.Name {
		text := server + "__" + own
		return named.Name{Text: text, Patterns: []tool.ID{{Server: "*", Name: text}, {Server: server, Name: own}}}
	}
	w := named.NewWatch([]named.Name{flat("web", "post"), flat("web", "psot")}, []string{"kube", "web"}, nil)
	got := w.Listed("web", pool["web"])
	if len(got) != 1 || got[0].Problem.Hint != `did you mean "web/post"?` || !got[0].Plain {
		t.Errorf("told %+v, want web__psot alone", got)
	}
}

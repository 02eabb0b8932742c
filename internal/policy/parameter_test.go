package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/tool"
)

func raw(values ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		out[i] = json.RawMessage(v)
	}
	return out
}

// TestParameters: each rule with what it lets through, and with what it must not.
func TestParameters(t *testing.T) {
	tests := map[string]struct {
		rule    policy.Parameter
		allowed []string
		denied  []string
	}{
		"glob": {
			policy.Parameter{Argument: "a", Globs: []string{"web-*", "/data/**", `lit\*`, "v?", "ümlaut*"}},
			[]string{`{"a":"web-1"}`, `{"a":"web-"}`, `{"a":"/data/x/y.txt"}`, `{"a":"lit*"}`, `{"a":"v1"}`, `{"b":1,"a":"web-1"}`, `{"a":["web-1","web-2"]}`, `{"a":"/data/..hidden"}`, `{"a":"/data/...x"}`, `{"a":"ümlaut"}`, `{"a":"web-a%20b"}`, `{"a":"/data/a%2fb"}`},
			[]string{
				``, `{}`, `null`, `[]`, `"web-1"`, `{"a":null}`, `{"a":"db-1"}`, `{"a":"xweb-1"}`, `{"a":"web-1/../../x"}`, `{"a":"web-a/b"}`, `{"a":"web-a\\b"}`, `{"a":"web-a%2fb"}`, `{"a":"web-a%255Cb"}`,
				`{"a":"/data/../etc/passwd"}`, `{"a":"/data/%2e%2e/etc"}`, `{"a":"/data/%252e%252e/etc"}`, `{"a":"/data/x/.."}`, `{"a":"/data/..\\x"}`, `{"a":"/data/..%2fx"}`, `{"a":"/data/．．/x"}`, `{"a":"/data/.. /x"}`,
				`{"a":"/data/%25252525252e"}`, `{"a":"lit1"}`, `{"a":"v/"}`, `{"a":"v"}`,
				`{"a":"web-\u0000x"}`, `{"a":"web-\nrm"}`, `{"a":"web-\u202ex"}`, `{"a":"web-\u200b"}`, `{"a":"web-\ud800"}`, `{"a":"web-\u2028x"}`, "{\"a\":\"web-\xff\"}",
				`{"a":1}`, `{"a":true}`, `{"a":{}}`, `{"a":[]}`, `{"a":["web-1","db-1"]}`, `{"a":["web-1",1]}`, `{"a":[["web-1"],["db"]]}`, `{"a":{"$handle":"h_1"}}`, `{"a":["web-1",{"$handle":"h_1"}]}`,
				`{"a":"web-1","a":"db-1"}`, `{"a":"db-1","a":"web-1"}`, `{"a":"web-1","A":"db-1"}`, `{"A":"web-1"}`, `{"a":"web-1","a ":"x"}`, `{"a":"web-1","\u0061":"db-1"}`, `{"a":"web-1","ａ":"x"}`, `{"a":"web-1","a_":"x"}`, `{"a":"web-1","a\u200d":"x"}`,
				`{"a":"web-1"}}`, `{"a":"web-1"`, `{"a":"web-1",}`, `{"a":"web-1"}{"a":"db-1"}`, `{"b":{"a":"web-1"}}`,
			},
		},
		// Names that some program takes for that of the rule, and texts that are not what they look like.
		"what looks like it": {
			policy.Parameter{Argument: "disk", Globs: []string{"/data/**"}},
			[]string{`{"disk":"/data/x","note":"fine \u2764\ufe0f"}`, `{"disk":"/data/x","disk2":"y","dis":"z"}`, `{"disk":"/data/ä/日本","❤\ufe0f":1}`},
			[]string{
				"{\"disk\":\"/data/x\",\"disk\ufe0f\":\"/etc\"}", "{\"disk\":\"/data/x\",\"di\u3164sk\":\"/etc\"}", "{\"disk\":\"/data/x\",\"disk\u2800\":\"/etc\"}", "{\"disk\":\"/data/x\",\"\u115fdisk\":\"/etc\"}",
				`{"disk":"/data/x","disk\u1160":"/etc"}`, `{"disk":"/data/x","disk\uffa0":"/etc"}`, `{"disk":"/data/x","disk\u034f":"/etc"}`, `{"disk":"/data/x","disk\u180b":"/etc"}`,
				`{"disk":"/data/x","disk\u17b4":"/etc"}`, `{"disk":"/data/x","disk\udb40\udd00":"/etc"}`, `{"disk":"/data/x","disk\ufffc":"/etc"}`,
				`{"disk":"/data/x","diſk":"/etc"}`, `{"disk":"/data/x","dis\u212a":"/etc"}`, `{"disk":"/data/x","d\u0131sk":"/etc"}`, `{"disk":"/data/x","D\u0130SK":"/etc"}`, `{"disk":"/data/x","ｄｉｓｋ":"/etc"}`,
				`{"disk":"/data/x","𝐝𝐢𝐬𝐤":"/etc"}`, `{"disk":"/data/x","ⓓisk":"/etc"}`, `{"disk":"/data/x","dísk":"/etc"}`, `{"disk":"/data/x","di\u0301sk":"/etc"}`, `{"disk":"/data/x","disk.":"/etc"}`, `{"disk":"/data/x","disk[]":"/etc"}`,
				`{"disk":"/data/x","dis＿k":"/etc"}`, `{"disk":"/data/x","dis‐k":"/etc"}`, `{"disk":"/data/x","disk\u0000":"/etc"}`,
				"{\"disk\":\"/data/x\ufe0fy\"}", "{\"disk\":\"/data/x\u3164y\"}", "{\"disk\":\"/data/x\u2800\"}", `{"disk":"/data/\u115f"}`, `{"disk":"/data/\u1160"}`, `{"disk":"/data/\uffa0"}`,
				`{"disk":"/data/\u034f"}`, `{"disk":"/data/\u180b"}`, `{"disk":"/data/\u17b4"}`, `{"disk":"/data/\udb40\udd00"}`, `{"disk":"/data/‥/etc"}`, `{"disk":"/data/…"}`, `{"disk":"/data/%c0%ae%c0%ae/etc"}`, `{"disk":"/data/%u002e%u002e/etc"}`,
			},
		},
		"names that fold to several letters": {
			policy.Parameter{Argument: "offset_class", Globs: []string{"*"}},
			nil,
			[]string{`{"offset_class":"x","o\ufb00setclass":"y"}`, `{"offset_class":"x","offsetcla\u00df":"y"}`, `{"offset_class":"x","offsetcla\u1e9e":"y"}`},
		},
		"globs of addresses": {
			policy.Parameter{Argument: "url", Globs: []string{"https://*.example.com/**"}},
			[]string{`{"url":"https://a.example.com/x?y=1"}`},
			[]string{`{"url":"https://evil.test/.example.com/"}`, `{"url":"https://evil.test\\.example.com/"}`, `{"url":"http://a.example.com/"}`, `{"url":"HTTPS://a.example.com/"}`, `{"url":"https://a.example.com/../x"}`, `{"url":"https://evil.test?.example.com/"}`, `{"url":"https://evil.test#.example.com/"}`, `{"url":"https://evil.test％2f.example.com/"}`},
		},
		"cidr": {
			policy.Parameter{Argument: "host", Networks: []string{"10.0.0.0/8", "192.168.1.5", "fd00::/8"}},
			[]string{`{"host":"10.1.2.3"}`, `{"host":"192.168.1.5"}`, `{"host":"fd00::1"}`, `{"host":"10.2.0.0/16"}`},
			[]string{`{"host":"11.0.0.1"}`, `{"host":"192.168.1.6"}`, `{"host":"10.0.0.1.example.com"}`, `{"host":"010.0.0.1"}`, `{"host":"0x0a000001"}`, `{"host":"167772161"}`, `{"host":167772161}`, `{"host":"::ffff:10.0.0.1"}`, `{"host":"fe80::1%eth0"}`, `{"host":"fd00::1%eth0"}`, `{"host":" 10.0.0.1"}`, `{"host":"10.1"}`, `{"host":"10.0.0.0/7"}`, `{"host":"0.0.0.0/0"}`, `{"host":"10.0.0.1:80"}`, `{"host":"10.0.0.1/8"}`, `{"host":"１0.0.0.1"}`, `{"host":""}`},
		},
		"regexp": {
			policy.Parameter{Argument: "q", Pattern: `SELECT|SELECT\s[^;]*`},
			[]string{`{"q":"SELECT"}`, `{"q":"SELECT\n1"}`},
			[]string{`{"q":"xSELECT"}`, `{"q":"SELECT 1; DROP"}`, `{"q":"DROP; SELECT"}`, `{"q":"select"}`, `{"q":"SELECT\u0000"}`, `{"q":"SELECT 1\u202e"}`},
		},
		"regexp and full width": {
			policy.Parameter{Argument: "q", Pattern: `SELECT[^;']*`},
			[]string{`{"q":"SELECT 日本 ä"}`, `{"q":"SELECT ＡＢＣ"}`},
			[]string{`{"q":"SELECT 1； DROP"}`, `{"q":"SELECT 1\u037e DROP"}`, `{"q":"SELECT ＇"}`, `{"q":"ＳELECT"}`},
		},
		"regexp of full width": {policy.Parameter{Argument: "q", Pattern: `[Ａ-Ｚ]+`}, []string{`{"q":"ＡＢＣ"}`}, []string{`{"q":"ABC"}`}},
		"regexp ends at the end": {
			policy.Parameter{Argument: "q", Pattern: `a|b$`},
			[]string{`{"q":"a"}`, `{"q":"b"}`},
			[]string{`{"q":"ab"}`, `{"q":"b\n"}`, `{"q":"xb"}`, `{"q":"ax"}`},
		},
		"one_of": {
			policy.Parameter{Argument: "port", OneOf: raw(`80`, `443`, `"http"`, `true`, `null`)},
			[]string{`{"port":80}`, `{"port":"http"}`, `{"port":true}`, `{"port":null}`, `{"port":[80,443]}`},
			[]string{`{"port":"80"}`, `{"port":80.0}`, `{"port":8e1}`, `{"port":22}`, `{"port":"HTTP"}`, `{"port":"true"}`, `{"port":false}`, `{"port":{}}`, `{"port":[]}`, `{"port":[80,22]}`, `{}`, `{"port":"http\u0000"}`, `{"port":443,"Port":22}`},
		},
		"path": {
			policy.Parameter{Argument: "spec.items.name", Globs: []string{"a*"}},
			[]string{`{"spec":{"items":[{"name":"a1"},{"name":"a2"}]}}`, `{"spec":{"items":{"name":"a"}}}`},
			[]string{`{"spec":{"items":[{"name":"a1"},{"name":"b"}]}}`, `{"spec":{"items":[{"name":"a1"},{}]}}`, `{"spec":{"items":[]}}`, `{"spec":{"items":["a"]}}`, `{"spec.items.name":"a"}`, `{"spec":{"items":{"name":"a","Name":"b"}}}`, `{"spec":{"items":{"name":"a"},"Items":{}}}`, `{"spec":"a"}`},
		},
		"numbered element": {
			policy.Parameter{Argument: "argv.0", OneOf: raw(`"ls"`)},
			[]string{`{"argv":["ls","-l"]}`},
			[]string{`{"argv":["rm","ls"]}`, `{"argv":[]}`, `{"argv":"ls"}`},
		},
		"numbered element beyond": {
			policy.Parameter{Argument: "argv.2", OneOf: raw(`"ls"`)}, nil, []string{`{"argv":["ls","ls"]}`},
		},
		"pointer": {
			policy.Parameter{Argument: "/a.b/c~1d", Globs: []string{"x"}},
			[]string{`{"a.b":{"c/d":"x"}}`},
			[]string{`{"a":{"b":{"c/d":"x"}}}`, `{"a.b":{"c/d":"y"}}`},
		},
		"expression on the value": {
			policy.Parameter{Argument: "n", Expression: "value >= 1 && value <= 10"},
			[]string{`{"n":1}`, `{"n":10}`, `{"n":[1,2]}`},
			[]string{`{"n":0}`, `{"n":11}`, `{"n":"5"}`, `{"n":null}`, `{}`, `{"n":[1,11]}`, `{"n":99999999999999999999}`, `{"n":5,"N":50}`, `{"n":{"$handle":"h_1"}}`},
		},
		"expression on all": {
			policy.Parameter{Argument: ".", Expression: `!has(args.port) || args.port in [80, 443]`},
			[]string{`{}`, `{"port":80}`},
			[]string{`{"port":22}`, `{"Port":22}`, `{"port":80,"port":22}`, `{"PORT":22}`, `{"p_ort":22}`, `{"port":"22"}`, `{"port":{"$handle":"h_1"}}`, `[]`, `{"x":"\udc00"}`},
		},
		"expression without an answer": {policy.Parameter{Argument: ".", Expression: "args.missing == 1"}, nil, []string{`{}`}},
		"expression that is no bool":   {policy.Parameter{Argument: ".", Expression: "args.a"}, []string{`{"a":true}`}, []string{`{"a":"true"}`, `{"a":1}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.rule.Tool = tool.ID{Server: "*", Name: "w*"}
			for _, mode := range []tool.Mode{tool.ModeNormal, tool.ModeBypass} {
				o := with(func(o *policy.Options) { o.Mode, o.Parameters = mode, []policy.Parameter{tt.rule} })
				pr := profile(t, o, policy.Subject{})
				for _, args := range tt.allowed {
					if d := pr.Decide(writer, json.RawMessage(args), policy.Facts{}); d.Behavior != tool.Allow {
						t.Errorf("%s is denied: %s", args, d.Reason)
					}
				}
				for _, args := range tt.denied {
					d := pr.Decide(writer, json.RawMessage(args), policy.Facts{})
					if d.Behavior != tool.Deny || d.ReasonType != "rule_param" {
						t.Errorf("%s is %s by %s, want denied by the rule", args, d.Behavior, d.ReasonType)
					}
				}
				if d := pr.Decide(reader, nil, policy.Facts{}); d.Behavior != tool.Allow {
					t.Errorf("a tool that no rule is for is denied: %s", d.Reason)
				}
			}
		})
	}
}

func TestAllParameterRulesHold(t *testing.T) {
	pr := profile(t, with(func(o *policy.Options) {
		o.Parameters = []policy.Parameter{
			{Tool: tool.ID{Server: "*", Name: "*"}, Argument: "a", Globs: []string{"x*"}},
			{Tool: writer.ID, Argument: "a", Globs: []string{"*y"}},
		}
	}), policy.Subject{})
	for args, want := range map[string]tool.Behavior{`{"a":"xy"}`: tool.Allow, `{"a":"x"}`: tool.Deny, `{"a":"y"}`: tool.Deny} {
		if d := pr.Decide(writer, json.RawMessage(args), policy.Facts{}); d.Behavior != want {
			t.Errorf("%s is %s, want %s", args, d.Behavior, want)
		}
	}
}

// TestRulesOnCallers: a rule that looks at who calls tells callers apart.
func TestRulesOnCallers(t *testing.T) {
	p, err := policy.New(with(func(o *policy.Options) {
		o.Parameters = []policy.Parameter{{Tool: writer.ID, Argument: "owner", Expression: `value == caller && session.startsWith("s")`}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		caller, session string
		want            tool.Behavior
	}{{"ann", "s1", tool.Allow}, {"bob", "s1", tool.Deny}, {"ann", "x", tool.Deny}, {"", "s1", tool.Deny}} {
		pr, err := p.Profile(policy.Subject{Caller: tt.caller, Session: tt.session})
		if err != nil {
			t.Fatal(err)
		}
		if d := pr.Decide(writer, json.RawMessage(`{"owner":"ann"}`), policy.Facts{}); d.Behavior != tt.want {
			t.Errorf("%s in %s is %s, want %s", tt.caller, tt.session, d.Behavior, tt.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	id := tool.ID{Server: "s", Name: "t"}
	for want, o := range map[string]policy.Options{
		"names no argument":       {Parameters: []policy.Parameter{{Tool: id, Globs: []string{"x"}}}},
		"gives 0 of":              {Parameters: []policy.Parameter{{Tool: id, Argument: "a"}}},
		"gives 2 of":              {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Globs: []string{"x"}, Pattern: "x"}}},
		"f.yaml:1:2":              {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Pattern: "(", Place: "f.yaml:1:2"}}},
		"missing closing":         {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Pattern: "("}}},
		"unexpected )":            {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Pattern: "a)|(b"}}},
		"did you mean 10.0.0.0/8": {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Networks: []string{"10.1.0.0/8"}}}},
		"no address":              {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Networks: []string{"example.com"}}}},
		"one_of holds":            {Parameters: []policy.Parameter{{Tool: id, Argument: "a", OneOf: raw(`[1]`)}}},
		"no JSON value":           {Parameters: []policy.Parameter{{Tool: id, Argument: "a", OneOf: raw(`1,"x":2`)}}},
		"needs an expression":     {Parameters: []policy.Parameter{{Tool: id, Argument: ".", Globs: []string{"x"}}}},
		"no path":                 {Parameters: []policy.Parameter{{Tool: id, Argument: "a..b", Globs: []string{"x"}}}},
		"no JSON pointer":         {Parameters: []policy.Parameter{{Tool: id, Argument: "/a~2", Globs: []string{"x"}}}},
		"is no pattern":           {Parameters: []policy.Parameter{{Tool: tool.ID{Server: "[", Name: "t"}, Argument: "a", Globs: []string{"x"}}}},
		"column 8":                {Parameters: []policy.Parameter{{Tool: id, Argument: "a", Expression: "1 == 1 &"}}},
		"is_read_only_for_input":  {ReadOnlyFor: []string{"args."}},
		"given twice":             {Skills: []policy.Skill{{Name: "a"}, {Name: "a"}}},
		`skill "a"`:               {Skills: []policy.Skill{{Name: "a", Tools: []string{"x/"}}}},
		"default skill":           {DefaultSkill: "x"},
		"did you mean hosts":      {Skills: []policy.Skill{{Name: "hosts"}}, Callers: []policy.CallerRule{{Name: "a", Skills: []string{"host"}}}},
		`session "["`:             {Sessions: []policy.SessionRule{{Name: "["}}},
		`mode "root"`:             {Sessions: []policy.SessionRule{{Name: "a", Mode: "root"}}},
	} {
		if _, err := policy.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

func TestReasonsTellWhatToDo(t *testing.T) {
	pr := profile(t, with(func(o *policy.Options) {
		o.Parameters = []policy.Parameter{{Tool: writer.ID, Argument: "name", Globs: []string{"web-*"}}}
	}), policy.Subject{})
	d := pr.Decide(writer, json.RawMessage(`{"name":"db-1"}`), policy.Facts{})
	want := `The argument "name" of s/writer is not allowed: it is not among what is allowed. Allowed are texts like web-*.`
	if d.Reason != want {
		t.Errorf("reason is %q, want %q", d.Reason, want)
	}
	if strings.Contains(d.Reason, "db-1") {
		t.Error("the reason repeats the value, which may be a secret")
	}
}

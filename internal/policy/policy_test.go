package policy_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/tool"
)

// The tools of these tests, by what they are.
var (
	reader      = known("reader", func(m *tool.Meta) { m.ReadOnly = true })
	writer      = known("writer", func(*tool.Meta) {})
	destroyer   = known("destroyer", func(m *tool.Meta) { m.Destructive = true })
	risky       = known("risky", func(m *tool.Meta) { m.RiskLevel = tool.RiskHigh })
	riskyReader = known("risky_reader", func(m *tool.Meta) { m.RiskLevel, m.ReadOnly = tool.RiskHigh, true })
	mailer      = known("mailer", func(m *tool.Meta) { m.Notification = true })
	kubectl     = known("kubectl", func(m *tool.Meta) {
		m.RiskLevel, m.Destructive, m.ReadOnlyFor = tool.RiskHigh, true, `args.verb in ["get", "describe"]`
	})
	stranger = &tool.Tool{ID: tool.ID{Server: "s", Name: "stranger"}, Meta: tool.DefaultMeta()}
	held     = &tool.Tool{ID: tool.ID{Server: "s", Name: "held"}, Meta: reader.Meta, Held: "its definition changed"}
)

func known(name string, set func(*tool.Meta)) *tool.Tool {
	t := &tool.Tool{ID: tool.ID{Server: "s", Name: name}, Meta: tool.DefaultMeta()}
	t.Meta.Registered = true
	set(&t.Meta)
	return t
}

func profile(t *testing.T, o policy.Options, s policy.Subject) *policy.Profile {
	t.Helper()
	p, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	pr, err := p.Profile(s)
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

func is(t *testing.T, d *tool.Decision, behavior tool.Behavior, reason string) {
	t.Helper()
	if d.Behavior != behavior || d.ReasonType != reason {
		t.Errorf("decision is %s %s (%s), want %s %s", d.Behavior, d.ReasonType, d.Reason, behavior, reason)
	}
	if d.Reason == "" {
		t.Error("the decision gives no reason")
	}
	if d.Behavior != tool.Allow && (len(d.Chain) == 0 || len(d.Suggestions) == 0) {
		t.Errorf("a decision that does not allow has chain %v and suggestions %v, want both", d.Chain, d.Suggestions)
	}
}

// normal is what an operator has who says nothing.
var normal = policy.Options{Mode: tool.ModeNormal, BlockHighRisk: true, AllowNotification: true}

func with(change func(*policy.Options)) policy.Options {
	o := normal
	change(&o)
	return o
}

// TestOrder goes through the rules in their order: each case is decided by one
// rule although those behind it would decide otherwise.
func TestOrder(t *testing.T) {
	mode := func(m tool.Mode) policy.Options { return with(func(o *policy.Options) { o.Mode = m }) }
	open := func(m tool.Mode) policy.Options {
		return with(func(o *policy.Options) { o.Mode, o.BlockHighRisk = m, false })
	}
	skilled := func(m tool.Mode, s policy.Skill) policy.Options {
		return with(func(o *policy.Options) { o.Mode, o.Skills, o.DefaultSkill = m, []policy.Skill{s}, s.Name })
	}
	lists := func(tools ...string) policy.Skill { return policy.Skill{Name: "sk", Tools: tools} }
	ruled := with(func(o *policy.Options) {
		o.Mode = tool.ModeBypass
		o.Parameters = []policy.Parameter{{Tool: writer.ID, Argument: "a", Globs: []string{"x"}}}
	})
	tests := map[string]struct {
		o        policy.Options
		t        *tool.Tool
		args     string
		f        policy.Facts
		behavior tool.Behavior
		reason   string
	}{
		"blacklist before stopped":             {mode(tool.ModeBypass), reader, "", policy.Facts{Blacklisted: true, Stopped: "x"}, tool.Deny, "blacklist"},
		"stopped before definition":            {mode(tool.ModeBypass), held, "", policy.Facts{Stopped: "x"}, tool.Deny, "stopped"},
		"definition in bypass":                 {mode(tool.ModeBypass), held, "", policy.Facts{}, tool.Deny, "definition"},
		"skill in bypass":                      {skilled(tool.ModeBypass, lists("s/other")), writer, "", policy.Facts{}, tool.Deny, "skill_allowlist"},
		"skill lists":                          {skilled(tool.ModeBypass, lists("s/writer")), writer, "", policy.Facts{}, tool.Allow, "mode_bypass"},
		"skill lists by name":                  {skilled(tool.ModeNormal, lists("writer")), writer, "", policy.Facts{}, tool.Allow, "ok"},
		"skill lists flat":                     {skilled(tool.ModeNormal, lists("s__writer")), writer, "", policy.Facts{}, tool.Allow, "ok"},
		"skill lists by pattern":               {skilled(tool.ModeNormal, lists("s/wr*")), writer, "", policy.Facts{}, tool.Allow, "ok"},
		"skill and what reads":                 {skilled(tool.ModeNormal, lists("s/other")), reader, "", policy.Facts{}, tool.Allow, "ok"},
		"skill and what reads by arguments":    {skilled(tool.ModeNormal, lists("s/other")), kubectl, `{"verb":"get"}`, policy.Facts{}, tool.Allow, "ok"},
		"skill and what writes by arguments":   {skilled(tool.ModeBypass, lists("s/other")), kubectl, `{"verb":"delete"}`, policy.Facts{}, tool.Deny, "skill_allowlist"},
		"strict skill":                         {skilled(tool.ModeNormal, policy.Skill{Name: "sk", Tools: []string{"x"}, Strict: true}), reader, "", policy.Facts{}, tool.Deny, "skill_allowlist"},
		"strict skill, read by arguments":      {skilled(tool.ModeNormal, policy.Skill{Name: "sk", Tools: []string{"x"}, Strict: true}), kubectl, `{"verb":"get"}`, policy.Facts{}, tool.Deny, "skill_allowlist"},
		"empty skill exposes nothing":          {skilled(tool.ModeBypass, lists()), reader, "", policy.Facts{}, tool.Deny, "skill_allowlist"},
		"parameter in bypass":                  {ruled, writer, `{"a":"y"}`, policy.Facts{}, tool.Deny, "rule_param"},
		"parameter missing":                    {ruled, writer, `{}`, policy.Facts{}, tool.Deny, "rule_param"},
		"parameter right":                      {ruled, writer, `{"a":"x"}`, policy.Facts{}, tool.Allow, "mode_bypass"},
		"bypass allows high risk":              {mode(tool.ModeBypass), destroyer, "", policy.Facts{}, tool.Allow, "mode_bypass"},
		"read_only reads":                      {mode(tool.ModeReadOnly), reader, "", policy.Facts{}, tool.Allow, "ok"},
		"read_only before high risk":           {mode(tool.ModeReadOnly), destroyer, "", policy.Facts{}, tool.Deny, "mode_read_only"},
		"read_only and unregistered":           {mode(tool.ModeReadOnly), stranger, "", policy.Facts{}, tool.Deny, "mode_read_only"},
		"read_only by arguments":               {mode(tool.ModeReadOnly), kubectl, `{"verb":"get"}`, policy.Facts{}, tool.Allow, "ok"},
		"read_only, other arguments":           {mode(tool.ModeReadOnly), kubectl, `{"verb":"delete"}`, policy.Facts{}, tool.Deny, "mode_read_only"},
		"read_only, expression without answer": {mode(tool.ModeReadOnly), kubectl, `{}`, policy.Facts{}, tool.Deny, "mode_read_only"},
		"high risk":                            {normal, risky, "", policy.Facts{}, tool.Deny, "guardrail_high"},
		"high risk that reads":                 {normal, riskyReader, "", policy.Facts{}, tool.Deny, "guardrail_high"},
		"destructive":                          {normal, destroyer, "", policy.Facts{}, tool.Deny, "guardrail_high"},
		"high risk by arguments":               {normal, kubectl, `{"verb":"get"}`, policy.Facts{}, tool.Allow, "ok"},
		"high risk, other arguments":           {normal, kubectl, `{"verb":"delete"}`, policy.Facts{}, tool.Deny, "guardrail_high"},
		"high risk before asking":              {mode(tool.ModeAskDestructive), destroyer, "", policy.Facts{Taint: tool.Ask, TaintText: "x"}, tool.Deny, "guardrail_high"},
		"skill opens high risk":                {skilled(tool.ModeNormal, lists("s/risk*")), risky, "", policy.Facts{}, tool.Allow, "ok"},
		"skill opens, and a person is asked":   {skilled(tool.ModeAskDestructive, lists("s/risky")), risky, "", policy.Facts{}, tool.Ask, "mode_ask"},
		"skill opens nothing destructive":      {skilled(tool.ModeNormal, lists("s/destroyer")), destroyer, "", policy.Facts{}, tool.Deny, "guardrail_high"},
		"high risk without the block":          {open(tool.ModeNormal), destroyer, "", policy.Facts{}, tool.Allow, "ok"},
		"notification":                         {with(func(o *policy.Options) { o.AllowNotification = false }), mailer, "", policy.Facts{}, tool.Deny, "guardrail_notify"},
		"notification allowed":                 {normal, mailer, "", policy.Facts{}, tool.Allow, "ok"},
		"taint blocks":                         {normal, reader, "", policy.Facts{Taint: tool.Deny, TaintText: "x"}, tool.Deny, "taint"},
		"taint asks":                           {normal, reader, "", policy.Facts{Taint: tool.Ask, TaintText: "x"}, tool.Ask, "taint"},
		"taint in bypass":                      {mode(tool.ModeBypass), reader, "", policy.Facts{Taint: tool.Deny, TaintText: "x"}, tool.Allow, "mode_bypass"},
		"asks for unregistered":                {open(tool.ModeAskDestructive), stranger, "", policy.Facts{}, tool.Ask, "mode_ask"},
		"asks for destructive":                 {open(tool.ModeAskDestructive), destroyer, "", policy.Facts{}, tool.Ask, "mode_ask"},
		"asks for high risk":                   {open(tool.ModeAskDestructive), riskyReader, "", policy.Facts{}, tool.Ask, "mode_ask"},
		"asks for notification":                {open(tool.ModeAskDestructive), mailer, "", policy.Facts{}, tool.Ask, "mode_ask"},
		"asks not for reading arguments":       {open(tool.ModeAskDestructive), kubectl, `{"verb":"get"}`, policy.Facts{}, tool.Allow, "ok"},
		"asks not for a writer":                {open(tool.ModeAskDestructive), writer, "", policy.Facts{}, tool.Allow, "ok"},
		"normal and unregistered":              {normal, stranger, "", policy.Facts{}, tool.Allow, "ok"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pr := profile(t, tt.o, policy.Subject{})
			args := json.RawMessage(tt.args)
			is(t, pr.Decide(tt.t, args, tt.f), tt.behavior, tt.reason)
			e := pr.Explain(tt.t, args, tt.f)
			is(t, e, tt.behavior, tt.reason)
			if last := e.Chain[len(e.Chain)-1]; last.Rule != tt.reason || last.Verdict != tt.behavior {
				t.Errorf("the chain ends with %+v, want what decided", last)
			}
			// What is refused whatever the arguments is not listed, and what is allowed is.
			if v := pr.Visible(tt.t, tt.f); tt.behavior != tool.Deny && v.Behavior == tool.Deny {
				t.Errorf("the tool is hidden by %s, and can be called", v.ReasonType)
			}
		})
	}
}

func TestVisible(t *testing.T) {
	ruled := with(func(o *policy.Options) {
		o.Mode = tool.ModeReadOnly
		o.Parameters = []policy.Parameter{{Tool: reader.ID, Argument: "a", Globs: []string{"x"}}}
		o.Skills = []policy.Skill{{Name: "some", Tools: []string{"reader"}}, {Name: "strict", Tools: []string{"reader"}, Strict: true}}
	})
	for name, tt := range map[string]struct {
		t     *tool.Tool
		skill string
		want  tool.Behavior
	}{
		"with parameter rules":                {reader, "", tool.Allow},
		"might only read":                     {kubectl, "", tool.Allow},
		"might only read, beside a skill":     {kubectl, "some", tool.Allow},
		"might only read, but strict":         {kubectl, "strict", tool.Deny},
		"writes":                              {writer, "", tool.Deny},
		"nobody knows":                        {stranger, "", tool.Deny},
		"reads, and would be asked elsewhere": {riskyReader, "", tool.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			d := profile(t, ruled, policy.Subject{Skill: tt.skill}).Visible(tt.t, policy.Facts{})
			if d.Behavior != tt.want {
				t.Errorf("visible is %s by %s, want %s", d.Behavior, d.ReasonType, tt.want)
			}
		})
	}
}

// TestMode: the configuration says the mode, a grant caps it, and sessions and
// calls only make it stricter.
func TestMode(t *testing.T) {
	o := normal
	o.Callers = []policy.CallerRule{
		{Name: "ci-*", Mode: tool.ModeReadOnly},
		{Name: "c?-*", Mode: tool.ModeBypass},
		{Name: "ci-deploy", Mode: tool.ModeBypass, Limits: "small"},
	}
	o.Sessions = []policy.SessionRule{{Name: "free*", Mode: tool.ModeBypass}, {Name: "night*", Mode: tool.ModeReadOnly, Limits: "tiny"}}
	for name, tt := range map[string]struct {
		s    policy.Subject
		want tool.Mode
	}{
		"default":                        {policy.Subject{}, tool.ModeNormal},
		"wish is stricter":               {policy.Subject{Mode: tool.ModeReadOnly}, tool.ModeReadOnly},
		"wish is laxer":                  {policy.Subject{Mode: tool.ModeBypass}, tool.ModeNormal},
		"the strictest pattern":          {policy.Subject{Caller: "ci-7"}, tool.ModeReadOnly},
		"a spelled name wins":            {policy.Subject{Caller: "ci-deploy"}, tool.ModeBypass},
		"a session is stricter":          {policy.Subject{Caller: "ci-deploy", Session: "nightly"}, tool.ModeReadOnly},
		"a session is never laxer":       {policy.Subject{Session: "freely"}, tool.ModeNormal},
		"a grant caps":                   {policy.Subject{Caller: "ci-deploy", Grant: &tool.Grant{Mode: tool.ModeAskDestructive}}, tool.ModeAskDestructive},
		"a grant never lifts":            {policy.Subject{Grant: &tool.Grant{Mode: tool.ModeBypass}}, tool.ModeNormal},
		"a grant that says nothing":      {policy.Subject{Grant: &tool.Grant{}}, tool.ModeNormal},
		"a wish within a grant":          {policy.Subject{Mode: tool.ModeReadOnly, Grant: &tool.Grant{Mode: tool.ModeNormal}}, tool.ModeReadOnly},
		"a name that is spelled as glob": {policy.Subject{Caller: "ci-*"}, tool.ModeReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			if got := profile(t, o, tt.s).Mode(); got != tt.want {
				t.Errorf("mode is %s, want %s", got, tt.want)
			}
		})
	}
	limits := profile(t, o, policy.Subject{Caller: "ci-deploy", Session: "nightly", Grant: &tool.Grant{Limits: "own"}}).Limits()
	if got := strings.Join(limits, " "); got != "small tiny own" {
		t.Errorf("limits are %q, want those of all rules", got)
	}
}

func TestUnknownModeIsNoMode(t *testing.T) {
	p, err := policy.New(normal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Profile(policy.Subject{Mode: "readonly"}); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "read_only") {
		t.Errorf("error is %v, want one of kind invalid that names the modes", err)
	}
	if _, err := p.Profile(policy.Subject{Grant: &tool.Grant{Mode: "x"}}); tool.KindOf(err) != tool.Denied {
		t.Errorf("error is %v, want one of kind denied", err)
	}
	if _, err := policy.New(policy.Options{Mode: "careful"}); err == nil || !strings.Contains(err.Error(), "careful") {
		t.Errorf("error is %v, want one that names the mode", err)
	}
}

func TestSkillIsChosen(t *testing.T) {
	o := normal
	for _, name := range []string{"network", "hosts", "containers"} {
		o.Skills = append(o.Skills, policy.Skill{Name: name, Tools: []string{"x"}})
	}
	o.DefaultSkill = "hosts"
	o.Callers = []policy.CallerRule{{Name: "net", Skills: []string{"network"}}, {Name: "two", Skills: []string{"network", "containers"}}}
	for name, tt := range map[string]struct {
		s    policy.Subject
		want string
		kind tool.Kind
		text string
	}{
		"default":                         {policy.Subject{}, "hosts", "", ""},
		"by call":                         {policy.Subject{Skill: "network"}, "network", "", ""},
		"misspelled":                      {policy.Subject{Skill: "netwrok"}, "", tool.Invalid, "did you mean network"},
		"unknown":                         {policy.Subject{Skill: "qqqqqqqqqqqq"}, "", tool.Invalid, "containers, hosts, network"},
		"by caller":                       {policy.Subject{Caller: "net"}, "network", "", ""},
		"caller is held to it":            {policy.Subject{Caller: "net", Skill: "hosts"}, "", tool.Denied, "network"},
		"caller of two has to choose":     {policy.Subject{Caller: "two"}, "", tool.Denied, "containers, network"},
		"caller of two chooses":           {policy.Subject{Caller: "two", Skill: "containers"}, "containers", "", ""},
		"by key":                          {policy.Subject{Grant: &tool.Grant{Skills: []string{"network"}}}, "network", "", ""},
		"key is held to it":               {policy.Subject{Skill: "hosts", Grant: &tool.Grant{Skills: []string{"network"}}}, "", tool.Denied, "network"},
		"key of two has the default":      {policy.Subject{Grant: &tool.Grant{Skills: []string{"network", "hosts"}}}, "hosts", "", ""},
		"caller and key meet":             {policy.Subject{Caller: "two", Grant: &tool.Grant{Skills: []string{"network", "hosts"}}}, "network", "", ""},
		"caller and key do not meet":      {policy.Subject{Caller: "net", Grant: &tool.Grant{Skills: []string{"hosts"}}}, "", tool.Denied, "none in common"},
		"key with a skill that is gone":   {policy.Subject{Grant: &tool.Grant{Skills: []string{"gone"}}}, "", tool.Denied, "gone"},
		"key of two, one of them is gone": {policy.Subject{Grant: &tool.Grant{Skills: []string{"gone", "network"}}}, "", tool.Denied, "Choose one of"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.New(o)
			if err != nil {
				t.Fatal(err)
			}
			pr, err := p.Profile(tt.s)
			switch {
			case tt.kind == "" && err != nil:
				t.Fatal(err)
			case tt.kind == "" && pr.Skill() != tt.want:
				t.Errorf("skill is %q, want %q", pr.Skill(), tt.want)
			case tt.kind != "" && (err == nil || tool.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text)):
				t.Errorf("error is %v, want one of kind %s with %q", err, tt.kind, tt.text)
			}
		})
	}
}

// TestProfilesAreKept: the same subject has the same profile, found without an
// allocation, and what is kept is bounded.
func TestProfilesAreKept(t *testing.T) {
	o := normal
	o.Skills = []policy.Skill{{Name: "a", Tools: []string{"x"}}, {Name: "b", Tools: []string{"x"}}}
	p, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	subject := func(session string) policy.Subject {
		return policy.Subject{Caller: "c", Session: session, Grant: &tool.Grant{Mode: tool.ModeNormal, Skills: []string{"a", "b"}, Limits: "l"}, Skill: "a"}
	}
	first, err := p.Profile(subject("1"))
	if err != nil {
		t.Fatal(err)
	}
	s := subject("1")
	if n := testing.AllocsPerRun(100, func() {
		if again, _ := p.Profile(s); again != first {
			t.Error("the same subject has another profile")
		}
	}); n != 0 {
		t.Errorf("finding a profile allocates %v times", n)
	}
	for i := range 20_000 {
		pr, err := p.Profile(subject(strings.Repeat("s", i%50) + string(rune('a'+i%26)) + strings.Repeat("t", i/50%400)))
		if err != nil {
			t.Fatal(err)
		}
		if pr != first {
			t.Fatal("sessions that no rule tells apart have several profiles")
		}
	}
	s.Grant = &tool.Grant{Mode: tool.ModeNormal, Skills: []string{"b"}, Limits: "l"}
	if _, err := p.Profile(s); tool.KindOf(err) != tool.Denied {
		t.Errorf("a grant for other skills: error is %v, want denied", err)
	}
	other, err := p.Profile(policy.Subject{Skill: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if other == first || other.Scope() == first.Scope() {
		t.Error("two skills have one profile")
	}
}

// TestAllowingIsFree: a call that is simply allowed costs no allocation.
func TestAllowingIsFree(t *testing.T) {
	o := normal
	o.Skills = []policy.Skill{{Name: "a", Tools: []string{"s/*"}}}
	pr := profile(t, o, policy.Subject{Skill: "a"})
	args := json.RawMessage(`{"a": 1}`)
	for _, tl := range []*tool.Tool{reader, writer, stranger} {
		if n := testing.AllocsPerRun(100, func() { pr.Decide(tl, args, policy.Facts{}) }); n != 0 {
			t.Errorf("allowing %s allocates %v times", tl.Name, n)
		}
		if n := testing.AllocsPerRun(100, func() { pr.Visible(tl, policy.Facts{}) }); n != 0 {
			t.Errorf("showing %s allocates %v times", tl.Name, n)
		}
	}
}

// TestToolIsMetAnew: a definition that changed is not judged by what was known of
// the one before.
func TestToolIsMetAnew(t *testing.T) {
	pr := profile(t, with(func(o *policy.Options) { o.Mode = tool.ModeReadOnly }), policy.Subject{})
	args := json.RawMessage(`{"verb": "get"}`)
	is(t, pr.Decide(kubectl, args, policy.Facts{}), tool.Allow, "ok")
	changed := *kubectl
	changed.Meta.ReadOnlyFor = ""
	is(t, pr.Decide(&changed, args, policy.Facts{}), tool.Deny, "mode_read_only")
}

func TestReadsOnly(t *testing.T) {
	p, err := policy.New(normal)
	if err != nil {
		t.Fatal(err)
	}
	broken := known("broken", func(m *tool.Meta) { m.ReadOnlyFor = "args.verb ==" })
	numeric := known("numeric", func(m *tool.Meta) { m.ReadOnlyFor = "args.n < 10 && args.list.all(x, x != 3)" })
	for name, tt := range map[string]struct {
		t    *tool.Tool
		args string
		want bool
	}{
		"always":           {reader, `{}`, true},
		"never":            {writer, `{}`, false},
		"by arguments":     {kubectl, `{"verb":"get"}`, true},
		"other arguments":  {kubectl, `{"verb":"delete"}`, false},
		"missing":          {kubectl, `{}`, false},
		"given twice":      {kubectl, `{"verb":"delete","verb":"get"}`, false},
		"given twice, 2":   {kubectl, `{"verb":"get","verb":"delete"}`, false},
		"another case":     {kubectl, `{"verb":"get","VERB":"delete"}`, false},
		"only the other":   {kubectl, `{"VERB":"get"}`, false},
		"escaped name":     {kubectl, `{"verb":"get","\u0076erb":"delete"}`, false},
		"a list":           {kubectl, `{"verb":["get"]}`, false},
		"a handle":         {kubectl, `{"verb":"get","x":{"$handle":"h_1"}}`, false},
		"no JSON":          {kubectl, `{"verb":"get"`, false},
		"more behind":      {kubectl, `{"verb":"get"} {}`, false},
		"no object":        {kubectl, `["get"]`, false},
		"lone surrogate":   {kubectl, `{"verb":"get","x":"\ud800"}`, false},
		"no width":         {kubectl, `{"verb":"get","verb\u200b":"delete"}`, false},
		"no ink":           {kubectl, "{\"verb\":\"get\",\"verb\u3164\":\"delete\"}", false},
		"a selector":       {kubectl, "{\"verb\":\"get\",\"verb\ufe0f\":\"delete\"}", false},
		"a selector at it": {kubectl, "{\"verb\":\"get\\ufe0f\"}", false},
		"an emoji beside":  {kubectl, "{\"verb\":\"get\",\"x\":\"\u2764\ufe0f\"}", true},
		"mistake":          {broken, `{"verb":"get"}`, false},
		"numbers":          {numeric, `{"n":9,"list":[1,2]}`, true},
		"numbers, no":      {numeric, `{"n":9,"list":[1,3]}`, false},
		"fraction":         {numeric, `{"n":9.5,"list":[]}`, true},
		"too large":        {numeric, `{"n":-99999999999999999999,"list":[]}`, false},
		"a text is no int": {numeric, `{"n":"1","list":[]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := p.ReadsOnly(tt.t, json.RawMessage(tt.args)); got != tt.want {
				t.Errorf("reads only is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestExpressionsAreBounded: an expression that costs much gives no answer, which
// is no.
func TestExpressionsAreBounded(t *testing.T) {
	p, err := policy.New(normal)
	if err != nil {
		t.Fatal(err)
	}
	greedy := known("greedy", func(m *tool.Meta) {
		m.ReadOnlyFor = "args.l.all(a, args.l.all(b, args.l.all(c, args.l.all(d, true))))"
	})
	list := "[" + strings.Repeat("1,", 199) + "1]"
	if p.ReadsOnly(greedy, json.RawMessage(`{"l":`+list+`}`)) {
		t.Error("an expression without end has an answer")
	}
	if !p.ReadsOnly(greedy, json.RawMessage(`{"l":[1,2]}`)) {
		t.Error("a short one has none")
	}
}

func TestExpressionMistakes(t *testing.T) {
	c := policy.NewCompiler()
	for text, want := range map[string]struct{ line, column int }{
		"args.verb ==":                       {1, 13},
		"argz.verb == 'a'":                   {1, 1},
		"args.a == 1 &&\n  value == 1":       {2, 3},
		"args.a + 1":                         {1, 1},
		"1":                                  {1, 1},
		"":                                   {1, 1},
		"size(args":                          {1, 10},
		strings.Repeat("(", 300):             {1, 0},
		"true " + strings.Repeat("x", 5_000): {1, 1},
	} {
		err := c.CheckReadOnly(text)
		e, ok := errors.AsType[*policy.ExpressionError](err)
		if !ok {
			t.Errorf("%.40q: error is %v, want a mistake", text, err)
			continue
		}
		if e.Line != want.line || want.column > 0 && e.Column != want.column {
			t.Errorf("%.40q: place is %d:%d, want %d:%d (%v)", text, e.Line, e.Column, want.line, want.column, e)
		}
	}
	if err := c.CheckParameter("value == 1 && caller == 'a' && session != '' && args.a == 1 && server + tool != ''"); err != nil {
		t.Errorf("a rule may use all variables: %v", err)
	}
}

// TestSideBySide: many callers decide at once, on tools and for subjects that are
// met for the first time.
func TestSideBySide(t *testing.T) {
	p, err := policy.New(with(func(o *policy.Options) {
		o.Skills = []policy.Skill{{Name: "a", Tools: []string{"s/*"}}}
		o.Parameters = []policy.Parameter{{Tool: tool.ID{Server: "s", Name: "w*"}, Argument: "n", Expression: `value == 1 && caller != "x"`}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				pr, err := p.Profile(policy.Subject{Caller: strings.Repeat("c", j%7), Session: strings.Repeat("s", i), Skill: "a"})
				if err != nil {
					t.Error(err)
					return
				}
				for _, tl := range []*tool.Tool{reader, writer, kubectl, destroyer} {
					pr.Visible(tl, policy.Facts{})
					if d := pr.Decide(tl, json.RawMessage(`{"n":1,"verb":"get"}`), policy.Facts{}); (d.Behavior == tool.Allow) != (tl != destroyer) {
						t.Errorf("%s is %s: %s", tl.Name, d.Behavior, d.Reason)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestArgumentsFullOfNothing: arguments that hold more than can be judged are refused,
// and cost no more than a part of them.
func TestArgumentsFullOfNothing(t *testing.T) {
	p, err := policy.New(policy.Options{
		AllowNotification: true,
		Parameters:        []policy.Parameter{{Tool: tool.ID{Server: "s", Name: "t"}, Argument: "path", Globs: []string{"/data/*"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pr, err := p.Profile(policy.Subject{})
	if err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"path":"/data/x","list":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := pr.Decide(&tool.Tool{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{Registered: true}}, args, policy.Facts{})
	runtime.ReadMemStats(&after)
	if d.Behavior != tool.Deny || d.ReasonType != policy.RuleParam {
		t.Errorf("%+v", d)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 100<<20 {
		t.Errorf("it cost %d bytes", grown)
	}
}

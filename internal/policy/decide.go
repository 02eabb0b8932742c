package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// Facts are what the gateway knows of a tool, or of a session, at this moment.
type Facts struct {
	Blacklisted bool
	Stopped     string        // why the tool was stopped; empty where it was not
	Taint       tool.Behavior // what follows from what the session has read; empty is nothing
	TaintText   string        // the trail
}

// The types of reasons, and the names of the rules.
const (
	Blacklist  = "blacklist"
	Stopped    = "stopped"
	Definition = "definition"
	SkillList  = "skill_allowlist"
	RuleParam  = "rule_param"
	Bypass     = "mode_bypass"
	ReadOnly   = "mode_read_only"
	HighRisk   = "guardrail_high"
	Notify     = "guardrail_notify"
	Taint      = "taint"
	AskFirst   = "mode_ask"
	OK         = "ok"
)

// A rule answers a question, or leaves it to the next one.
type rule struct {
	name string
	ask  func(q question) answer
}

// An answer without a verdict leaves the question to the next rule; its text says
// why.
type answer struct {
	verdict     tool.Behavior
	text        string
	suggestions []string
}

// order is the order of the rules: the first that answers decides. What no mode
// may bypass stands before bypass. A block is decided before asking, so that no
// approval overrides it.
var order = [...]rule{
	{Blacklist, blacklist},
	{Stopped, stopped},
	{Definition, definition},
	{SkillList, skillList},
	{RuleParam, parameters},
	{Bypass, bypass},
	{ReadOnly, readOnly},
	{HighRisk, highRisk},
	{Notify, notify},
	{Taint, taint},
	{AskFirst, askFirst},
	{OK, func(question) answer { return answer{verdict: tool.Allow, text: "nothing stands against it"} }},
}

// A question is whether a tool may be used by a profile.
type question struct {
	pr    *Profile
	t     *tool.Tool
	k     *facts
	f     Facts
	args  *arguments // nil where they are not known, or no rule looks at them
	known bool       // the arguments are known
	reads reading
}

// reading says whether a call only reads.
type reading int

const (
	writes  reading = iota // or may
	may                    // it depends on arguments that are not known
	byArgs                 // with these arguments
	always                 // whatever the arguments
	noReply                // the expression gave no answer, so it may write
)

// maxKnown bounds what is kept of tools. Their IDs come from servers.
const maxKnown = 65_536

// facts are what the policy has for one tool.
type facts struct {
	t      *tool.Tool
	params []*param
	reads  *program // nil where no arguments make it read-only
}

// about returns what the policy has for a tool.
func (p *Policy) about(t *tool.Tool) *facts {
	p.mu.RLock()
	k := p.known[t.ID]
	p.mu.RUnlock()
	if k != nil && k.t == t {
		return k
	}
	k = &facts{t: t, params: p.exact[t.ID]}
	for _, c := range p.params {
		if strings.HasPrefix(t.Name, c.prefix) && glob.MatchID(c.Tool, t.ID) {
			k.params = append(slices.Clip(k.params), c)
		}
	}
	if t.Meta.ReadOnlyFor != "" {
		program, err := p.exprs.readOnly(t.Meta.ReadOnlyFor)
		if err != nil {
			program = nil // a mistake, told when the configuration is read: it reads never
		}
		k.reads = program
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[t.ID] = k
	return k
}

// Visible decides whether a tool is listed: all but denied ones are. What depends
// on the arguments stands against nothing here.
func (pr *Profile) Visible(t *tool.Tool, f Facts) *tool.Decision {
	q := question{pr: pr, t: t, k: pr.p.about(t), f: f}
	switch {
	case t.Meta.ReadOnly:
		q.reads = always
	case q.k.reads != nil:
		q.reads = may
	}
	return q.decide()
}

// Decide decides on a call with these arguments. Where it simply allows, it gives
// a decision without a chain.
func (pr *Profile) Decide(t *tool.Tool, args json.RawMessage, f Facts) *tool.Decision {
	return pr.question(t, args, f).decide()
}

// Explain decides like Decide, and always gives the chain.
func (pr *Profile) Explain(t *tool.Tool, args json.RawMessage, f Facts) *tool.Decision {
	return pr.question(t, args, f).explain()
}

// ReadsOnly reports whether a call with these arguments only reads: the tool does
// so always, or with these arguments.
func (p *Policy) ReadsOnly(t *tool.Tool, args json.RawMessage) bool {
	if t.Meta.ReadOnly {
		return true
	}
	k := p.about(t)
	if k.reads == nil {
		return false
	}
	ok, err := k.reads.holds(read(args), t, nil)
	return err == nil && ok
}

func (pr *Profile) question(t *tool.Tool, args json.RawMessage, f Facts) question {
	q := question{pr: pr, t: t, k: pr.p.about(t), f: f, known: true}
	if q.k.reads != nil || len(q.k.params) > 0 {
		q.args = read(args)
	}
	switch {
	case t.Meta.ReadOnly:
		q.reads = always
	case q.k.reads != nil:
		ok, err := q.k.reads.holds(q.args, t, nil)
		switch {
		case err != nil:
			q.reads = noReply
		case ok:
			q.reads = byArgs
		}
	}
	return q
}

// Reads reports whether a call with these arguments changes nothing.
func (pr *Profile) Reads(t *tool.Tool, args json.RawMessage) bool {
	if t.Meta.ReadOnly || t.Meta.ReadOnlyFor == "" {
		return t.Meta.ReadOnly
	}
	return pr.question(t, args, Facts{}).reads == byArgs
}

// The decisions that simply allow.
var (
	allowed  = &tool.Decision{Behavior: tool.Allow, ReasonType: OK, Reason: "Allowed."}
	bypassed = &tool.Decision{Behavior: tool.Allow, ReasonType: Bypass, Reason: "Allowed: the mode is bypass."}
)

// decide asks the rules in order. It asks again where there is more to say than
// that the tool may be used.
func (q question) decide() *tool.Decision {
	for i := range order {
		a := order[i].ask(q)
		switch {
		case a.verdict == "":
		case a.verdict != tool.Allow:
			return q.explain()
		case order[i].name == Bypass:
			return bypassed
		default:
			return allowed
		}
	}
	return q.explain()
}

// explain asks the rules in order, and keeps what each of them said.
func (q question) explain() *tool.Decision {
	chain := make([]tool.Step, 0, len(order))
	for _, r := range order {
		a := r.ask(q)
		chain = append(chain, tool.Step{Rule: r.name, Verdict: a.verdict, Text: a.text})
		if a.verdict == "" {
			continue
		}
		d := &tool.Decision{Behavior: a.verdict, ReasonType: r.name, Reason: a.text, Suggestions: a.suggestions, Chain: chain}
		if a.verdict == tool.Allow {
			d.Reason = allowed.Reason
			if r.name == Bypass {
				d.Reason = bypassed.Reason
			}
		}
		return d
	}
	return &tool.Decision{Behavior: tool.Deny, ReasonType: SkillList, Reason: "No rule allows it.", Chain: chain}
}

func pass(text string) answer { return answer{text: text} }

func deny(text string, suggestions ...string) answer {
	return answer{tool.Deny, text, suggestions}
}

// The suggestions, for a model to follow or a person to choose from.
const (
	useOther   = "use another tool"
	askHelp    = "tell the user what you need and why"
	otherArgs  = "change the arguments to what is allowed"
	onlyRead   = "use a tool that only reads"
	askOnce    = "allow once"
	askSession = "allow for this session"
	askDeny    = "deny"
)

func blacklist(q question) answer {
	if !q.f.Blacklisted {
		return pass("it is not on the blacklist")
	}
	return deny(fmt.Sprintf("The tool %s is on the blacklist of this gateway. Do not call it again.", q.t.ID), useOther, askHelp)
}

func stopped(q question) answer {
	if q.f.Stopped == "" {
		return pass("nobody has stopped it")
	}
	return deny(fmt.Sprintf("The tool %s cannot be used now. %s. Do not call it again before the stop is lifted.",
		q.t.ID, strings.TrimRight(q.f.Stopped, ". ")), useOther, askHelp)
}

func definition(q question) answer {
	if q.t.Held == "" {
		return pass("its definition is accepted")
	}
	return deny(fmt.Sprintf("The tool %s is held back: %s. An operator has to accept its definition first.",
		q.t.ID, strings.TrimRight(q.t.Held, ". ")), useOther, askHelp)
}

func skillList(q question) answer {
	s := q.pr.scope.skill
	switch {
	case s == nil:
		return pass("no skill is chosen")
	case s.lists(q.t.ID):
		return pass("the skill lists it")
	case len(s.Tools) == 0:
		return deny(fmt.Sprintf("The skill %q lists no tools, so none can be used with it.", s.Name), "choose another skill", askHelp)
	case s.Strict:
	case q.reads == always:
		return pass("the skill does not list it, but it only reads")
	case q.reads == byArgs:
		return pass("the skill does not list it, but with these arguments it only reads")
	case q.reads == may:
		return pass("the skill does not list it, but it may only read, depending on the arguments")
	}
	text := fmt.Sprintf("The tool %s is not among the tools of the skill %q.", q.t.ID, s.Name)
	if q.k.reads != nil && !s.Strict {
		return deny(text+" It could be called with arguments with which it only reads.", otherArgs, useOther, "choose a skill that lists it")
	}
	return deny(text+" Use one of those that are listed to you.", useOther, "choose a skill that lists it")
}

func parameters(q question) answer {
	switch {
	case len(q.k.params) == 0:
		return pass("no rule looks at its arguments")
	case !q.known:
		return pass("rules look at its arguments, which are not known yet")
	}
	for _, c := range q.k.params {
		wrong := c.wrong(q.pr, q.t, q.args)
		if wrong == "" {
			continue
		}
		what := fmt.Sprintf("The argument %q of %s is not allowed: %s.", c.Argument, q.t.ID, wrong)
		if len(c.path) == 0 || q.args.doubt != "" {
			what = fmt.Sprintf("The arguments of %s are not allowed: %s.", q.t.ID, wrong)
		}
		return deny(what+" "+c.allows(), otherArgs, askHelp)
	}
	return pass("its arguments are within the rules")
}

// allows says what the rule allows, for the model to choose from.
func (c *param) allows() string {
	const most = 10
	list := func(words []string) string {
		more := ""
		if len(words) > most {
			words, more = words[:most], fmt.Sprintf(" and %d more", len(words)-most)
		}
		return strings.Join(words, ", ") + more
	}
	switch {
	case len(c.Globs) > 0:
		return "Allowed are texts like " + list(c.Globs) + "."
	case len(c.Networks) > 0:
		return "Allowed are addresses within " + list(c.Networks) + "."
	case c.Pattern != "":
		return "Allowed is what the regular expression " + clip(c.Pattern) + " matches as a whole."
	case len(c.OneOf) > 0:
		words := make([]string, len(c.OneOf))
		for i, v := range c.OneOf {
			words[i] = string(v)
		}
		return "Allowed are " + list(words) + "."
	}
	return "Allowed is that for which this holds: " + clip(c.Expression)
}

func bypass(q question) answer {
	if q.pr.scope.mode != tool.ModeBypass {
		return pass("the mode is not bypass")
	}
	return answer{verdict: tool.Allow, text: "the mode is bypass"}
}

func readOnly(q question) answer {
	if q.pr.scope.mode != tool.ModeReadOnly {
		return pass("the mode lets tools write")
	}
	switch q.reads {
	case always:
		return pass("it only reads")
	case byArgs:
		return pass("with these arguments it only reads")
	case may:
		return pass("it may only read, depending on the arguments")
	case writes, noReply:
	}
	text := fmt.Sprintf("The mode is read_only, and %s may change something", q.t.ID)
	switch {
	case q.k.reads != nil:
		return deny(text+" with these arguments. Call it with arguments with which it only reads.", otherArgs, onlyRead, askHelp)
	case !q.t.Meta.Registered && q.t.SaysItReads():
		return deny(text+": its server says that it only reads, which is not believed here. Use another tool that only reads.", onlyRead, askHelp)
	case !q.t.Meta.Registered:
		return deny(text+": nobody has declared what it does. Use a tool that only reads.", onlyRead, askHelp)
	}
	return deny(text+". Use a tool that only reads.", onlyRead, askHelp)
}

// risky reports whether the tool can do great harm.
func risky(m *tool.Meta) bool { return m.Risk() == tool.RiskHigh }

func highRisk(q question) answer {
	m := &q.t.Meta
	switch {
	case !risky(m):
		return pass("it is neither high-risk nor destructive")
	case !q.pr.p.o.BlockHighRisk:
		return pass("high-risk tools are not blocked")
	case q.reads == byArgs:
		return pass("with these arguments it only reads")
	case q.reads == may:
		return pass("it may only read, depending on the arguments")
	case !m.Destructive && q.pr.scope.skill != nil && q.pr.scope.skill.lists(q.t.ID):
		return pass("it is high-risk but not destructive, and the skill lists it")
	}
	kind := "high-risk"
	if m.Destructive {
		kind = "destructive (high risk)"
	}
	return deny(fmt.Sprintf("The tool %s is %s, and such tools are blocked here. No approval opens it; only the operator can.", q.t.ID, kind),
		onlyRead, askHelp)
}

func notify(q question) answer {
	switch {
	case !q.t.Meta.Notification:
		return pass("it sends no messages to people")
	case q.pr.p.o.AllowNotification:
		return pass("tools that send messages to people are allowed")
	}
	return deny(fmt.Sprintf("The tool %s sends messages to people, which is not allowed here. Give your message to the user instead.", q.t.ID), askHelp)
}

func taint(q question) answer {
	switch q.f.Taint {
	case tool.Deny:
		return deny(fmt.Sprintf("%s can send data out, and this session has read what must not leave: %s.",
			q.t.ID, strings.TrimRight(q.f.TaintText, ". ")), "go on without sending data out", askHelp)
	case tool.Ask:
		return answer{tool.Ask, fmt.Sprintf("%s can send data out, and a person decides whether it may: %s.",
			q.t.ID, strings.TrimRight(q.f.TaintText, ". ")), []string{askOnce, askSession, askDeny}}
	case tool.Allow:
	}
	return pass("nothing that the session has read stands against it")
}

func askFirst(q question) answer {
	m := &q.t.Meta
	why := ""
	switch {
	case q.pr.scope.mode != tool.ModeAskDestructive:
		return pass("the mode asks nobody")
	case q.reads == byArgs && !m.Notification:
		return pass("with these arguments it only reads")
	case m.Destructive:
		why = "is destructive"
	case m.RiskLevel == tool.RiskHigh:
		why = "is high-risk"
	case m.Notification:
		why = "sends messages to people"
	case !m.Registered:
		why = "was declared by nobody, so that it is not known what it does"
	default:
		return pass("it need not be asked for")
	}
	return answer{tool.Ask, fmt.Sprintf("%s %s, and a person decides whether it may run.", q.t.ID, why), []string{askOnce, askSession, askDeny}}
}

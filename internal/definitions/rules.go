package definitions

// A rule is a sequence of words within one sentence that no honest definition is
// expected to have.
type rule struct {
	name      string
	severity  Severity
	why       string
	parameter bool // holds within a parameter only
	steps     []ruleStep
	needs     class // one class of each step that has just one
}

// A ruleStep is the next word of a rule: one of these classes, within so many words, and
// none of those between.
type ruleStep struct {
	any    class
	within int
	not    class
}

const (
	whyOverride  = "it takes the model's instructions out of force"
	whyConceal   = "it asks the model to hide something from the person"
	whySecrets   = "it asks for what the tool cannot need: secrets, or files that hold them"
	whyTalk      = "it asks for the conversation, which the tool cannot need"
	whyExfil     = "it sends what the model knows to an address of its own"
	whyShadow    = "it tells the model how to use the tools of others"
	whyAuthority = "it claims an authority, or a consent, that a definition cannot give"
)

func ruleList() []rule {
	return []rule{
		{name: "override", severity: High, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cPrior, within: 6}, {any: cOrder | cRule, within: 4}}},
		{name: "override", severity: High, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cOrder | cRule, within: 4}, {any: cPrior, within: 6}}},
		{name: "override", severity: High, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cAll, within: 2}, {any: cOrder, within: 4}}},
		{name: "override", severity: High, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cEverything, within: 3}, {any: cSaid, within: 6}}},
		{name: "override", severity: High, why: whyOverride, steps: []ruleStep{{any: cNot}, {any: cFollow, within: 2}, {any: cOrder | cRule, within: 5}, {any: cPrior, within: 4}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cOrder | cRule}, {any: cSystem | cPrior | cYou, within: 8}, {any: cNoLonger, within: 6}, {any: cApply, within: 2}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cOrder}, {any: cPrior, within: 8}, {any: cVoid, within: 5}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cPrior}, {any: cOrder, within: 3}, {any: cVoid, within: 6}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cSafety}, {any: cRule | cOrder, within: 2}, {any: cVoid, within: 5}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cNew}, {any: cOrder, within: 1}, {any: cModel, within: 4}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cYou}, {any: cMode | cFree, within: 8, not: 0}, {any: cNot | cFree, within: 6}, {any: cRule, within: 3}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cYou}, {any: cSystem, within: 5}, {any: cMode, within: 1}}},

		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cNot}, {any: cTell, within: 2, not: cMild}, {any: cUser, within: 6}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cTell}, {any: cUser, within: 3}, {any: cNot, within: 2}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cKeep}, {any: cHidden, within: 4}, {any: cUser, within: 4}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cHide}, {any: cThat, within: 1}, {any: cUser, within: 5}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cUser}, {any: cMust, within: 1}, {any: cNot, within: 1}, {any: cKnow, within: 2}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cSilently}, {any: cSend | cPass, within: 4, not: cMild}}},

		{name: "secrets", severity: High, why: whySecrets, steps: []ruleStep{{any: cRead}, {any: cPath, within: 8}, {any: cPass | cSend, within: 10}}},
		{name: "secrets", severity: High, why: whySecrets, parameter: true, steps: []ruleStep{{any: cContents}, {any: cPath, within: 8}}},
		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cContents}, {any: cPath, within: 5}}},
		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cRead | cShell}, {any: cPath, within: 8}, {any: cContents | cInto, within: 8}}},
		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cAlways}, {any: cPass | cSend, within: 2}, {any: cSecret, within: 6}}},
		{name: "secrets", severity: Warn, why: whySecrets, parameter: true, steps: []ruleStep{{any: cAll}, {any: cSecret, within: 4}, {any: cYou, within: 8}}},
		{name: "secrets", severity: Warn, why: whyTalk, parameter: true, steps: []ruleStep{{any: cWhole | cAll}, {any: cTalk, within: 2}}},
		{name: "secrets", severity: Warn, why: whyTalk, steps: []ruleStep{{any: cPass | cSend | cSilently}, {any: cWhole, within: 5}, {any: cTalk | cMessage, within: 5}, {any: cInto, within: 8}}},
		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cBefore}, {any: cUse, within: 3}, {any: cTool, within: 3}, {any: cOpen, within: 5}, {any: cFile | cPath, within: 5}}},

		{name: "exfiltration", severity: Warn, why: whyExfil, steps: []ruleStep{{any: cSend}, {any: cTalk | cSecret | cEverything | cContents, within: 8}, {any: cAddress, within: 14}}},
		{name: "exfiltration", severity: Warn, why: whyExfil, steps: []ruleStep{{any: cAlways}, {any: cPass | cSend, within: 3}, {any: cAddress, within: 5}}},

		{name: "shadowing", severity: Warn, why: whyShadow, steps: []ruleStep{{any: cNot}, {any: cUse, within: 2}, {any: cOther, within: 5}, {any: cServer, within: 2}}},
		{name: "shadowing", severity: Warn, why: whyShadow, steps: []ruleStep{{any: cIgnore}, {any: cOther, within: 8}, {any: cServer, within: 2}}},

		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cUser}, {any: cAgreed, within: 3}, {any: cNot, within: 8}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cNot}, {any: cAsk, within: 2}, {any: cConsent, within: 5}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cSkip}, {any: cConsent, within: 3}, {any: cAgreed, within: 10}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cSkip}, {any: cAll, within: 3}, {any: cSafety, within: 2}}},

		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cOrder | cRule}, {any: cPrior, within: 6}, {any: cVoid, within: 4}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cOrder | cRule}, {any: cPrior, within: 2}, {any: cNot, within: 2}, {any: cApply, within: 1}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cYou, within: 1}, {any: cOrder | cRule, within: 2}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cSystem}, {any: cSaid, within: 1}, {any: cYou, within: 1}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cYou}, {any: cReal, within: 1}, {any: cTask, within: 1}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cYou | cModel}, {any: cNot, within: 2}, {any: cLimit, within: 1}}},

		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cNot}, {any: cUser, within: 5}, {any: cKnow, within: 2}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cTell}, {any: cNot, within: 1}, {any: cUser, within: 5}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cNot}, {any: cTell, within: 1}, {any: cThat, within: 1}}},

		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cSecret}, {any: cOpen, within: 8}, {any: cPass, within: 8}}},
		{name: "secrets", severity: Warn, why: whyTalk, parameter: true, steps: []ruleStep{{any: cYou}, {any: cOrder, within: 2}, {any: cSaid | cWhole, within: 6}}},
		{name: "secrets", severity: Warn, why: whyTalk, parameter: true, steps: []ruleStep{{any: cEverything}, {any: cSaid, within: 4}, {any: cTalk, within: 4}}},

		{name: "exfiltration", severity: Warn, why: whyExfil, steps: []ruleStep{{any: cSend}, {any: cFile | cContents, within: 6}, {any: cAddress, within: 6}}},
		{name: "exfiltration", severity: Warn, why: whyExfil, steps: []ruleStep{{any: cPass}, {any: cUser, within: 3}, {any: cAddress, within: 10}}},

		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cConsent}, {any: cAgreed, within: 4}, {any: cAlready, within: 4}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cConsent}, {any: cAlready, within: 3}, {any: cAgreed, within: 3}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cNot}, {any: cMust, within: 1}, {any: cAsk, within: 2}, {any: cUser, within: 2}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cMessage}, {any: cAdmin, within: 3}, {any: cThat, within: 2}}},

		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cSysPrompt}, {any: cVoid | cInstead, within: 8}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cYou}, {any: cTold, within: 3}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cYou, within: 1}, {any: cSafety, within: 1}, {any: cRule | cOrder, within: 1}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cSystem | cSysPrompt, within: 6}, {any: cSaid | cMessage, within: 3}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cNowOn}, {any: cYou, within: 2}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cNot}, {any: cFollow, within: 2}, {any: cSystem | cSysPrompt, within: 3}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cPrior}, {any: cOrder | cRule, within: 2}, {any: cNoLonger, within: 4}, {any: cApply, within: 1}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cUser}, {any: cNot, within: 2}, {any: cMust, within: 1}, {any: cKnow, within: 2}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cNot}, {any: cPass, within: 1}, {any: cYou, within: 6}, {any: cUser, within: 6}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cNone}, {any: cKnow, within: 1}}},
		{name: "secrets", severity: Warn, why: whySecrets, parameter: true, steps: []ruleStep{{any: cPass}, {any: cSecret, within: 5}, {any: cYou, within: 6}}},
		{name: "secrets", severity: Warn, why: whyTalk, steps: []ruleStep{{any: cPass | cSend}, {any: cSysPrompt, within: 4}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cNot}, {any: cConsent, within: 1}, {any: cMust, within: 2}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cAll | cThat}, {any: cAgreed, within: 5}, {any: cAlready, within: 1}}},
		{name: "override", severity: Warn, why: whyOverride, steps: []ruleStep{{any: cIgnore}, {any: cSysPrompt, within: 3}}},
		{name: "conceal", severity: Warn, why: whyConceal, steps: []ruleStep{{any: cUser}, {any: cKeep, within: 2}, {any: cHidden, within: 2}}},
		{name: "secrets", severity: Warn, why: whySecrets, steps: []ruleStep{{any: cRead}, {any: cSecret, within: 5}, {any: cPass, within: 7}}},
		{name: "authority", severity: Warn, why: whyAuthority, steps: []ruleStep{{any: cYou}, {any: cAgreed, within: 2}, {any: cSkip, within: 2}}},
	}
}

// prepared fills in what a text must have for a rule to be tried.
func prepared(list []rule) []rule {
	for i := range list {
		for _, s := range list[i].steps {
			if s.any&(s.any-1) == 0 {
				list[i].needs |= s.any
			}
		}
	}
	return list
}

// A widePhrase is a phrase of a language without spaces.
type widePhrase struct {
	name     string
	severity Severity
	why      string
	first    string
	then     []string // one of them, soon after
}

var widePhrases = []widePhrase{
	{"override", High, whyOverride, "忽略", []string{"指令", "指示", "提示词", "规则", "说明"}},
	{"override", High, whyOverride, "无视", []string{"指令", "指示", "提示词", "规则"}},
	{"override", High, whyOverride, "忘记", []string{"指令", "指示", "提示词"}},
	{"override", High, whyOverride, "これまでの指示", []string{"無視", "忘れ"}},
	{"override", High, whyOverride, "以前の指示", []string{"無視", "忘れ"}},
	{"override", High, whyOverride, "前の指示", []string{"無視", "忘れ"}},
	{"conceal", Warn, whyConceal, "不要告诉用户", []string{""}},
	{"conceal", Warn, whyConceal, "不要让用户知道", []string{""}},
	{"conceal", Warn, whyConceal, "ユーザーに", []string{"知らせない", "言わない", "伝えない"}},
}

// Package cmdmask hides secrets in what people write on command lines, in settings
// and in lines of text, for answers that show such things to a model.
//
//	cmdmask.Line("mysql", []string{"mysql", "-uroot", "-pnot-a-real-key"}) // mysql -uroot -p•••
//	cmdmask.Joined("curl -H X-Api-Key: not-a-real-key http://h/")           // curl -H X-Api-Key: ••• http://h/
//	cmdmask.Text("postgres://u:not-a-real-key@db/x")                       // postgres://u:•••@db/x
//	cmdmask.Secret("DB_PASSWORD")                                          // true
//	cmdmask.WithoutEscapes("\x1b[36mpass\x1b[0mword")                       // password
//
// It is used by the bundled servers that show processes, containers and logs.
package cmdmask

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// A command line is where people leave passwords, and an answer of a tool goes
// to a model, a record and perhaps a log. So what looks like a secret is masked,
// by the name that it is given (--password=x, TOKEN=x, "secret": "x"), by the
// option that it follows (-u user:x, mysql -px) and by its own form (sk-…, a JWT,
// user:x@ in an address). It is better to mask a harmless word than to miss one.

// Masked stands in place of a secret.
const Masked = "•••"

// lazily returns an expression that is compiled on its first use: every process
// of the program would pay for it else.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// A pattern finds secrets by more than their name. Its expression is slow, so it is
// tried only on texts that hold one of the words.
type pattern struct {
	words []string // in small letters
	expr  func() *regexp.Regexp
	keep  string // what is put in place; empty: the first group, where the second one is no harmless word
}

// patterns are in the order in which they are tried.
var patterns = []pattern{
	// what is known by its own form
	{
		words: []string{"sk-", "sk_", "gh", "glpat-", "xox", "akia", "asia", "aiza", "hf_", "npm_", "pypi-", "dop_v1_", "hvs.", "eyj", "-----begin", "hooks.slack.com/", "/api/webhooks/", "webhook.office.com/", "/bot", "$apr1$", "$2", "$5$", "$6$", "$y$", "$argon2"},
		expr: lazily(`\b(?:sk-[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|` +
			`glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{12,}|ASIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|` +
			`npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dop_v1_[a-f0-9]{30,}|hvs\.[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)|` +
			`\$\$?(?:apr1|2[abxy]|[56y]|argon2[a-z]*)\$[^\s"',:]{8,}|` +
			`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]*-----END [A-Z ]*PRIVATE KEY-----|.*)|` +
			`(\b(?:hooks\.slack\.com/[a-z]+/|discord(?:app)?\.com/api/webhooks/|[a-z0-9.-]*webhook\.office\.com/|api\.telegram\.org/bot))[^\s"'<>]+`),
		keep: "${1}" + Masked,
	},
	// -u user:password in any command
	{words: []string{"-u ", "-u=", "-user"}, expr: lazily(`((?:^|[\s"'])(?:-u|-U|--user|--proxy-user)(?:\s+|=)["']?[^\s:"'/@]+:)[^\s"'/][^\s"']*`), keep: "${1}" + Masked},
	// a secret that a sentence names, and one of a language that has no words between spaces
	{words: []string{" is ", " was ", " are "}, expr: lazily(`(?i)(\b(?:pass(?:word|wd|phrase|code)|pwd|pw|secret|token|api[ _-]?key)\s+(?:is|was|are)\s+)(["']?[^\s"',;]+)`)},
	{words: []string{"密", "口令", "秘钥", "私钥", "令牌", "凭证", "パス"}, expr: lazily(`((?:密码|密碼|口令|密钥|密鑰|秘钥|私钥|令牌|凭证|パスワード)["']?\s*(?:是|为|為|[:=：＝])\s*["']?)([^\s"'，。；]+)`), keep: "${1}" + Masked},
	// a credential after the name of its scheme
	{words: []string{"bearer", "basic"}, expr: lazily(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}`), keep: "$1 " + Masked},
	// netrc, SQL, and settings that are a name and a word
	{words: []string{"login"}, expr: lazily(`(\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+)(\S+)`)},
	{words: []string{"password", "identified", "passwd"}, expr: lazily(`(?i)\b((?:identified\s+by|password|passwd)\s+)(?:'[^']+'|"[^"]+")`), keep: "${1}" + Masked},
}

// harmless are words that follow "the password is" and are none.
var harmless = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a about accepted again already an and authentication being cannot changed correct deleted denied disabled does empty enabled error expired failed failure for from gone has in incorrect invalid " +
		"is length lost malformed missing mismatch must needed never no not now null of ok only out policy present prompt required reset revoked set stored the to too unknown unset updated used using valid weak wrong file " +
		"hash field manager mount mounted name store volume created and check") {
		m[w] = true
	}
	return m
})

// Line returns the command line of a program as an answer may show it: masked, on one line, and of at most 1200 characters.
func Line(program string, args []string) string {
	return plain(strings.TrimSpace(strings.Join(Args(program, args), " ")), 1200)
}

// Args returns the arguments of a program masked, each for itself.
func Args(program string, args []string) []string {
	var c command
	c.names(program)
	out := make([]string, 0, len(args))
	for _, a := range args {
		script := len(c.before) < 8 && strings.HasPrefix(c.before, "-") && strings.HasSuffix(c.before, "c") && strings.ContainsAny(a, " \t\n") // sh -c
		shown, settled := c.argument(a)
		switch {
		case settled:
		case script:
			shown = maskWords(mask(a), 0)
		default:
			shown = Text(a)
		}
		out = append(out, shown)
	}
	return out
}

// Joined is Line of a command line whose arguments stand in one text, as ps and the
// script of sh -c give it.
func Joined(s string) string { return plain(strings.TrimSpace(maskWords(mask(s), 0)), 1200) }

// Text returns s with what looks like a secret in it masked, and without the escape
// sequences of terminals, which stand in the middle of names and values.
func Text(s string) string {
	s = mask(WithoutEscapes(s))
	if holdsCommand(s) {
		return maskWords(s, 0)
	}
	return s
}

// mask masks what is a secret wherever it stands.
func mask(s string) string {
	if s == "" {
		return s
	}
	s = named(userinfo(formed(s, patterns[:2])))
	return settings(formed(s, patterns[2:]))
}

// settings masks the second word of lines that have two, of which the first one is
// the name of a secret.
func settings(s string) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(s); {
		end := lineEnd(s, at)
		line := s[at:end]
		first := strings.TrimLeft(line, " \t")
		n := 0
		for n < len(first) && isName(first[n]) {
			n++
		}
		if n > 1 && n < longestName && n < len(first) && (first[n] == ' ' || first[n] == '\t') {
			word := strings.Trim(first[n:], " \t\r")
			if word != "" && len(word) < far && !strings.ContainsAny(word, " \t=:") && surely(first[:n]) && Secret(first[:n]) && !harmlessWord(word) {
				from := strings.LastIndex(line, word) + at
				b.WriteString(s[done:from] + Masked)
				done = from + len(word)
			}
		}
		at = end + 1
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

func harmlessWord(w string) bool { return harmless()[strings.ToLower(strings.Trim(w, "\"'.!:(),;?"))] }

// formed masks what patterns find.
func formed(s string, patterns []pattern) string {
	lower := strings.ToLower(s)
	for i := range patterns {
		p := &patterns[i]
		if !holdsAny(lower, p.words) {
			continue
		}
		if p.keep != "" {
			s = p.expr().ReplaceAllString(s, p.keep)
			continue
		}
		s = p.expr().ReplaceAllStringFunc(s, func(m string) string {
			g := p.expr().FindStringSubmatch(m)
			if harmlessWord(g[2]) {
				return m
			}
			return g[1] + Masked
		})
	}
	return s
}

func holdsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// userinfo masks what stands before @ in addresses, all but the user's name.
func userinfo(s string) string {
	var b strings.Builder
	done, end, sign := 0, 0, 0 // end is where the word ends, and sign the last @ in it
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			break
		}
		begin := at + i + 3
		if begin >= end {
			if end = strings.IndexAny(s[begin:], " \t\r\n"); end < 0 {
				end = len(s) - begin
			}
			end += begin
			if sign = strings.LastIndexByte(s[begin:end], '@'); sign < 0 {
				sign = strings.LastIndex(s[begin:end], "%40")
			}
			sign += begin
		}
		user := begin
		for user < end && strings.IndexByte("/@:?#", s[user]) < 0 {
			user++
		}
		at = end
		switch {
		case sign < begin || user == end:
		case s[user] == ':' && user < sign:
			b.WriteString(s[done:user] + ":" + Masked)
			done = sign
		case s[user] == '@': // a token alone, or a user without a password
			b.WriteString(s[done:begin] + Masked)
			done = sign
		default: // the @ may belong to an address that follows
			at = begin
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// maskWords returns a text that holds commands with its words masked like arguments.
func maskWords(s string, depth int) string {
	const deepest = 4
	var b strings.Builder
	var c command
	for s != "" {
		n := len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
		space := s[:n]
		s = s[n:]
		w := s[:wordEnd(s)]
		s = s[len(w):]
		if strings.Contains(space, "\n") || ends(c.before) {
			c.rules = nil
		}
		if inHeader := c.header && w != "" && !strings.HasPrefix(w, "-") && !strings.Contains(w, "://"); inHeader {
			if c.before != Masked {
				b.WriteString(space + Masked)
			}
			c.before = Masked
			continue
		}
		c.header = false
		b.WriteString(space)
		shown, settled := c.argument(w)
		inner := strings.Trim(w, "\"'")
		if !settled && depth < deepest && len(inner) == len(w)-2 && w[1:len(w)-1] == inner && strings.ContainsAny(inner, " \t\n") {
			shown = w[:1] + maskWords(inner, depth+1) + w[len(w)-1:]
		}
		b.WriteString(shown)
	}
	return b.String()
}

// wordEnd returns how long the word is that s begins with. What stands in quotes
// belongs to it; a sign in the middle of a word, as in don't, is no quote.
func wordEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			return i
		case '"', '\'':
			if i > 0 && s[0] != '-' && !strings.ContainsRune("=:(", rune(s[i-1])) {
				continue
			}
			if n := strings.IndexByte(s[i+1:min(len(s), i+far)], c); n >= 0 {
				i += n + 1
			}
		}
	}
	return len(s)
}

// ends reports whether a command ends with the word w.
func ends(w string) bool {
	switch w {
	case "&&", "||", "|", ";", "&", "then", "do":
		return true
	}
	return strings.HasSuffix(w, ";") || strings.HasSuffix(w, "|") || strings.HasSuffix(w, "&&")
}

// holdsCommand reports whether a text names a program that takes secrets, and is
// given what they follow.
func holdsCommand(s string) bool {
	options := strings.Contains(s, " -")
	for w := range strings.FieldsSeq(s) {
		rules := rulesOf(w)
		if _, after, ok := strings.Cut(w, "="); ok && rules == nil {
			rules = rulesOf(after)
		}
		for _, p := range rules {
			if options || p.words != "" || p.named {
				return true
			}
		}
	}
	return false
}

// plain returns s fit for one line of an answer: without control characters, and
// cut in its middle to at most limit characters.
func plain(s string, limit int) string {
	s = strings.Map(unseen.Mark, s)
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	tail := limit / 2
	return string(r[:limit-tail-1]) + "…" + string(r[len(r)-tail:])
}

// Package cmdmask hides secrets in what people write on command lines, in settings
// and in lines of text, for answers that show such things to a model.
//
//	cmdmask.Line("mysql", []string{"mysql", "-uroot", "-pnot-a-real-key"}) // mysql -uroot -p•••
//	cmdmask.Joined("curl -H X-Api-Key: not-a-real-key http://h/")           // curl -H X-Api-Key: ••• http://h/
//	cmdmask.Text("postgres://u:not-a-real-key@db/x")                       // postgres://u:•••@db/x
//	cmdmask.Secret("DB_PASSWORD")                                          // true
//
// It is used by the bundled servers that show processes, containers and logs.
package cmdmask

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A command line is where people leave passwords, and an answer of a tool goes
// to a model, a record and perhaps a log. So what looks like a secret is masked,
// by the name that it is given (--password=x, TOKEN=x, "secret": "x"), by the
// option that it follows (-u user:x, mysql -px) and by its own form (sk-…, a JWT,
// user:x@ in an address). It is better to mask a harmless word than to miss one.

// Masked stands in place of a secret.
const Masked = "•••"

// secretName matches the end of the name of a setting that holds a secret.
const secretName = `(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret(?:s)?|token(?:s)?|api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|` +
	`private[_-]?key|encryption[_-]?key|signing[_-]?key|license[_-]?key|account[_-]?key|shared[_-]?key|master[_-]?key|auth(?:orization)?|credential(?:s)?|` +
	`bearer|cookie|session[_-]?id|connection[_-]?string|conn[_-]?str|dsn|sas|signature|sig|otp|pin|psk|salt|jwt|key)`

// settingName matches the whole name of such a setting, such as db.password,
// MYSQL_PWD or clientSecret.
const settingName = `(?:[a-z0-9_.-]*[_.-])?(?:[a-z0-9]*(?:password|passwd|pwd|pw|secret|token|apikey|credential)|` + secretName + `)`

// lazily returns an expression that is compiled on its first use: every process
// of the program would pay for it else.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	// secretOption matches an option whose value is the next argument.
	secretOption = lazily(`(?i)^[-/]{1,2}` + settingName + `$`)

	// assigned matches name=value and name: value, also inside an address, a shell
	// command or a JSON object. The value goes on to the next space or quote: in an
	// address that hides what follows, but a password may hold any other sign.
	assigned = lazily(`(?i)((?:^|[^a-z0-9])` + settingName + `["']?\s*(?:[=:]|：|＝)\s*)` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|(?:basic|bearer|token|digest|apikey|negotiate)\s+[^\s"']+|["'][^\s]*|[^\s"']+)`)

	// spaced matches an option and its value in one argument, as in sh -c.
	spaced = lazily(`(?i)((?:^|\s)--?` + settingName + `\s+)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s]+)`)

	// whole matches an argument that is nothing but an assignment.
	whole = lazily(`(?is)^([-/]{0,2}` + settingName + `[=:])(.+)$`)

	// spoken matches a secret that a sentence names, and spokenOther one of a language
	// that has no words between spaces.
	spoken      = lazily(`(?i)(\b(?:` + "pass(?:word|wd|phrase|code)|pwd|pw|secret|token|api[ _-]?key" + `)\s+(?:is|was|are)\s+)(["']?[^\s"',;]+)`)
	spokenOther = lazily(`((?:密码|密碼|口令|密钥|密鑰|秘钥|私钥|令牌|凭证|パスワード)["']?\s*(?:是|为|為|[:=：＝])\s*["']?)([^\s"'，。；]+)`)

	// quoted matches a header in quotes, whose value may hold spaces.
	quoted = lazily(`(?i)("` + settingName + `:\s*)[^"]+"|('` + settingName + `:\s*)[^']+'`)

	// user matches an option that takes a user and a password.
	user = lazily(`((?:^|[\s"'])(?:-u|-U|--user|--proxy-user)(?:\s+|=)["']?[^\s:"'/@]+:)[^\s"'/][^\s"']*`)

	// userinfo matches what stands before @ in an address.
	userinfo = lazily(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/@:?#]*)(?::(\S*))?@`)

	// scheme matches a credential after the name of its scheme.
	scheme = lazily(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}`)

	// formed matches secrets that are known by their own form.
	formed = lazily(`\b(?:sk-[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|` +
		`glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{12,}|ASIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|` +
		`npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dop_v1_[a-f0-9]{30,}|hvs\.[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)|` +
		`-----BEGIN [A-Z ]*PRIVATE KEY-----.*`)

	// attached matches programs that take a password attached to -p, or after -p or -a.
	attached = lazily(`(?i)^(?:mysql|mariadb|mongo|redis-|sshpass|psql|7z|zip|unzip|rar|smbclient|ldap)`)

	// known matches the other programs whose options are known here.
	known = lazily(`^(?:curl|openssl)`)
)

// harmless are words that follow "the password is" and are none.
var harmless = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("a about already an being changed correct deleted denied disabled empty enabled expired for from gone in incorrect invalid lost malformed missing needed never no not now null ok only out " +
		"present required reset revoked set stored the to too unknown unset used using valid weak wrong") {
		m[w] = true
	}
	return m
})

// Line returns the command line of a program as an answer may show it: masked, on one line, and of at most 1200 characters.
func Line(program string, args []string) string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		if name := base(a); i > 0 && takesOptions(name) { // sudo mysql, timeout 5 mysql
			program = name
		}
		out = append(out, maskArgument(program, before, a))
	}
	return plain(strings.TrimSpace(strings.Join(out, " ")), 1200)
}

// Joined is Line of a command line whose arguments stand in one text, as ps and the
// script of sh -c give it.
func Joined(s string) string { return plain(strings.TrimSpace(maskWords(patterns(s), 0)), 1200) }

// base returns the name of a program without the folders before it, and the signs
// of a shell around it.
func base(word string) string {
	word = strings.Trim(word, "\"'`$(){};&|")
	return word[strings.LastIndexByte(word, '/')+1:]
}

// takesOptions reports whether a program has options of its own for secrets.
func takesOptions(name string) bool {
	return !strings.HasPrefix(name, "-") && (attached().MatchString(name) || known().MatchString(name))
}

// maskArgument returns one argument with its secrets masked; before is the
// argument that stands before it.
func maskArgument(program, before, a string) string {
	bare := strings.TrimLeft(a, "\"'")
	if takesSecret(program, strings.Trim(before, "\"'")) && a != "" && !strings.HasPrefix(a, "--") {
		return Masked
	}
	if before == "-u" || before == "--user" || before == "--proxy-user" || before == "-U" {
		if user, _, ok := strings.Cut(a, ":"); ok && !strings.Contains(a, "://") {
			return user + ":" + Masked
		}
	}
	if user, _, ok := strings.Cut(a, ":"); ok && strings.HasPrefix(bare, "-u") && strings.HasPrefix(program, "curl") {
		return user + ":" + Masked
	}
	if m := whole().FindStringSubmatch(a); m != nil {
		return m[1] + Masked
	}
	if attached().MatchString(program) && len(bare) > 2 && (strings.HasPrefix(bare, "-p") || strings.HasPrefix(bare, "-a")) && !strings.HasPrefix(bare, "-port") {
		return bare[:2] + Masked
	}
	if strings.HasSuffix(before, "c") && strings.HasPrefix(before, "-") && strings.ContainsAny(a, " \t\n") {
		return maskWords(patterns(a), 0)
	}
	return Text(a)
}

// maskWords returns a text that holds commands with its words masked like
// arguments. A program is the first word of a command, and any that is known to
// take secrets.
func maskWords(s string, depth int) string {
	const deepest = 4
	var b strings.Builder
	program, before := "", ""
	first, header := true, false
	for s != "" {
		word := len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
		first = first || strings.Contains(s[:word], "\n")
		space := s[:word]
		s = s[word:]
		word = wordEnd(s)
		w := s[:word]
		s = s[word:]
		if header && w != "" && !strings.HasPrefix(w, "-") && !strings.Contains(w, "://") {
			if before != Masked {
				b.WriteString(space + Masked)
			}
			before = Masked
			continue
		}
		b.WriteString(space)
		if name := base(w); first || takesOptions(name) {
			program = name
		}
		header = isHeader(before) && strings.HasSuffix(w, ":") && Secret(strings.Trim(w, "\"':"))
		inner := strings.Trim(w, "\"'")
		switch {
		case depth < deepest && w != "" && strings.HasPrefix(w[1:], inner) && strings.TrimLeft(w, "\"'") != w && strings.ContainsAny(inner, " \t\n") && !takesSecret(program, before):
			said := maskWords(inner, depth+1)
			if said == inner && !strings.Contains(said, Masked) {
				said = maskArgument(program, before, said)
			}
			b.WriteString(w[:1] + said + w[:1])
		default:
			b.WriteString(maskWord(program, before, w))
		}
		first, before = ends(w), w
	}
	return b.String()
}

// maskWord is maskArgument for a word on which the patterns were tried before.
func maskWord(program, before, w string) string {
	if w == "" || w == Masked {
		return w
	}
	return maskArgument(program, before, w)
}

func isHeader(option string) bool { return option == "-H" || option == "--header" }

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
			if n := strings.IndexByte(s[i+1:], c); n >= 0 {
				i += n + 1
			}
		}
	}
	return len(s)
}

// ends reports whether a command begins after the word w.
func ends(w string) bool {
	switch w {
	case "&&", "||", "|", ";", "&", "sudo", "exec", "env", "then", "do", "--":
		return true
	}
	return strings.HasSuffix(w, ";") || strings.HasSuffix(w, "|") || strings.HasSuffix(w, "&&")
}

func takesSecret(program, option string) bool {
	if secretOption().MatchString(option) {
		return true
	}
	switch option {
	case "-p", "-a", "-w":
		return attached().MatchString(program)
	case "-pass", "-passin", "-passout", "-k", "-K":
		return strings.HasPrefix(program, "openssl")
	}
	return false
}

// Text returns s with what looks like a secret in it masked.
func Text(s string) string {
	s = patterns(s)
	if strings.Contains(s, " -") && holdsCommand(s) {
		return maskWords(s, 0)
	}
	return s
}

// holdsCommand reports whether a text names a program that takes secrets by its
// options, and is given options.
func holdsCommand(s string) bool {
	for w := range strings.FieldsSeq(s) {
		if takesOptions(base(w)) {
			return true
		}
		if _, after, ok := strings.Cut(w, "="); ok && takesOptions(base(after)) { // COMMAND=/usr/bin/mysql
			return true
		}
	}
	return false
}

// patterns masks what is a secret wherever it stands.
func patterns(s string) string {
	s = formed().ReplaceAllString(s, Masked)
	s = userinfo().ReplaceAllStringFunc(s, func(m string) string {
		g := userinfo().FindStringSubmatch(m)
		if g[3] == "" { // a token alone, or a user without a password
			return g[1] + Masked + "@"
		}
		return g[1] + g[2] + ":" + Masked + "@"
	})
	s = quoted().ReplaceAllStringFunc(s, func(m string) string { return m[:strings.IndexByte(m, ':')+1] + " " + Masked + m[:1] })
	s = user().ReplaceAllString(s, "${1}"+Masked)
	s = spaced().ReplaceAllString(s, "${1}"+Masked)
	s = spoken().ReplaceAllStringFunc(s, func(m string) string {
		g := spoken().FindStringSubmatch(m)
		if harmless()[strings.ToLower(strings.Trim(g[2], "\"'.!:()"))] {
			return m
		}
		return g[1] + Masked
	})
	s = spokenOther().ReplaceAllString(s, "${1}"+Masked)
	s = scheme().ReplaceAllString(s, "$1 "+Masked)
	return assigned().ReplaceAllString(s, "${1}"+Masked)
}

// secretSetting matches a name that is one of a secret's as a whole.
var secretSetting = lazily(`(?i)^` + settingName + `$`)

// Secret reports whether a setting of that name holds a secret.
func Secret(name string) bool { return secretSetting().MatchString(name) }

// plain returns s fit for one line of an answer: without control characters, and
// cut in its middle to at most limit characters.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, s)
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	tail := limit / 2
	return string(r[:limit-tail-1]) + "…" + string(r[len(r)-tail:])
}

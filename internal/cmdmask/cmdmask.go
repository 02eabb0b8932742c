// Package cmdmask hides secrets in what people write on command lines, in settings
// and in lines of text, for answers that show such things to a model.
//
//	cmdmask.Line("mysql", []string{"mysql", "-uroot", "-pnot-a-real-key"}) // mysql -uroot -p•••
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
const secretName = `(?:pass(?:word|wd|phrase|code)?|pwd|secret(?:s)?|token(?:s)?|api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|` +
	`private[_-]?key|encryption[_-]?key|signing[_-]?key|license[_-]?key|account[_-]?key|shared[_-]?key|master[_-]?key|auth(?:orization)?|credential(?:s)?|` +
	`bearer|cookie|session[_-]?id|connection[_-]?string|conn[_-]?str|dsn|sas|signature|sig|otp|pin|psk|salt|jwt|key)`

// settingName matches the whole name of such a setting, such as db.password,
// MYSQL_PWD or clientSecret.
const settingName = `(?:[a-z0-9_.-]*[_.-])?(?:[a-z0-9]*(?:password|passwd|pwd|secret|token|apikey|credential)|` + secretName + `)`

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
	assigned = lazily(`(?i)((?:^|[^a-z0-9])` + settingName + `["']?\s*[=:]\s*)` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|(?:basic|bearer|token|digest)\s+[^\s"']+|["'][^\s]*|[^\s"']+)`)

	// spaced matches an option and its value in one argument, as in sh -c.
	spaced = lazily(`(?i)((?:^|\s)--?` + settingName + `\s+)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s]+)`)

	// whole matches an argument that is nothing but an assignment.
	whole = lazily(`(?is)^([-/]{0,2}` + settingName + `[=:])(.+)$`)

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
)

// Line returns the command line of a program as an answer may show it: masked, on one line, and of at most 1200 characters.
func Line(program string, args []string) string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		out = append(out, maskArgument(program, before, a))
	}
	return plain(strings.TrimSpace(strings.Join(out, " ")), 1200)
}

// maskArgument returns one argument with its secrets masked; before is the
// argument that stands before it.
func maskArgument(program, before, a string) string {
	if takesSecret(program, before) && a != "" && !strings.HasPrefix(a, "--") {
		return Masked
	}
	if before == "-u" || before == "--user" || before == "--proxy-user" || before == "-U" {
		if user, _, ok := strings.Cut(a, ":"); ok && !strings.Contains(a, "://") {
			return user + ":" + Masked
		}
	}
	if user, _, ok := strings.Cut(a, ":"); ok && strings.HasPrefix(a, "-u") && strings.HasPrefix(program, "curl") {
		return user + ":" + Masked
	}
	if m := whole().FindStringSubmatch(a); m != nil {
		return m[1] + Masked
	}
	if attached().MatchString(program) && len(a) > 2 && (strings.HasPrefix(a, "-p") || strings.HasPrefix(a, "-a")) && !strings.HasPrefix(a, "-port") {
		return a[:2] + Masked
	}
	if strings.HasSuffix(before, "c") && strings.HasPrefix(before, "-") && strings.Contains(a, " ") {
		return maskScript(Text(a))
	}
	return Text(a)
}

// maskScript returns the text of sh -c with its words masked like arguments: a
// program is the first word, and the one after a word such as && or sudo.
func maskScript(s string) string {
	words := strings.Split(s, " ")
	program, before := "", ""
	for i, w := range words {
		switch before {
		case "", "&&", "||", "|", ";", "&", "sudo", "exec", "env", "then", "do":
			program = w[strings.LastIndexByte(w, '/')+1:]
		}
		words[i], before = maskArgument(program, before, w), w
	}
	return strings.Join(words, " ")
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
	s = formed().ReplaceAllString(s, Masked)
	s = userinfo().ReplaceAllStringFunc(s, func(m string) string {
		g := userinfo().FindStringSubmatch(m)
		if g[3] == "" { // a token alone, or a user without a password
			return g[1] + Masked + "@"
		}
		return g[1] + g[2] + ":" + Masked + "@"
	})
	s = spaced().ReplaceAllString(s, "${1}"+Masked)
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

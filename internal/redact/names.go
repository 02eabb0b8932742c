package redact

import (
	"slices"
	"strings"
)

// words splits a name at its signs and where a capital begins a word: apiKey,
// api_key, API-Key and X-Api-Key end with the words api and key.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(i int) {
		if i > start {
			out = append(out, strings.ToLower(name[start:i]))
		}
		start = i
	}
	for i := range len(name) {
		c := int(name[i])
		switch {
		case !isAlnum(c):
			cut(i)
			start = i + 1
		case isUpper(c) && i > start && (isLower(int(name[i-1])) || isDigit(int(name[i-1]))),
			// the last capital of HTTPToken begins the word
			isUpper(c) && i > start && i+1 < len(name) && isLower(int(name[i+1])) && isUpper(int(name[i-1])):
			cut(i)
		}
	}
	cut(len(name))
	return out
}

// isSecretName reports whether a value of this name is a secret: its last words
// say so.
func isSecretName(name string) bool {
	if len(name) > 128 {
		return false
	}
	w := words(name)
	if len(w) == 0 {
		return false
	}
	before := ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	switch w[len(w)-1] {
	case "password", "passwd", "passphrase", "passcode", "secret", "secrets", "apikey", "apitoken", "accesstoken", "authtoken",
		"secretkey", "accesskey", "privatekey", "credential", "credentials", "authorization", "cookie", "jwt", "otp", "totp", "cvv":
		return true
	case "token":
		switch before {
		// These lead through pages, count, or belong to a language model.
		case "next", "page", "continuation", "sync", "start", "end", "cancel", "progress", "pagination", "max", "bos", "eos", "pad",
			"special", "stop", "per", "first", "last", "unk", "mask", "cursor", "each", "resume", "previous", "prev", "delta", "a", "the":
			return false
		}
		return true
	case "key":
		switch before {
		case "api", "access", "secret", "private", "auth", "encryption", "signing", "master", "account", "shared", "subscription", "admin", "service":
			return true
		}
	case "pwd", "pass":
		return before != ""
	case "base":
		return before == "key" && len(w) > 2 && w[len(w)-3] == "secret"
	case "auth":
		return before == "" || before == "basic"
	}
	return false
}

// assignment reads the value that is given to a name which says that it is secret:
// password=…, "api_key": "…", Authorization: Bearer ….
func assignment(t *text, at, end int) (span, bool) {
	end = t.run(end, 24, isURL64)
	if isURL64(t.at(end)) {
		return span{}, false
	}
	start, sign, spaced := sign(t, end)
	if sign == none {
		return span{}, false
	}
	label := nameUpTo(t, at, end)
	if !isSecretName(label) {
		return span{}, false
	}
	start, q := quote(t, start)
	if strings.HasSuffix(strings.ToLower(label), "authorization") {
		start = scheme(t, start)
	}
	stop := t.value(start, q)
	if stop == none {
		return span{}, false
	}
	v := t.slice(start, min(stop, start+200))
	if !plausible(v, strings.Contains(strings.ToLower(label), "pass"), sign == '=' && !spaced && strings.ToUpper(label) == label) {
		return span{}, false
	}
	return span{start, stop}, true
}

// nameUpTo returns the name that ends here and holds what is at an offset.
func nameUpTo(t *text, at, end int) string {
	const most = 40
	from := at
	for from > at-most && (t.at(from-1) == '-' || isWord(t.at(from-1)) && !t.begins(from)) {
		from--
	}
	return t.slice(from, end)
}

// sign reads the = or the colon behind a name, and where its value begins. Spaced
// is whether there are blanks around it.
func sign(t *text, end int) (start, sign int, spaced bool) {
	end, _ = quote(t, end)
	i := blanks(t, end)
	sign = t.at(i)
	if sign != '=' && sign != ':' {
		return 0, none, false
	}
	spaced = i > end
	i++
	switch c := t.at(i); {
	case c == '=' && sign == '=', c == ':': // a comparison; C++
		return 0, none, false
	case c == '=' || c == '>' && sign == '=': // := and =>
		i++
		spaced = true
	}
	start = blanks(t, i)
	return start, sign, spaced || start > i
}

// bearer reads the credential behind that word.
func bearer(t *text, _, end int) (span, bool) {
	stop := t.run(end, longToken, func(c int) bool { return isURL64(c) || strings.ContainsRune(".~+/=", rune(c)) })
	if stop-end < 16 || !mixed(t, end, stop) || isPlaceholder(t.slice(end, min(stop, end+200))) {
		return span{}, false
	}
	return span{end, stop}, true
}

// scheme passes over the name of a scheme and the blank behind it, where there is one.
func scheme(t *text, i int) int {
	end := t.run(i, 16, isURL64)
	switch strings.ToLower(t.slice(i, end)) {
	case "bearer", "basic", "token", "apikey", "bot", "digest", "negotiate":
		if t.at(end) == ' ' {
			return end + 1
		}
	}
	return i
}

// blanks passes over a few blanks.
func blanks(t *text, i int) int {
	return t.run(i, 8, func(c int) bool { return c == ' ' || c == '\t' })
}

// quote passes over a quote, which may be escaped, and returns it.
func quote(t *text, i int) (int, int) {
	j := t.run(i, 4, func(c int) bool { return c == '\\' })
	if c := t.at(j); c == '"' || c == '\'' || c == '`' {
		return j + 1, c
	}
	return i, none
}

// value returns where a value ends: at its quote, or with its word. It is none in a
// word that was looked at too often: each of its parts may be a name with a value.
func (t *text) value(i, q int) int {
	const most, often = 1024, 16
	if q == none && i < t.wordEnd {
		if t.looks++; t.looks > often {
			return none
		}
		return t.wordEnd
	}
	for end := i + most; i < end; i++ {
		c := t.at(i)
		if c == none || c < ' ' || c == q || c == '\\' && q != none && isEscapedEnd(t, i, q) ||
			q == none && (c == ' ' || strings.IndexByte("\"'`\\,;&<>(){}[]|", byte(c)) >= 0) {
			break
		}
	}
	if q == none {
		t.wordEnd, t.looks = i, 0
	}
	return i
}

// isEscapedEnd reports whether a backslash begins what ends a value: its quote, or
// the end of the line.
func isEscapedEnd(t *text, i, q int) bool {
	j := t.run(i, 4, func(c int) bool { return c == '\\' })
	c := t.at(j)
	return c == q || c == '"' || c == 'n' || c == 'r'
}

// isPlaceholder reports whether a text stands for a secret without being one.
func isPlaceholder(s string) bool {
	if s == "" || strings.ContainsAny(s, "<>{}()[]*•…") || strings.Contains(s, "...") {
		return true
	}
	if strings.Trim(strings.ToLower(s), "x") == "" || strings.Trim(s, s[:1]) == "" {
		return true
	}
	if (s[0] == '$' || s[0] == '%') && len(s) > 1 && isWord(int(s[1])) {
		return true
	}
	l := strings.ToLower(s)
	if slices.Contains([]string{"password", "passwd", "pass", "pwd", "secret", "token", "changeme"}, l) {
		return true
	}
	for _, w := range []string{"your_", "your-", "my_", "my-", "example", "placeholder", "todo", "redacted"} {
		if strings.HasPrefix(l, w) {
			return true
		}
	}
	return false
}

// plausible reports whether a value can be a secret. Texts about secrets are far
// more frequent than secrets: what is an expression, a path, a word or a sentence is
// none.
func plausible(v string, password, variable bool) bool {
	if len(v) < least || isPlaceholder(v) || strings.Contains(v, "://") || strings.HasPrefix(v, "urn:") {
		return false
	}
	if v[0] == '/' || v[0] == '.' || v[0] == '~' || v[0] == '-' {
		return false
	}
	digits, letters, signs := 0, 0, 0
	for i := range len(v) {
		switch c := int(v[i]); {
		case isDigit(c):
			digits++
		case isUpper(c) || isLower(c):
			letters++
		case c == ' ' || c >= 0x80:
			return false
		case c != '_' && c != '-' && c != '.':
			signs++
		}
	}
	switch {
	case digits > 0 && letters > 0:
		// No name in a program has a dash in it, and a password may.
		return (len(v) >= 8 || password) && (!isExpression(v) || password && strings.Contains(v, "-"))
	case letters == 0 && signs == 0: // a number
		return password
	case signs > 0:
		return password && letters > 0 && !strings.ContainsAny(v, "/:=|")
	}
	return variable && len(v) >= 8 && strings.ToUpper(v) != v
}

// isExpression reports whether a value is a name with dots in it, such as
// options.token2, or one of words with underscores.
func isExpression(v string) bool {
	if len(v) >= 40 || !isLower(int(v[0])) && !isUpper(int(v[0])) {
		return false
	}
	parts := strings.FieldsFunc(v, func(c rune) bool { return c == '.' || c == '_' || c == '-' })
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		// A part is a word, or a word with a number behind it.
		if w := strings.TrimRight(p, "0123456789"); w != "" && strings.ContainsFunc(w, func(c rune) bool { return !isLower(int(c)) && !isUpper(int(c)) }) {
			return false
		}
	}
	return true
}

package redact

import (
	"net/url"
	"slices"
	"strings"
)

// IsSetting reports whether a value that a program is given under a name is a
// setting, and no secret: where neither the name nor the value looks like one. A
// path, the name of a host or a word such as production stands in many texts, and
// hiding it there would make them useless. What looks random is a secret under any
// name.
func IsSetting(name, value string) bool {
	return !namesSecret(name) && !isRandom(value)
}

// SecretNames are names of secrets as people write them, to be compared with names
// that may be misspelled.
func SecretNames() []string {
	return []string{"password", "passwd", "passphrase", "secret", "client_secret", "token", "api_key", "access_key", "private_key", "credential", "authorization"}
}

// set returns the set of some words.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// Words of names.
var (
	// carriers say in what form a secret is given.
	carriers = set("value values pem material raw b64 base64 text string hex")
	// places say where a secret is, or something else about it.
	places = set(`file path dir url uri name type mode length len ttl count limit min max
		expiry timeout endpoint header provider store backend enabled required id`)
	// secretWords are secrets whatever stands before them, and innerWords whatever does
	// behind them.
	secretWords = set("pat pwd pw pass key keys auth creds cred pin userpass dbpw dbpass sessionid passwords passwds passphrases apikeys tokens")
	innerWords  = set("password passwd passphrase secret token credential")
	// endings of words that are written as one.
	endings = []string{"password", "passwd", "passwort", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey"}
	// known are words of settings in which letters stand beside each other as they do in
	// few others.
	known = set("searxng project projects subject subjects object objects weekday weekdays injection adjective anybody everybody")
	// harmless are words before some of them, which are then no secrets.
	harmless = map[string]map[string]bool{
		"key":    set("sort partition primary foreign public cache routing group index hash range row object shard dedup lookup"),
		"keys":   set("sort partition primary foreign public cache"),
		"auth":   set("use no require enable disable allow with skip"),
		"tokens": set("max min num n total input output prompt completion context budget reserved cached thinking reasoning"),
	}
)

// namesSecret reports whether the name of a variable, a header or an option says that
// its value is a secret. It reads more into it than isSecretName does, which looks at
// names in any text.
func namesSecret(name string) bool {
	w := words(name)
	for len(w) > 0 && strings.Trim(w[len(w)-1], "0123456789") == "" || len(w) > 1 && carriers[w[len(w)-1]] { // API_KEY_2, API_KEY_VALUE
		w = w[:len(w)-1]
	}
	if len(w) == 0 {
		return false
	}
	last, before := w[len(w)-1], ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	switch {
	case places[last]:
		return isSecretName(name) || last == "id" && before == "secret"
	case harmless[last][before]:
		return false
	case secretWords[last], isSecretName(name), isSecretName(strings.Join(w, "_")):
		return true
	case slices.ContainsFunc(endings, func(end string) bool { return len(last) > len(end) && strings.HasSuffix(last, end) }):
		return true
	}
	return slices.ContainsFunc(w[:len(w)-1], func(s string) bool { return innerWords[s] && (s != "token" || w[0] != "max") })
}

// isRandom reports whether a value looks random, as keys and passwords do, or holds a
// credential. Words and numbers between signs do not, and neither do paths, addresses,
// versions and dates.
func isRandom(s string) bool {
	const longest = 4 << 10 // nobody writes a longer one by hand
	switch {
	case len(s) > longest:
		return true
	case isPath(s): // its folders may have almost any name
		return slices.ContainsFunc(strings.FieldsFunc(s, func(r rune) bool { return r >= 0x80 || !isAlnum(int(r)) }), isScrambled)
	case len(named(s)) > 0:
		return true
	}
	if u, err := url.Parse(s); err == nil && strings.Contains(s, "://") && (u.User != nil || len(secretsOf(u)) > 0) {
		return true
	}
	if strings.Contains(s, "@sha") {
		s = notation().digest.ReplaceAllString(s, "")
	}
	var p parts
	if slices.ContainsFunc(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;\"'`()[]{}<>|", r) }), signed) {
		return true
	}
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < 0x80 && !isAlnum(int(r)) }) {
		if p.add(piece) {
			return true
		}
	}
	return p.random() && !notation().host.MatchString(s)
}

// isScrambled reports whether a part of a path looks random beyond what folders are
// named: letters of both cases with digits all between. Capitals alone do not tell, for
// temporary folders have the names of tests.
func isScrambled(s string) bool {
	const short, most = 16, 6
	return len(s) >= short && strings.ToLower(s) != s && strings.ToUpper(s) != s && len(runsOf(s)) > most
}

// isPath reports whether a value is the path of a file: a key may begin with a slash
// too, and then goes on with anything.
func isPath(s string) bool {
	if strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/") || len(s) > 2 && s[1:3] == `:\` {
		return true
	}
	first, rest, ok := strings.Cut(strings.TrimPrefix(s, "/"), "/")
	switch first {
	case "Applications", "Library", "Users", "Volumes", "app", "bin", "data", "dev", "etc", "home", "lib", "media", "mnt", "nix", "opt", "private", "proc", "root",
		"run", "sbin", "snap", "srv", "sys", "tmp", "usr", "var", "workspace", "workspaces":
		return s[0] == '/' && ok && rest != ""
	}
	return false
}

// signed reports whether a word has signs in it as passwords do, and neither an
// address nor a path does.
func signed(s string) bool {
	if name, host, ok := strings.Cut(s, "@"); ok && name != "" && strings.Contains(host, ".") && !strings.ContainsAny(s, "!$^*#") {
		return false // ann@example.com
	}
	for i := 1; i+1 < len(s); i++ {
		if strings.IndexByte("@!$^*#", s[i]) >= 0 && isAlnum(int(s[i-1])) && isAlnum(int(s[i+1])) {
			return true
		}
	}
	return false
}

// parts is what the pieces of a value were found to be, all together.
type parts struct {
	pairs, odd    int // letters beside each other in words, and those of them that no word has
	mixed, digits int // pieces of letters and digits; digits
	says          bool
}

// add looks at a piece, and reports whether it alone looks random.
func (p *parts) add(s string) bool {
	const longest = 40
	if len(s) > longest {
		return true
	}
	if known[strings.ToLower(s)] {
		return false
	}
	runs := runsOf(s)
	letters, humps := 0, 0
	for _, r := range runs {
		if isDigit(int(r[0])) {
			p.digits += len(r)
			if len(r) > 9 {
				return true
			}
			continue
		}
		letters = max(letters, len(r))
		h := words(r)
		humps += len(h)
		pairs, odd := oddPairs(h)
		p.pairs, p.odd = p.pairs+pairs, p.odd+odd
		if pairs >= 7 && isOdd(pairs, odd) || isHumped(len(h), len(r)) {
			return true
		}
		for _, w := range h {
			p.says = p.says || w == "key" || w == "secret" || w == "token" || w == "password"
		}
	}
	switch {
	case len(runs) < 2:
		return false
	case len(runs) == 2 && letters >= 3 && (len(s)-letters <= 4 || isDigit(int(s[0]))): // llama3, python312, 512mb
		return false
	}
	p.mixed++
	return len(runs) > 3 || len(s) > 6
}

// random reports whether all pieces together look random.
func (p *parts) random() bool {
	return p.mixed >= 3 || p.digits > 18 || p.says && (p.digits > 2 || p.mixed > 0) || p.pairs >= 6 && 10*p.odd > 3*p.pairs
}

// isOdd reports whether so many odd pairs are too many for words. Of twelve random
// letters in a row one time in seventy has fewer, and so has all but one word in fifty.
func isOdd(pairs, odd int) bool {
	if pairs > 10 {
		return 5*odd >= pairs
	}
	return 3*odd > pairs
}

// isHumped reports whether so many letters have capitals too often for a name of words.
func isHumped(humps, letters int) bool {
	switch {
	case letters < 6 || humps < 2:
		return false
	case humps < 4:
		return 5*humps > 2*letters
	}
	return 7*humps > 2*letters
}

// runsOf splits a piece where letters become digits, and digits letters.
func runsOf(s string) []string {
	var out []string
	start := 0
	for i := 1; i <= len(s); i++ {
		if i == len(s) || isDigit(int(s[i])) != isDigit(int(s[i-1])) {
			out = append(out, s[start:i])
			start = i
		}
	}
	return out
}

// oddPairs counts the letters beside each other in words, and those that hardly any
// word has.
func oddPairs(words []string) (pairs, odd int) {
	for _, w := range words {
		for i := 1; i < len(w); i++ {
			a, b := int(w[i-1]), int(w[i])
			if !isLower(a) || !isLower(b) {
				continue
			}
			pairs++
			if strings.IndexByte(follows[a-'a'], byte(b)) < 0 {
				odd++
			}
		}
	}
	return pairs, odd
}

// follows are the letters that stand behind each letter in words: of the pairs in
// English words and in names of programs all but the rarest twentieth.
var follows = [26]string{
	"abcdfgiklmnprstuvwy", "aeilorsu", "acehiklortu", "adegilorsuy", "abcdefgilmnpqrstvwxy", "aefilorstu", // a to f
	"aeghinorsu", "aeiortu", "abcdefglmnoprstvxz", "", "eis", "adeilostuy", "abeilmopsu", // g to m
	"acdefgiklnoprstuv", "abcdfgiklmnoprstuvwx", "aehiloprstu", "u", "acdegiklmnorstuvy", "acehiklopstuwy", // n to s
	"acehiloprstuy", "abcdegilmnprst", "aei", "aehinors", "ept", "eps", "e", // t to z
}

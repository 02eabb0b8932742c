package limits

import (
	"regexp"
	"slices"
	"strings"
)

// personal are the patterns of what belongs to a person: numbers with a form or a check
// digit, addresses of mail, and passwords that are told in words.
func personal() []pattern {
	re := regexp.MustCompile
	return []pattern{
		{"a password", re(`(?:\b(?:my|our|his|her|their) (?:[a-z]+ )?)?(?:password|passwd|passphrase|passcode|pin|api key|passwort|kennwort|mot de passe|contraseña|пароль|密码|口令|密钥)\s*(?:(?:is|was|ist|lautet|est|es)\b|是|为|:|=|-)\s*["'«“]?([!-~]{4,})`), toldSecret},
		{"a number of an account", re(`\b[a-z]{2}\d{2}[ -]?[a-z0-9][a-z0-9 -]{9,40}`), iban},
		{"a number of a card", re(`\b[3-6]\d{3}(?:[ -]?\d){9,15}\b`), card},
		{"a number of a person", re(`\b\d{3}-\d{2}-\d{4}\b`), socialSecurity},
		{"a telephone number", re(`(?:^|[^a-z0-9+])\+\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}`), international},
		{"a telephone number", re(`\b1[3-9]\d(?:[ -]?\d{4}){2}\b`), nil},
		{"an address of mail", re(`[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*\.[a-z]{2,24}\b`), mailbox},
	}
}

// A part tells how many bytes of a match are what the pattern means; 0 is none of it.
type part func(match string) int

func whole(match string, is bool) int {
	if is {
		return len(match)
	}
	return 0
}

// digits returns the digits of a text.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// told are words that stand behind "the password is" where none is told.
var told = strings.Fields(`not wrong incorrect expired invalid always being rejected required correct weak strong case stored saved changed lost
	forgotten never still already compromised leaked hacked safe secure empty blank null stolen visible shown hidden encrypted hashed asked needed unknown
	what ignored accepted missing unique short long okay good used reused locked blocked different same protected policy manager reset field hash based only
	free less auth authentication generator recovery falsch nicht richtig abgelaufen incorrecto incorrecta oublié incorrect mandatory optional valid stronger
	sent known public plain text visible that this there which where when very also just going from with more than about none false true undefined unset
	default mean meaning number code setup memory working must have should works`)

// toldSecret reports whether what is said to be a password is one: it has a digit or a
// sign in it, or is a word that does not tell of passwords behind "my password is".
func toldSecret(match string) int {
	at := strings.LastIndexFunc(strings.TrimRight(match, " "), func(r rune) bool { return r == ' ' || r == ':' || r == '=' || r > '~' })
	secret := strings.Trim(match[at+1:], `"'.,;!?()«“`)
	mixed := strings.ContainsAny(secret, "0123456789!@#$%^&*_~")
	plainWord := len(secret) < 4 || slices.Contains(told, secret) || strings.ContainsAny(secret, "/<>{}[]") || strings.HasSuffix(secret, "ing") || strings.HasSuffix(secret, "ed")
	owned := strings.HasPrefix(match, "my ") || strings.HasPrefix(match, "our ") || strings.HasPrefix(match, "his ") || strings.HasPrefix(match, "her ") || strings.HasPrefix(match, "their ")
	return whole(match, mixed && len(secret) >= 4 || !plainWord && owned)
}

// lengths are those of account numbers, by the country that they begin with.
var lengths = map[string]int{
	"ad": 24, "ae": 23, "al": 28, "at": 20, "az": 28, "ba": 20, "be": 16, "bg": 22, "bh": 22, "br": 29, "by": 28, "ch": 21, "cr": 22, "cy": 28, "cz": 24,
	"de": 22, "dk": 18, "do": 28, "ee": 20, "eg": 29, "es": 24, "fi": 18, "fo": 18, "fr": 27, "gb": 22, "ge": 22, "gi": 23, "gl": 18, "gr": 27, "gt": 28,
	"hr": 21, "hu": 28, "ie": 22, "il": 23, "iq": 23, "is": 26, "it": 27, "jo": 30, "kw": 30, "kz": 20, "lb": 28, "li": 21, "lt": 20, "lu": 20, "lv": 21,
	"mc": 27, "md": 24, "me": 22, "mk": 19, "mr": 27, "mt": 31, "mu": 30, "nl": 18, "no": 15, "pk": 24, "pl": 28, "ps": 29, "pt": 25, "qa": 29, "ro": 24,
	"rs": 22, "sa": 24, "se": 24, "si": 19, "sk": 24, "sm": 27, "tn": 24, "tr": 26, "ua": 29, "va": 22, "xk": 20,
}

// iban finds an account number, whose remainder by 97 is 1 with its head at its end.
func iban(match string) int {
	want := lengths[match[:2]]
	var number []byte
	for i := range len(match) {
		if c := match[i]; c != ' ' && c != '-' {
			number = append(number, c)
		}
		if len(number) < want || want == 0 {
			continue
		}
		if i+1 < len(match) && match[i+1] != ' ' && match[i+1] != '-' {
			return 0 // it goes on
		}
		rest := 0
		for _, c := range append(number[4:], number[:4]...) {
			if c >= 'a' {
				rest = (rest*100 + int(c-'a') + 10) % 97
			} else {
				rest = (rest*10 + int(c-'0')) % 97
			}
		}
		return whole(match[:i+1], rest == 1)
	}
	return 0
}

// card checks the last digit of a number of a card, as Luhn has it.
func card(match string) int {
	number, sum := digits(match), 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return whole(match, slices.Contains([]int{13, 14, 15, 16, 19}, len(number)) && sum%10 == 0 && strings.Trim(number, number[:1]) != "")
}

// socialSecurity leaves out what was never given to anybody.
func socialSecurity(match string) int {
	never := strings.HasPrefix(match, "000") || strings.HasPrefix(match, "666") || match[0] == '9' || match[4:6] == "00" || match[7:] == "0000"
	return whole(match, !never)
}

// international checks a number with the code of a country.
func international(match string) int {
	at := strings.IndexByte(match, '+')
	number := digits(match)
	code := match[at+1:]
	if i := strings.IndexAny(code, " ./-("); i >= 0 {
		code = code[:i]
	}
	switch {
	case number[0] == '0', len(number) < 9, len(number) > 15:
		return 0
	case number[0] == '1': // ten more digits, of which the first and the fourth are 2 to 9
		return whole(match, len(number) == 11 && number[1] >= '2' && number[4] >= '2')
	case number[0] == '7':
		return whole(match, len(number) == 11)
	}
	return whole(match, len(code) != 1)
}

// mailbox leaves out what looks like an address of mail, and is of nobody.
func mailbox(match string) int {
	name, host, _ := strings.Cut(match, "@")
	switch end := host[strings.LastIndexByte(host, '.')+1:]; {
	case name == "git" || name == "noreply" || name == "no-reply", strings.HasPrefix("example.", host[:min(len(host), 8)]), strings.Contains(host, ".example."):
		return 0
	case slices.Contains(notTop, end):
		return 0
	}
	return len(match)
}

// notTop are ends of names that are no mail: of units, packages and files.
var notTop = []string{
	"service", "socket", "timer", "target", "mount", "slice", "path", "scope", "device", "example", "test", "invalid", "localhost", "js", "mjs", "ts", "tsx", "py", "json", "tgz",
	"gz", "zip", "whl", "jar", "css", "html", "yaml", "yml", "toml", "lock", "log", "conf", "so", "dll", "exe", "patch", "rb", "go", "rs",
}

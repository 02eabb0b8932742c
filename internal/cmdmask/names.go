package cmdmask

import (
	"slices"
	"strings"
)

// A name is looked at in small letters and without its separators, so DB_PASSWORD,
// db.password and dbPassword are one name. It is a secret's where it holds one of the
// stems anywhere, or ends with one of the endings, or where its last word is one of
// the words; and where it does not say that it is about a secret only, such as
// password_file.
var (
	stems   = []string{"password", "passwd", "passphrase", "passcode", "secret"}
	endings = []string{
		"pass", "pwd", "pw", "token", "tokens", "credential", "credentials", "apikey", "accesskey", "accesskeyid", "privatekey",
		"encryptionkey", "signingkey", "licensekey", "accountkey", "sharedkey", "masterkey", "authkey", "sessionkey", "consumerkey", "subscriptionkey",
		"authorization", "sessionid", "connectionstring", "connstr", "masterauth",
	}
	lastWords = []string{"auth", "bearer", "cookie", "cookies", "dsn", "sas", "signature", "sig", "otp", "pin", "psk", "salt", "jwt", "key"}

	// about are endings of names that hold a stem and no secret.
	about = []string{
		"file", "files", "path", "dir", "name", "names", "namespace", "ref", "refs", "policy", "length", "len", "min", "max", "expiry", "expires",
		"expiration", "age", "type", "mode", "class", "count", "field", "prompt", "url", "uri", "version", "enabled", "disabled", "required", "ttl", "timeout",
		"algorithm", "days", "hours", "seconds", "attempts", "interval", "manager", "provider", "kind", "source", "validator", "encoder", "less",
		"authentication", "arn", "status", "state", "rotation",
	}

	// noSecret are words that end like a secret's name.
	noSecret = []string{"bypass", "compass", "encompass", "surpass", "trespass", "overpass", "underpass", "multipass"}

	// qualifiers may follow a name, as in API_KEY_OLD.
	qualifiers = map[string]bool{
		"ro": true, "rw": true, "old": true, "new": true, "prod": true, "dev": true, "test": true, "staging": true, "base": true,
		"base64": true, "b64": true, "hash": true, "default": true, "primary": true, "secondary": true, "main": true, "live": true, "value": true,
	}
)

// longestName is how much of the end of a name is looked at.
const longestName = 80

// Secret reports whether a setting of that name holds a secret.
func Secret(name string) bool {
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	var buf [longestName]byte
	compact, last := buf[:0], 0 // last is where the last word begins
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			compact = append(compact, c+'a'-'A')
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			compact = append(compact, c)
		case c == '_' || c == '-' || c == '.' || c == ' ':
			if i+1 < len(name) && qualifiers[strings.ToLower(name[i+1:])] {
				return secret(compact, last)
			}
			last = len(compact)
		default:
			return false
		}
	}
	return secret(compact, last)
}

func secret(compact []byte, last int) bool {
	for len(compact) > 1 && compact[len(compact)-1] >= '0' && compact[len(compact)-1] <= '9' { // password1
		compact = compact[:len(compact)-1]
	}
	s := string(compact)
	word := s[min(last, len(s)):]
	if word == "" { // TOKEN_2
		word = s
	}
	if slices.Contains(noSecret, word) {
		return false
	}
	if slices.Contains(lastWords, word) {
		return true
	}
	for _, e := range endings {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	for _, stem := range stems {
		if i := strings.LastIndex(s, stem); i >= 0 {
			return !ofAbout(s[i+len(stem):])
		}
	}
	return false
}

// ofAbout reports whether what follows a stem makes the name one about a secret.
func ofAbout(rest string) bool {
	if rest == "" {
		return false
	}
	for _, e := range about {
		if strings.HasSuffix(rest, e) {
			return true
		}
	}
	return false
}

// surely reports whether a name is so plainly a secret's that even what looks like
// an option is its value.
func surely(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pass") || strings.Contains(name, "secret") || strings.Contains(name, "token") || strings.Contains(name, "pw") || strings.HasSuffix(name, "masterauth")
}

// option returns the name of an option, and whether a secret follows it.
func option(word string) (string, bool) {
	name := strings.TrimLeft(word, "-/")
	dashes := len(word) - len(name)
	if dashes == 0 || dashes > 2 || name == "" || strings.HasPrefix(name, "no-") || strings.HasPrefix(name, "ask-") {
		return "", false
	}
	return name, Secret(name)
}

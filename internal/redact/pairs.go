package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// A pair is a name with its value within a text.
type pair struct{ name, value string }

// notations are what texts are read by. They are made when they are needed: each
// program that starts would pay for them.
type notations struct {
	given     []*regexp.Regexp // a value, which is what is matched second, to a name
	passwords []*regexp.Regexp // behind the name of a user; the first is of an address that cannot be read
	digest    *regexp.Regexp   // by which an image is named
	host      *regexp.Regexp   // by its end; the parts may be short forms that no word has
}

var notation = sync.OnceValue(func() *notations {
	const before, name, quoted = `(?:^|[\s{,;"'(])`, `([A-Za-z_][\w.-]*)`, `("(?:[^"\\]|\\.)*"|'[^']*')`
	all := func(forms ...string) (out []*regexp.Regexp) {
		for _, form := range forms {
			out = append(out, regexp.MustCompile(form))
		}
		return out
	}
	return &notations{
		given: all(
			name+`\s*=\s*(?:`+quoted+`|([^\s,;&"']+))`,                    // a=b, a = 'b', ?a=b&c=d
			before+name+`["']?\s*:\s*`+quoted,                             // "a": "b", a: 'b'
			before+name+`["']\s*:\s*([^\s,"'{}\[\]]+)`,                    // "a": 1
			before+name+`:\s+([^\s,"'{}\[\]]+)`,                           // a: b
			`(?i)`+before+`(authorization)["']?\s*:\s*["']?\w+ +(\S{6,})`, // Authorization: Bearer b
			`(?:^|\s)--?`+name+`\s+([^\s-]\S*)`,                           // --a b
		),
		passwords: all(
			`^[A-Za-z][\w+.-]*://[^/:@]*:(.+)@[^@]*$`,
			`^[^\s:/@]+:(.+)@(?:/|\w+\()`,                        // user:password@/database, of MySQL
			`(?:^|\s)(?:-u|--user)[ =]+[^\s:]+:(\S*[^\s\d:]\S*)`, // of curl
			`(?i)^bearer +(\S{6,})$`,
		),
		digest: regexp.MustCompile(`@sha(256|512):[0-9a-f]+$`),
		host:   regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)*\.(local|internal|lan|corp|svc|com|net|org|io|dev|cloud)(:[0-9]{1,5})?$`),
	}
})

// pairs returns the values that a text gives to names.
func pairs(s string) []pair {
	const most = 256
	var out []pair
	for _, g := range notation().given {
		for _, m := range g.FindAllStringSubmatch(s, most) {
			out = append(out, pair{m[1], unquoted(strings.Join(m[2:], ""))})
		}
	}
	if strings.Contains(s, ";") { // a b=c d;e=f
		for part := range strings.SplitSeq(s, ";") {
			if name, value, ok := strings.Cut(part, "="); ok {
				out = append(out, pair{strings.TrimSpace(name), unquoted(strings.TrimSpace(value))})
			}
		}
	}
	return out
}

func unquoted(s string) string {
	var text string
	switch {
	case len(s) < 2 || s[0] != '"' && s[0] != '\'':
		return s
	case s[0] == '"' && json.Unmarshal([]byte(s), &text) == nil:
		return text
	}
	return s[1 : len(s)-1]
}

// named returns the secrets that stand in a text as the value of a name, of a user or of
// a scheme.
func named(s string) []string {
	if !strings.ContainsAny(s, "=: \t\n") {
		return nil
	}
	var out []string
	for _, p := range pairs(s) {
		if p.value != "" && p.name != "key" && namesSecret(p.name) {
			out = append(out, p.value)
		}
	}
	for i, form := range notation().passwords {
		if i == 0 {
			if _, err := url.Parse(s); err == nil {
				continue
			}
		}
		for _, m := range form.FindAllStringSubmatch(s, 16) {
			out = append(out, m[1])
		}
	}
	return out
}

// inner returns the secrets within a secret: what it gives to secret names, the
// credential behind the name of its scheme, who and what opens an address, and the lines
// of a key.
func inner(s string) []string {
	if len(s) > longest {
		return nil
	}
	out := named(s)
	for _, p := range pairs(s) {
		if isRandom(p.value) {
			out = append(out, p.value)
		}
	}
	if scheme, rest, ok := strings.Cut(s, " "); ok {
		switch strings.ToLower(scheme) {
		case "basic":
			if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
				_, password, _ := strings.Cut(string(plain), ":")
				out = append(out, password)
			}
			out = append(out, rest)
		case "bearer", "token", "apikey", "bot", "key":
			out = append(out, strings.TrimSpace(rest))
		}
	}
	if u, err := url.Parse(s); err == nil && strings.Contains(s, "://") {
		out = append(out, secretsOf(u)...)
	}
	if strings.Contains(s, "-----BEGIN ") {
		for line := range strings.FieldsSeq(strings.ReplaceAll(s, `\n`, "\n")) {
			if len(line) >= 16 && !strings.Contains(line, "-----") {
				out = append(out, line)
			}
		}
	}
	return out
}

// secretsOf returns what opens an address.
func secretsOf(u *url.URL) []string {
	var out []string
	if password, ok := u.User.Password(); ok {
		out = append(out, password)
	} else if u.User != nil && strings.HasPrefix(u.Scheme, "http") { // elsewhere it is a name
		out = append(out, u.User.Username())
	}
	fragment, _ := url.ParseQuery(u.Fragment) // there need be none
	for _, query := range []url.Values{u.Query(), fragment} {
		for name, list := range query {
			for _, value := range list {
				if opens[name] || namesSecret(name) || isRandom(value) {
					out = append(out, value)
				}
			}
		}
	}
	return out
}

// opens are names of a query, beside those of secrets, whose values open an address.
var opens = map[string]bool{"sig": true, "signature": true, "code": true}

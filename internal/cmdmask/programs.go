package cmdmask

import (
	"slices"
	"strings"
	"sync"
)

// A program is what is known of the arguments of one by which secrets are given
// without a name of their own.
type program struct {
	next  string // options whose next argument is a secret
	glued string // options that a secret is attached to
	pair  string // options that take a user and a secret, and what stands between them
	sign  string
	after string // words of which one must have been given before; empty: none
	words string // words after which plain arguments are counted; * is any
	nth   int    // which one of these is the secret, from 1
	named bool   // a plain argument after one that is a secret's name is the secret
}

// programs has one line for each, by the names, of which one that ends with * is the
// beginning of a name.
var programs = sync.OnceValues(func() (exact map[string][]program, begins []string) {
	exact = map[string][]program{}
	for _, known := range []struct {
		names string
		program
	}{
		{"mysql* mariadb* mongo* sshpass cqlsh rdesktop", program{next: "-p", glued: "-p"}},
		{"redis-*", program{next: "-a", glued: "-a"}},
		{"7z 7za 7zr rar unrar", program{glued: "-p -hp"}},
		{"zip unzip sqlcmd bcp isql tsql ipmitool mosquit*", program{next: "-P", glued: "-P"}},
		{"ldap*", program{next: "-w", glued: "-w"}},
		{"openssl", program{next: "-pass -passin -passout -k -K"}},
		{"ssh-keygen", program{next: "-N -P"}},
		{"snmp*", program{next: "-c -A -X"}},
		{"useradd usermod psexec", program{next: "-p"}},
		{"signtool", program{next: "/p"}},
		{"xfreerdp wlfreerdp xfreerdp3", program{glued: "/p:"}},
		{"plink pscp psftp", program{next: "-pw"}},
		{"curl", program{next: "-b", pair: "-u -U --user --proxy-user", sign: ":"}},
		{"http https httpie", program{pair: "-a --auth", sign: ":"}},
		{"lftp", program{pair: "-u --user", sign: ","}},
		{"smbclient smbmap rpcclient smbget net", program{pair: "-U --user", sign: "%"}},
		{"docker podman nerdctl buildah skopeo helm oras crane", program{next: "-p", glued: "-p", after: "login"}},
		{"vault", program{words: "login", nth: 1}},
		{"htpasswd", program{words: "-b -bc -cb -Bb -bB -bcB -Bbc -cbB", nth: 3}},
		{"wpa_passphrase", program{words: "*", nth: 2}},
		{"rabbitmqctl", program{words: "add_user change_password authenticate_user", nth: 2}},
		{"mysqladmin nmcli", program{words: "password", nth: 1}},
		{"redis-* aws npm yarn pnpm git pip pip3 composer gcloud gh pdftk heroku", program{named: true, after: "set config output"}},
		{"kubectl oc", program{pair: "--from-literal", sign: "="}},
		{"htpasswd", program{words: "-nb -bn -nbB -nBb -Bnb -bnB -nbm", nth: 2}},
	} {
		for name := range strings.FieldsSeq(known.names) {
			begin, ok := strings.CutSuffix(name, "*")
			if ok && !slices.Contains(begins, begin) {
				begins = append(begins, begin)
			}
			exact[begin] = append(exact[begin], known.program)
		}
	}
	return exact, begins
})

// rulesOf returns what is known of a program.
func rulesOf(word string) []program {
	name := base(word)
	if name == "" || name[0] == '-' || len(name) > 64 {
		return nil
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	exact, begins := programs()
	found := exact[name]
	for _, b := range begins {
		if len(name) > len(b) && strings.HasPrefix(name, b) {
			found = append(slices.Clip(found), exact[b]...)
		}
	}
	return found
}

// base returns the name of a program without the folders before it, and the signs
// of a shell around it.
func base(word string) string {
	word = strings.Trim(word, "\"'`$(){};&|")
	return word[strings.LastIndexAny(word, `/\`)+1:]
}

// A command is one whose arguments are gone through: the rules of all programs it
// names, for one may start another, and what was given already.
type command struct {
	rules  []counted
	before string // the argument before
	header bool   // the value of a secret header goes on
}

type counted struct {
	program
	given bool // the word that must have been given, or is counted from
	plain int  // plain arguments since
	name  bool // the one before is a secret's name
}

// mostRules bounds how many programs one command is held to name.
const mostRules = 8

// names lets a command name a program.
func (c *command) names(word string) {
	for _, p := range rulesOf(word) {
		if len(c.rules) < mostRules {
			c.rules = append(c.rules, counted{program: p, given: p.after == "" && (p.words == "" || p.words == "*")})
		}
	}
}

// argument returns an argument as it is shown, and whether that is settled: text
// that is not has still to be looked through.
func (c *command) argument(a string) (string, bool) {
	before := strings.Trim(c.before, "\"'")
	c.before = a
	if a == "" {
		return a, true
	}
	bare := strings.TrimLeft(a, "\"'")
	if shown, ok := c.named(before, a); ok {
		return shown, true
	}
	if (before == "-u" || before == "--user" || before == "--proxy-user" || before == "-U") && !strings.Contains(a, "://") {
		if user, _, ok := strings.Cut(a, ":"); ok {
			return user + ":" + Masked, true
		}
	}
	if i := strings.IndexAny(a, "=:"); i > 0 && i+1 < len(a) { // nothing but an assignment
		if name := strings.TrimLeft(a[:i], "-/"); i-len(name) <= 2 && name != "" && Secret(name) {
			return a[:i+1] + Masked, true
		}
	}
	for i := range c.rules {
		if shown, ok := c.rules[i].mask(before, a, bare); ok {
			return shown, true
		}
	}
	c.names(a)
	if _, after, ok := strings.Cut(a, "="); ok { // COMMAND=/usr/bin/mysql
		c.names(after)
	}
	return a, false
}

// named masks an argument that follows the name of a secret: of a header, or of an option.
func (c *command) named(before, a string) (string, bool) {
	if c.header {
		c.header = isScheme(a)
		if !strings.HasPrefix(a, "-") && !strings.Contains(a, "://") {
			return Masked, true
		}
	}
	if name, ok := strings.CutSuffix(strings.Trim(a, "\"'"), ":"); ok && (before == "-H" || before == "--header") && Secret(name) {
		c.header = true
		return a, true
	}
	name, ok := option(before)
	return Masked, ok && (!strings.HasPrefix(a, "--") || surely(name))
}

// mask returns an argument as it is shown, where one program's rules say so.
func (p *counted) mask(before, a, bare string) (string, bool) {
	dashed := strings.HasPrefix(bare, "-")
	if p.given && (before == "" || !has(p.next, before) || dashed && strings.HasPrefix(bare, "--")) {
		for o := range strings.FieldsSeq(p.glued) {
			if len(bare) > len(o) && strings.HasPrefix(bare, o) && !strings.HasPrefix(bare, "-port") {
				return bare[:len(o)] + Masked, true
			}
		}
	} else if p.given {
		return Masked, true
	}
	if shown, ok := p.maskPair(before, a, bare); ok {
		return shown, true
	}
	switch {
	case p.after != "" && has(p.after, a), p.words != "" && p.words != "*" && has(p.words, a):
		p.given, p.plain = true, 0
		return "", false
	case dashed || !p.given:
		return "", false
	}
	if p.named {
		was := p.name
		p.name = !was && Secret(bare)
		return Masked, was
	}
	if p.words != "" && !strings.Contains(a, "=") {
		p.plain++
		return Masked, p.plain == p.nth
	}
	return "", false
}

// maskPair masks the secret behind a user: curl -u me:x, -ume:x, -su me:x, --user=me:x.
func (p *counted) maskPair(before, a, bare string) (string, bool) {
	if p.pair == "" {
		return "", false
	}
	value := ""
	switch {
	case has(p.pair, before), flags(p.pair, before):
		value = a
	case strings.HasPrefix(bare, "--"):
		if o, v, ok := strings.Cut(bare, "="); ok && has(p.pair, o) {
			value = v
		}
	case len(bare) > 2 && bare[0] == '-' && has(p.pair, bare[:2]):
		value = bare[2:]
	}
	user, _, ok := strings.Cut(value, p.sign)
	if !ok {
		return "", false
	}
	return a[:len(a)-len(value)] + user + p.sign + Masked, true
}

// flags reports whether a word is short options in one, of which the last is one of
// the list.
func flags(list, word string) bool {
	return len(word) > 2 && len(word) < 8 && word[0] == '-' && word[1] != '-' && has(list, "-"+word[len(word)-1:])
}

func has(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

func isScheme(word string) bool {
	switch strings.ToLower(strings.Trim(word, "\"'")) {
	case "basic", "bearer", "token", "digest", "apikey", "negotiate":
		return true
	}
	return false
}

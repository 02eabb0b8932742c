package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// A mode says what counts as an address.
type mode uint8

const (
	anywhere mode = iota // a host by itself too: what is fetched may be named by it alone
	links                // a host without scheme and path is a word like any other
)

// A match is an address that a rule forbids.
type match struct {
	rule    int
	address string // in its normal form; empty is no match
}

func (m match) found() bool { return m.address != "" }

// find returns the first address in a text, or behind a layer of its escapes,
// that a rule of in forbids.
func (r *Rules) find(text string, in []bool, m mode) match {
	var hit match
	eachLayer(text, func(layer string) bool {
		hit = r.inLayer(layer, in, m)
		if hit.found() {
			return false
		}
		// Readers of URLs drop line ends and tabs within one.
		if joined := withoutBreaks(layer); joined != layer {
			hit = r.inLayer(joined, in, m)
		}
		return !hit.found()
	})
	return hit
}

// withoutBreaks returns an address as its readers see it: without blanks around
// it, and without tabs and line ends. A text with other blanks is no address, and
// stays as it is.
func withoutBreaks(s string) string {
	trimmed := strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsFunc(trimmed, func(r rune) bool { return isBlank(r) && !isBreak(r) }) {
		return s
	}
	if !strings.ContainsFunc(trimmed, isBreak) {
		return trimmed
	}
	out := make([]byte, 0, len(trimmed)) // strings.Map would mend bytes that are no UTF-8
	for i := range len(trimmed) {
		if !isBreak(rune(trimmed[i])) {
			out = append(out, trimmed[i])
		}
	}
	return string(out)
}

func isBreak(r rune) bool { return r == '\t' || r == '\r' || r == '\n' }

// maxWork bounds the bytes of paths that are read for one text. Only a text made
// to cost time, with thousands of forbidden hosts and no blank between them, goes
// beyond; it is taken for forbidden.
const maxWork = 4 << 20

// inLayer looks at each run of host characters in a text.
func (r *Rules) inLayer(text string, in []bool, m mode) match {
	if !r.needles.inLayer(text) {
		return match{}
	}
	work := 0
	for i := 0; i < len(text); {
		end := runEnd(text, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		if hit := r.at(text, i, end, in, m, &work); hit.found() {
			return hit
		}
		i = end
	}
	return match{}
}

// at looks at the run text[i:j].
func (r *Rules) at(text string, i, j int, in []bool, m mode, work *int) match {
	run := text[i:j]
	if !r.bare && !mayHaveDot(run) && (!r.schemes || i == 0 || !isSlash(text[i-1])) {
		return match{}
	}
	before := text[:i]
	absolute := strings.HasSuffix(before, "@") || len(before)-len(strings.TrimRight(before, `/\`)) >= 2
	var buf [4]string // most runs are no host of a rule, and cost no memory
	for _, host := range appendHosts(buf[:0], run, absolute) {
		if !r.names(host, in) {
			continue
		}
		rest := text[j:]
		if isUserinfo(rest) {
			return match{} // what stands before @ is no host
		}
		a := readPath(rest)
		*work += a.read
		if m == links && !absolute && a.path == "" {
			continue
		}
		if hit := r.lookup(host, before, a, in, *work > maxWork); hit.found() {
			return hit
		}
	}
	return match{}
}

// names tells whether a rule of in has the host, whatever the path.
func (r *Rules) names(host string, in []bool) bool {
	return r.each(host, func(t *target) bool { return !in[t.rule] })
}

// lookup returns the match of the host and the path behind it.
func (r *Rules) lookup(host, before string, a behind, in []bool, tangled bool) match {
	var hit match
	r.each(host, func(t *target) bool {
		if in[t.rule] && (t.scheme == "" || endsInScheme(before, t.scheme)) && (tangled || t.matches(a.segments)) {
			hit = match{t.rule, strings.TrimSuffix(host+"/"+strings.Join(a.segments, "/"), "/")}
			if t.scheme != "" {
				hit.address = t.scheme + "://" + hit.address
			}
		}
		return !hit.found()
	})
	return hit
}

// each calls visit with the targets that have the host, until it returns false;
// it reports whether it did.
func (r *Rules) each(host string, visit func(*target) bool) (stopped bool) {
	if len(host) > maxHost {
		return false
	}
	for _, t := range r.exact[host] {
		if !visit(t) {
			return true
		}
	}
	for rest, ok := host, true; ok; _, rest, ok = strings.Cut(rest, ".") {
		for _, t := range r.below[rest] {
			if !visit(t) {
				return true
			}
		}
	}
	return false
}

// endsInScheme tells whether the text before a host ends in the scheme.
func endsInScheme(before, scheme string) bool {
	bare := strings.TrimRight(before, `/\`)
	n := len(bare) - len(scheme) - 1
	return n >= 0 && len(bare) < len(before) && strings.EqualFold(bare[n:], scheme+":")
}

// runEnd returns the end of the run of host characters that begins at i.
func runEnd(text string, i int) int {
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if !isHostByte(c) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || isDelimiter(r) {
			break
		}
		i += size
	}
	return i
}

func isHostByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// isDelimiter tells whether a character outside of ASCII parts words. Those that
// fold to a dot, a hyphen or a low line stay within a host.
func isDelimiter(r rune) bool {
	switch r {
	case '。', '．', '｡', '․', '﹒', '－', '﹣', '＿':
		return false
	}
	return unicode.IsSpace(r) || unicode.IsPunct(r)
}

// mayHaveDot tells whether a run has a dot, or a character that may fold to one.
func mayHaveDot(run string) bool {
	for i := range len(run) {
		if run[i] == '.' || run[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// appendHosts appends the hosts that a run may stand for, in their normal form.
// Where the run does not begin an authority it may be glued to a word of a script
// that has no blanks.
func appendHosts(all []string, run string, absolute bool) []string {
	host := foldHost(run)
	all = append(all, host)
	if site, ok := strings.CutSuffix(host, ".translate.goog"); ok {
		all = append(all, translated(site, "-"), translated(site, "."))
	}
	if absolute {
		return all
	}
	if i := strings.LastIndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		_, size := utf8.DecodeRuneInString(host[i:])
		all = append(all, strings.TrimLeft(host[i+size:], "._-"))
	}
	return all
}

// translated returns the host that a label of Google's translating proxy stands
// for: huggingface-co.translate.goog. A hyphen of the host is written twice there.
func translated(label, hyphen string) string {
	const twice = "\x00"
	label = strings.ReplaceAll(label, "--", twice)
	label = strings.ReplaceAll(label, "-", ".")
	return strings.ReplaceAll(label, twice, hyphen)
}

// dropped are characters that readers of hosts leave out, or take for a dot, and
// that the mapping of IDNA does not, or not in every version.
var dropped = strings.NewReplacer("\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u2024", ".", "\ufe52", ".")

// foldHost returns a host in its normal form: lower case, compatible characters
// and internationalised labels as Unicode has them (UTS 46), no dots around it.
func foldHost(host string) string {
	if !isPlain(host) {
		// The mapping is what counts: a name that is not valid is mapped as well.
		profile := idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.CheckJoiners(false))
		host, _ = profile.ToUnicode(clipRun(dropped.Replace(host)))
		host = dropped.Replace(host)
	}
	return strings.TrimRight(strings.TrimLeft(strings.ToLower(host), "._-"), ".")
}

// isPlain tells whether a host needs no mapping but that to lower case.
func isPlain(host string) bool {
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(host), "xn--")
}

// maxHost is the most bytes of a host: DNS has names of 253 characters, and each
// may have four bytes.
const maxHost = 1 << 10

// clipRun returns the end of a run: a paragraph of Chinese is one too.
func clipRun(run string) string {
	if len(run) <= maxHost {
		return run
	}
	run = run[len(run)-maxHost:]
	for !utf8.RuneStart(run[0]) {
		run = run[1:]
	}
	return run
}

// isUserinfo tells whether what stands before rest is the user of an address:
// whether an @ comes before the end of the authority.
func isUserinfo(rest string) bool {
	rest = rest[:min(len(rest), maxHost)] // a longer one is no user, but made to cost time
	at := strings.IndexByte(rest, '@')
	return at >= 0 && strings.IndexFunc(rest[:at], func(r rune) bool { return endsPath(r) || r == '/' || r == '\\' }) < 0
}

// endsPath tells whether a character ends a path, in an address or in a text.
func endsPath(r rune) bool {
	switch r {
	case '?', '#', '"', '\'', '<', '>', '`':
		return true
	}
	return isBlank(r)
}

// isBlank tells whether a character ends an address.
func isBlank(r rune) bool { return r <= ' ' || r >= 0x7f && (r == 0x7f || unicode.IsSpace(r)) }

// Package limits decides which queries may leave for a search engine, and how many.
//
//	f, err := limits.NewFilter(limits.FilterOptions{KeywordsAction: limits.Redact})
//	query, removed, err := f.Check("redis on 10.1.2.3") // a *Refusal, or what may be sent
//
//	w := &limits.Window{Calls: 20, Every: time.Minute, File: "/home/me/.cache/tenon/websearch-rate.json"}
//	err = w.Take(ctx, 1) // a *Refusal when 20 were made in the last minute
//
// A query is compared in one spelling: compatibility forms and capitals are folded and
// characters that cannot be seen are left out. A keyword counts as a word: "secret" is
// not in "secretary", and 小说 is not in 大小说明.
package limits

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An Action is what becomes of a query that holds what it must not.
type Action string

// The actions.
const (
	Refuse Action = "refuse" // the query is not sent
	Redact Action = "redact" // it is sent without that
	Off    Action = "off"    // nothing is looked for
)

// ParseAction reads an action; "" is Refuse.
func ParseAction(s string) (Action, error) {
	switch a := Action(s); a {
	case "":
		return Refuse, nil
	case Refuse, Redact, Off:
		return a, nil
	}
	return "", fmt.Errorf("%.40q is none of refuse, redact and off", s)
}

// DefaultKeywords are the words of a query that has nothing to do with the work: of
// leisure, politics, and personal papers. Words such as token or password are none of
// them, for much that one has to look up is about these; that a query holds one itself
// is what the patterns are for.
func DefaultKeywords() []string {
	return []string{
		"动漫", "漫画", "电影", "电视剧", "番剧", "小说", "二次元", "游戏", "刀剑神域", "原神", "崩坏", "天气", "旅游", "美食", "菜谱", "星座",
		"八卦", "明星", "娱乐", "色情", "成人", "政治", "选举", "翻墙", "身份证", "手机号", "护照", "信用卡", "私钥串",
	}
}

// parts are longer words that hold a keyword and mean something else.
var parts = map[string][]string{
	"小说": {"大小说", "最小说", "较小说"}, "天气": {"天气候"}, "游戏": {"游戏服务器", "游戏盾"}, "崩坏": {"崩坏性"}, "成人": {"生成人", "完成人", "形成人", "组成人", "构成人"},
	"政治": {"财政治理", "行政治理"}, "明星": {"说明星号", "证明星"}, "星座": {"卫星座"},
}

// A pattern is one kind of thing that must not be told to a search engine.
type pattern struct {
	name string
	is   *regexp.Regexp
	part part // of what matches; nil: all of it
}

func builtin() []pattern {
	re := regexp.MustCompile
	return slices.Concat([]pattern{
		{"a private key", re(`-----begin [a-z ]*private key-----`), nil},
		{"a password in an address", re(`://[^\s/:@]+:[^\s/@]+@`), nil},
		{"a bearer token", re(`\bbearer\s+[a-z0-9._~+/-]{8,}=*`), nil},
		{"a token", re(`\beyj[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}(?:\.[a-z0-9_-]*)?`), nil},
		{"a key", re(`\bsk-[a-z0-9_-]{16,}`), nil},
		{"a key", re(`\b(?:gh[pousr]_[a-z0-9]{20,}|github_pat_[a-z0-9_]{20,}|glpat-[a-z0-9_-]{16,}|xox[abprs]-[a-z0-9-]{10,}|akia[a-z0-9]{16}|aiza[a-z0-9_-]{30,}|hf_[a-z0-9]{20,})`), nil},
		{"a key or password", re(`\b(?:api[_-]?key|passwd|password|secret|token)\s*[=:]\s*\S{6,}`), nil},
	}, personal(), []pattern{
		{"an IP address", re(`\b(?:\d{1,3}\.){3}\d{1,3}\b`), machine},
		{"a number of a person", re(`\b\d{15,17}[\dx]?\b`), nil},
	})
}

// machine leaves out four numbers that are no address of a machine: those that everybody
// has, and what is none at all.
func machine(s string) int {
	for p := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(p); err != nil || n > 255 {
			return 0
		}
	}
	return whole(s, !strings.HasPrefix(s, "127.") && s != "0.0.0.0" && s != "255.255.255.255")
}

// FilterOptions configures a Filter.
type FilterOptions struct {
	Keywords       []string // nil: DefaultKeywords
	KeywordsAction Action
	Patterns       []string // regular expressions besides the built-in ones, of small letters
	PatternsAction Action
}

// A Filter looks queries through. It is safe for concurrent use.
type Filter struct {
	o        FilterOptions
	keywords []string
	patterns []pattern
}

// A Refusal is the error for a query that is not sent.
type Refusal struct{ Text string }

// Error says why, and what to do.
func (r *Refusal) Error() string { return r.Text }

// Refused says that a rule stands behind the error: see package typed.
func (r *Refusal) Refused() bool { return true }

// Bounds on what an operator may set.
const (
	maxKeywords = 1000
	maxPatterns = 100
)

// NewFilter returns a filter. The error for a keyword or a pattern names it.
func NewFilter(o FilterOptions) (*Filter, error) {
	if o.Keywords == nil {
		o.Keywords = DefaultKeywords()
	}
	f := &Filter{o: o, patterns: builtin()}
	if len(o.Keywords) > maxKeywords || len(o.Patterns) > maxPatterns {
		return nil, fmt.Errorf("there may be %d keywords and %d patterns", maxKeywords, maxPatterns)
	}
	for _, k := range o.Keywords {
		if k = strings.TrimSpace(fold(k)); k == "" {
			return nil, errors.New("a keyword is empty")
		}
		f.keywords = append(f.keywords, k)
	}
	// The longest first, so that what is redacted is the whole word.
	slices.SortStableFunc(f.keywords, func(a, b string) int { return len(b) - len(a) })
	for _, p := range o.Patterns {
		re, err := regexp.Compile(p)
		if err != nil || re.MatchString("") {
			return nil, fmt.Errorf("%.100q is no regular expression that matches a text", p)
		}
		f.patterns = append(f.patterns, pattern{"what this server's operator keeps back", re, nil})
	}
	return f, nil
}

// Check returns the query as it may be sent, and what was taken out of it. The error is
// a *Refusal.
func (f *Filter) Check(query string) (string, []string, error) {
	text := fold(query)
	var removed []string
	if f.o.PatternsAction != Off {
		for _, p := range f.patterns {
			cut := p.cut(text)
			if cut == text {
				continue
			}
			if f.o.PatternsAction != Redact {
				return "", nil, &Refusal{fmt.Sprintf("refused: the query holds %s, which must not be told to a search engine. Search again without it", p.name)}
			}
			text, removed = cut, append(removed, p.name)
		}
	}
	if f.o.KeywordsAction != Off {
		for _, k := range f.keywords {
			cut := cutWord(text, k)
			if cut == text {
				continue
			}
			if f.o.KeywordsAction != Redact {
				return "", nil, &Refusal{fmt.Sprintf("refused: the word %q is on the list of what this server does not search for. Search for something else", k)}
			}
			text, removed = cut, append(removed, fmt.Sprintf("the word %q", k))
		}
	}
	if removed == nil {
		return query, nil, nil
	}
	if text = strings.Join(strings.Fields(text), " "); strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) == "" {
		return "", nil, &Refusal{fmt.Sprintf("refused: without %s nothing is left of the query. Search for something else", strings.Join(removed, " and "))}
	}
	return text, removed, nil
}

// cut returns a text without what the pattern means.
func (p pattern) cut(text string) string {
	return p.is.ReplaceAllStringFunc(text, func(s string) string {
		if p.part == nil {
			return " "
		}
		n := p.part(s)
		if n == 0 {
			return s
		}
		return " " + s[n:]
	})
}

// fold returns a text in one spelling.
func fold(s string) string {
	s = norm.NFKC.String(strings.ToValidUTF8(s, " "))
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || unicode.Is(unicode.Mn, r) && r >= 0xfe00 && r <= 0xfe0f:
			return -1
		}
		return r
	}, s))
}

// cutWord returns a text without a word.
func cutWord(text, word string) string {
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		begin, end := at+i, at+i+len(word)
		if isWord(text, begin, end, word) {
			b.WriteString(text[at:begin])
			b.WriteByte(' ')
		} else {
			b.WriteString(text[at:end])
		}
		at = end
	}
}

// isWord reports whether a part of a text is a word of its own: no letter or digit of
// the same script touches it. Scripts without spaces show no bounds; there a word is
// one unless a longer one that is known holds it.
func isWord(text string, begin, end int, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	before, _ := utf8.DecodeLastRuneInString(text[:begin])
	after, _ := utf8.DecodeRuneInString(text[end:])
	if joins(before, first) || joins(last, after) {
		return false
	}
	for _, long := range parts[word] {
		shift := strings.Index(long, word)
		if from := begin - shift; from >= 0 && strings.HasPrefix(text[from:], long) {
			return false
		}
	}
	return true
}

// joins reports whether two characters that stand side by side belong to one word.
func joins(a, b rune) bool {
	in := func(r rune) bool {
		return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
	}
	return in(a) && in(b)
}

// Describe says what queries are held to.
func (f *Filter) Describe() []string {
	does := map[Action]string{Refuse: "queries are refused", Redact: "it is left out of queries"}
	var out []string
	if f.o.PatternsAction != Off {
		out = append(out, fmt.Sprintf("where secrets, addresses of machines or personal numbers stand in a query, %s", does[f.action(f.o.PatternsAction)]))
	}
	if f.o.KeywordsAction != Off && len(f.keywords) > 0 {
		out = append(out, fmt.Sprintf("where one of %d words stands in a query, %s", len(f.keywords), does[f.action(f.o.KeywordsAction)]))
	}
	return out
}

func (f *Filter) action(a Action) Action {
	if a == Redact {
		return Redact
	}
	return Refuse
}

package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// An object reads the keys of one map. Each method reads one key into dst and
// leaves dst alone where the key is absent or wrong; a wrong one is reported.
// What is never asked for is an unknown key: see rest.
type object struct {
	n     *source.Node
	ex    *interpolate.Expander
	to    *[]source.Mistake
	known []string
	seen  map[string]*source.Node // of the keys that the map has
}

// newObject returns the reader of a map. Anything else is reported, and null is
// an empty map.
func newObject(n *source.Node, ex *interpolate.Expander, to *[]source.Mistake) *object {
	o := &object{n: n, ex: ex, to: to, seen: make(map[string]*source.Node)}
	if !o.sound(n) {
		return o
	}
	if n.Kind != source.Map && n.Kind != source.Null {
		o.fail(n, "wants a map of keys, and holds "+n.Kind.String(), "")
	}
	first := make(map[string]*source.Node, len(n.Pairs))
	for _, p := range n.Pairs {
		if first[p.Key.Text] == nil {
			first[p.Key.Text], o.seen[p.Key.Text] = p.Key, p.Value
			continue
		}
		o.fail(p.Key, fmt.Sprintf("key %q is given twice", clip(p.Key.Text)), fmt.Sprintf("first in line %d", first[p.Key.Text].Line))
	}
	return o
}

// maxMistakes is how many mistakes one load tells. Nobody reads more, and a file
// that was made to hold a hundred thousand would take its time.
const maxMistakes = 1000

func (o *object) fail(at *source.Node, text, hint string) {
	if len(*o.to) >= maxMistakes {
		return
	}
	*o.to = append(*o.to, at.Mistake(text, hint))
}

// sound reports what is wrong with a node by itself, and tells whether it can be
// read all the same.
func (o *object) sound(n *source.Node) bool {
	*o.to = append(*o.to, n.Wrong...)
	return n.Kind != source.Bad
}

// key returns the value of a key, or nil where it is absent or null.
func (o *object) key(name string) *source.Node {
	o.known = append(o.known, name)
	if n := o.seen[name]; n != nil && n.Kind != source.Null && o.sound(n) {
		return n
	}
	return nil
}

// has tells whether the map has the key with a value.
func (o *object) has(name string) bool {
	n := o.seen[name]
	return n != nil && n.Kind != source.Null
}

// at returns the place of a key, or of the map.
func (o *object) at(name string) *source.Node {
	if p := o.n.Pair(name); p != nil {
		return p.Key
	}
	return o.n
}

// rest calls unknown for each key that nobody asked for, and hides its value where
// that may be a secret: the key may be a misspelled `env` or `password`.
func (o *object) rest(unknown func(key *source.Node)) {
	for _, p := range o.n.Pairs {
		if len(*o.to) < maxMistakes && !slices.Contains(o.known, p.Key.Text) {
			name, v := p.Key.Text, p.Value
			_, near := nearest(name, redact.SecretNames())
			if near || v.Kind >= source.List || dynamic(v) || !redact.IsSetting(name, v.Text) {
				v.Hide()
			}
			unknown(p.Key)
		}
	}
}

// refuse reports each key that nobody asked for, with the nearest known one.
func (o *object) refuse() {
	o.rest(func(key *source.Node) {
		o.fail(key, fmt.Sprintf("unknown key %q", clip(key.Text)), suggest(key.Text, o.known, "known here"))
	})
}

// scalar returns the text of a scalar with its expressions replaced. The text
// of a number or of true is what stands in the file.
func (o *object) scalar(n *source.Node) (string, bool) {
	if !o.sound(n) {
		return "", false
	}
	if n.Kind == source.Null || n.Kind >= source.List {
		o.fail(n, "wants a text, and holds "+n.Kind.String(), "")
		return "", false
	}
	if n.Kind != source.Text {
		return n.Text, true
	}
	text, faults := o.ex.Expand(n.Text)
	for _, f := range faults {
		*o.to = append(*o.to, n.Locate(f.At).Mistake(f.Text, f.Hint))
	}
	return text, len(faults) == 0
}

// dynamic tells whether the text comes from elsewhere, so that it may stand for
// any type, and must not be quoted.
func dynamic(n *source.Node) bool { return n.Kind == source.Text && strings.Contains(n.Text, "${") }

// value returns the text of a key whose value has one of the kinds, or is an
// expression.
func (o *object) value(name, wants string, kinds ...source.Kind) (*source.Node, string, bool) {
	n := o.key(name)
	if n == nil {
		return nil, "", false
	}
	if !slices.Contains(kinds, n.Kind) && !dynamic(n) {
		o.fail(n, fmt.Sprintf("%s wants %s, and holds %s", name, wants, n.Kind), "")
		return nil, "", false
	}
	text, ok := o.scalar(n)
	return n, text, ok
}

// quoteOf quotes a wrong value, unless it came from the environment.
func quoteOf(n *source.Node, text string) string {
	if dynamic(n) {
		return "the value of this expression"
	}
	return strconv.Quote(clip(text))
}

func (o *object) text(name string, dst *string) {
	if n, text, ok := o.value(name, "a text", source.Text, source.Int, source.Float); ok {
		if strings.ContainsRune(text, 0) {
			o.fail(n, name+" holds a NUL byte", "")
			return
		}
		*dst = text
	}
}

func (o *object) boolean(name string, dst *bool) {
	n, text, ok := o.value(name, "true or false", source.Bool)
	if !ok {
		return
	}
	switch strings.ToLower(text) {
	case "true":
		*dst = true
	case "false":
		*dst = false
	default:
		o.fail(n, fmt.Sprintf("%s wants true or false, and holds %s", name, quoteOf(n, text)), "")
	}
}

func (o *object) integer(name string, low, high int, dst *int) {
	n, text, ok := o.value(name, "a whole number", source.Int)
	if !ok {
		return
	}
	if n.Kind == source.Int {
		text = n.Plain // 1_000 is 1000
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		o.fail(n, fmt.Sprintf("%s wants a whole number from %d to %d, and holds %s", name, low, high, quoteOf(n, text)), "")
		return
	}
	*dst = v
}

func (o *object) number(name string, low, high float64, dst *float64) {
	n, text, ok := o.value(name, "a number", source.Int, source.Float)
	if !ok {
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= low && v <= high) {
		o.fail(n, fmt.Sprintf("%s wants a number from %v to %v, and holds %s", name, low, high, quoteOf(n, text)), "")
		return
	}
	*dst = v
}

// duration reads 30s, 5m, 1h30m.
func (o *object) duration(name string, low, high time.Duration, dst *time.Duration) {
	n, text, ok := o.value(name, "a duration such as 30s or 5m", source.Text, source.Int, source.Float)
	if !ok {
		return
	}
	d, err := time.ParseDuration(text)
	if _, plain := strconv.ParseFloat(text, 64); plain == nil && text != "0" {
		hint := "say the unit, such as 30s"
		if !dynamic(n) {
			hint = fmt.Sprintf("say the unit, such as %ss or %sms", text, text)
		}
		o.fail(n, fmt.Sprintf("%s wants a duration with its unit, and holds a plain number", name), hint)
		return
	}
	if err != nil {
		o.fail(n, fmt.Sprintf("%s wants a duration such as 30s or 5m, and holds %s", name, quoteOf(n, text)), "the units are ms, s, m and h")
		return
	}
	if d < low || d > high {
		o.fail(n, fmt.Sprintf("%s wants a duration from %s to %s, and holds %s", name, short(low), short(high), quoteOf(n, text)), "")
		return
	}
	*dst = d
}

// short prints a duration without the zeros: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// units are the units of sizes, the longer before those that end them.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// size reads 64MiB, 1.5GB.
func (o *object) size(name string, low, high int64, dst *int64) {
	n, text, ok := o.value(name, "a size such as 64MiB", source.Text, source.Int, source.Float)
	if !ok {
		return
	}
	if _, plain := strconv.ParseFloat(text, 64); plain == nil && text != "0" {
		o.fail(n, fmt.Sprintf("%s wants a size with its unit, and holds a plain number", name), "say the unit, such as 64MiB")
		return
	}
	v, ok := parseSize(text)
	if !ok {
		o.fail(n, fmt.Sprintf("%s wants a size such as 64MiB, and holds %s", name, quoteOf(n, text)), "the units are B, KiB, MiB and GiB, or kB, MB and GB")
		return
	}
	if v < low || v > high {
		o.fail(n, fmt.Sprintf("%s wants a size from %s to %s, and holds %s", name, sizeText(low), sizeText(high), quoteOf(n, text)), "")
		return
	}
	*dst = v
}

func parseSize(text string) (int64, bool) {
	if text == "0" {
		return 0, true
	}
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || v < 0 || v > math.MaxInt64/2/float64(u.bytes) {
			return 0, false
		}
		return int64(v * float64(u.bytes)), true
	}
	return 0, false
}

func sizeText(v int64) string {
	for i := 3; i >= 0; i-- {
		if u := units[i]; v >= u.bytes && v%u.bytes == 0 {
			return fmt.Sprintf("%d%s", v/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", v)
}

// enum reads one of some words. The table maps what may be written to what it
// means, so that a word may have several spellings; shown are those to name.
func (o *object) enum(name string, table map[string]string, shown []string, dst *string) {
	n, text, ok := o.value(name, "one of "+strings.Join(shown, ", "), source.Text)
	if !ok {
		return
	}
	v, ok := table[text]
	if !ok {
		o.fail(n, fmt.Sprintf("%s wants one of %s, and holds %s", name, strings.Join(shown, ", "), quoteOf(n, text)), "")
		return
	}
	*dst = v
}

// words is the table of an enum without other spellings.
func words(list ...string) map[string]string {
	table := make(map[string]string, len(list))
	for _, w := range list {
		table[w] = w
	}
	return table
}

// list returns the members of a list.
func (o *object) list(name string) []*source.Node {
	n := o.key(name)
	if n == nil {
		return nil
	}
	if n.Kind != source.List {
		o.fail(n, fmt.Sprintf("%s wants a list, and holds %s", name, n.Kind), "write [a, b], or one member a line behind a dash")
		return nil
	}
	return n.Items
}

// texts reads a list of texts; numbers and true are texts here.
func (o *object) texts(name string, dst *[]string) {
	for _, n := range o.list(name) {
		text, ok := o.scalar(n)
		if ok && strings.ContainsRune(text, 0) {
			o.fail(n, name+" holds a NUL byte", "")
		}
		*dst = append(*dst, text)
	}
}

// secrets reads a map of texts that must not be shown. check tells what is wrong
// with a name or a value, without quoting the value.
func (o *object) secrets(name string, check func(name, value string) string, dst *map[string]tool.Secret) {
	n := o.key(name)
	if n == nil {
		return
	}
	n.Hide()
	in := newObject(n, o.ex, o.to)
	out := maps.Clone(*dst)
	if out == nil {
		out = make(map[string]tool.Secret)
	}
	for _, p := range n.Pairs {
		if o.ex.Vars != nil && p.Value.Kind == source.Null {
			continue // a desktop client's way to leave a variable out
		}
		text, ok := in.scalar(p.Value)
		if ok {
			if wrong := check(p.Key.Text, text); wrong != "" {
				o.fail(p.Key, fmt.Sprintf("%s: %s", name, wrong), "")
			}
		}
		out[p.Key.Text] = tool.NewSecret(text)
	}
	*dst = out
}

// clip keeps what an error quotes of a file short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

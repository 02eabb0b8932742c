package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
	"github.com/tenon-mcp/tenon/tool"
)

// maxArguments is how long arguments may be that a person is asked about, in bytes.
// Nobody reads more, and what is not read is not approved.
const maxArguments = 256 << 10

func wrong(format string, args ...any) error {
	return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf(format, args...)}
}

// prepare computes what a question needs once.
func (q *Question) prepare(mask func([]byte) []byte) error {
	args, err := compact(q.Arguments)
	if err != nil {
		return wrong("The arguments of %s are not valid: %v. Send a JSON object.", q.Tool.Name, err)
	}
	if len(args) > maxArguments {
		return &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("A person has to approve this call, and nobody can read arguments of %d bytes; "+
			"the limit is %d. The call was not made. Ask for less at once.", len(args), maxArguments)}
	}
	q.Arguments = args
	q.hash = HashOf(args)
	q.shown = Visible(string(mask(args)))
	q.impact = impact(&q.Tool.Meta, args)
	return nil
}

// HashOf returns the hash that an approval is bound to: of the arguments as they are,
// but for space between their tokens.
func HashOf(args []byte) string {
	if c, err := compact(args); err == nil {
		args = c
	}
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:])
}

// compact returns arguments without space between their tokens; no arguments are {}.
func compact(args []byte) ([]byte, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return []byte("{}"), nil
	}
	var out bytes.Buffer
	out.Grow(len(args))
	if err := json.Compact(&out, args); err != nil {
		return nil, err
	}
	if out.Bytes()[0] != '{' {
		return nil, errors.New("they are no object")
	}
	return out.Bytes(), nil
}

// membersOf returns the members of an object, compact. One that is there twice is an
// error: two readers could disagree about which one counts.
func membersOf(args []byte) (map[string]json.RawMessage, error) {
	if !json.Valid(args) {
		return nil, errors.New("they are no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("they are no object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%q is there twice", clip(name, maxName))
		}
		var c bytes.Buffer
		if err := json.Compact(&c, value); err != nil {
			return nil, err
		}
		out[name] = c.Bytes()
	}
	return out, nil
}

// Visible returns a text, or JSON, in which every character can be seen: what is not
// printed, or turns the direction of text, stands as its number, and so do line ends. A
// person must not be shown another text than the one that is sent.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// hidden reports whether a character is not seen as itself: a space that is no plain one
// is not either.
func hidden(r rune) bool {
	return r != ' ' && (!unicode.IsPrint(r) || unicode.IsSpace(r) || unseen.Is(r))
}

// maxNames is how many arguments the impact names.
const maxNames = 8

// impact says in a line what a call can do.
func impact(m *tool.Meta, args []byte) string {
	parts := []string{"risk " + string(m.Risk())}
	if m.SideEffect != "" && m.SideEffect != tool.EffectNone {
		parts = append(parts, "acts on "+string(m.SideEffect))
	}
	if m.Destructive {
		parts = append(parts, "irreversible")
	}
	if m.Notification {
		parts = append(parts, "notifies others")
	}
	if names := namesOf(args); len(names) > 0 {
		shown := names[:min(len(names), maxNames)]
		text := "arguments " + strings.Join(shown, ", ")
		if more := len(names) - len(shown); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	return clip(Visible(strings.Join(parts, " · ")), maxReason)
}

// namesOf returns the names of the arguments in their order.
func namesOf(args []byte) []string {
	d := json.NewDecoder(bytes.NewReader(args))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var names []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return names
		}
		name, _ := key.(string)
		names = append(names, name)
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

// clip cuts a text to so many bytes, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

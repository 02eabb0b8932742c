package searching

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An object is a JSON object that keeps the order of its members: a service has put
// first what matters.
type object []member

type member struct {
	key   string
	value any // object, []any, string, json.Number, bool or nil
}

const maxDepth = 40

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(m.key)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode returns JSON in which < and & stand as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// text returns a value as JSON for people and models.
func text(v any) (string, error) {
	flat, err := encode(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, flat, "", "  ")
	return b.String(), err
}

// parse reads one JSON object.
func parse(b []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := value(d, maxDepth)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok || d.More() {
		return nil, errors.New("no JSON object")
	}
	return o, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	switch {
	case !ok:
		return t, nil
	case depth == 0:
		return nil, errors.New("nested too deep")
	case delim == '[':
		list := []any{}
		for d.More() {
			v, err := value(d, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	o := object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder takes nothing else there
		v, err := value(d, depth-1)
		if err != nil {
			return nil, err
		}
		o = o.with(clean(name), v)
	}
	_, err = d.Token()
	return o, err
}

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (o object) list(key string) []any {
	list, _ := o.get(key).([]any)
	return list
}

// with returns the object with a member set, and without with one taken out. Both may
// change o, which is not to be used any more.
func (o object) with(key string, v any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = v
			return o
		}
	}
	return append(o, member{key, v})
}

func (o object) without(key string) object {
	return slices.DeleteFunc(o, func(m member) bool { return m.key == key })
}

// texts returns v with each string in it changed.
func texts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = texts(v[i], change)
		}
	case object:
		for i := range v {
			v[i].value = texts(v[i].value, change)
		}
	}
	return v
}

// unescape takes off escapes of an address that say nothing: of letters, digits and
// the like, of any language. What means something in an address (%2F, %3F, %26, %25,
// a blank and so on) stays, and so does what could not be seen.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		run, end := escaped(s, i)
		if len(run) == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		for len(run) > 0 {
			r, n := utf8.DecodeRune(run)
			if r == utf8.RuneError || !plain(r) {
				b.WriteString(s[i : i+3*n])
			} else {
				b.Write(run[:n])
			}
			run, i = run[n:], i+3*n
		}
		i = end
	}
	return b.String()
}

// escaped returns the bytes of the escapes that stand at i, and where they end.
func escaped(s string, i int) (run []byte, end int) {
	for i+2 < len(s) && s[i] == '%' {
		high, low := strings.IndexByte("0123456789abcdef", s[i+1]|0x20), strings.IndexByte("0123456789abcdef", s[i+2]|0x20)
		if high < 0 || low < 0 {
			break
		}
		run = append(run, byte(high<<4|low))
		i += 3
	}
	return run, i
}

func plain(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
}

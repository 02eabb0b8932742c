package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// An object is a JSON object with its members in their order and their values as
// they came.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// parseObject reads an object without decoding the values of its members.
func parseObject(raw json.RawMessage) (object, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var o object
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok { // a decoder in an object gives only strings as keys
			return nil, errors.New("not a JSON object")
		}
		m := member{key: name}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	_, err := d.Token()
	return o, err
}

// without returns o without the members of these keys.
func (o object) without(keys ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(keys, m.key) })
}

// with returns o with a member: in its place where o has the key, else last.
func (o object) with(key string, value json.RawMessage) object {
	o = slices.Clone(o)
	found := false
	for i := range o {
		if o[i].key == key {
			o[i].value, found = value, true
		}
	}
	if !found {
		o = append(o, member{key, value})
	}
	return o
}

// bytes returns the object on one line.
func (o object) bytes() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := marshal(m.key) // a string always marshals
		b.Write(key)
		b.WriteByte(':')
		_ = json.Compact(&b, m.value) // it was read from valid JSON
	}
	b.WriteByte('}')
	return b.Bytes()
}

// marshal is json.Marshal, but leaves <, > and & as they are: descriptions are
// read by models and people.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

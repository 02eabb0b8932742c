package store_test

import (
	"bytes"
	"encoding/json"
)

// maskTexts masks each text in JSON by itself, so that it stays JSON whatever the
// secrets look like. A number that is a secret becomes a text.
func maskTexts(raw []byte, mask func(string) string) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if mask(string(raw)) == string(raw) || d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(maskValue(v, mask))
	if err != nil {
		return []byte("{}")
	}
	return out
}

func maskValue(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case json.Number:
		if text := mask(v.String()); text != v.String() {
			return text
		}
		return v
	case []any:
		for i := range v {
			v[i] = maskValue(v[i], mask)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[mask(key)] = maskValue(value, mask)
		}
		return out
	}
	return v
}

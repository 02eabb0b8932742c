package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// FuzzJSON: whatever is around a secret, and wherever the borders of pieces are, it
// is not shown, and JSON stays JSON.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":"x","b":[1,true,null]}`), "not-a-real-key-000", 3, 5)
	f.Add([]byte(`"x"`), `"},{"é\n`, 0, 1)
	f.Add([]byte(`{"password":"\u0041","`), "123456", 2, 2)
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\\n"), "eyJ.eyJ.x", 9, 20)
	f.Add([]byte("ftp://a:b@c token=x1x1x1x1"), "\\\\\\\\\\\\", 1, 4)
	f.Fuzz(func(t *testing.T, raw []byte, secret string, i, j int) {
		if len(strings.TrimSpace(secret)) < 6 || len(secret) > 200 || strings.Contains("•••", secret) || strings.Contains(secret, "•") {
			return
		}
		r, err := redact.New(known(secret))
		if err != nil {
			t.Fatal(err)
		}
		texts := [][]byte{raw}
		if json.Valid(raw) {
			planted, err := json.Marshal(map[string]any{"raw": json.RawMessage(raw), "a": secret, "b": []string{"x" + secret + "y"}, secret: string(raw) + secret})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, planted)
		}
		for _, text := range texts {
			i, j := min(max(i, 0), len(text)), min(max(j, 0), len(text))
			if i > j {
				i, j = j, i
			}
			whole := r.JSON(text)
			got, _ := r.Result(tool.Bytes{text[:i], text[i:j], text[j:]})
			for _, out := range [][]byte{whole, got.Join(), r.Values(text)} {
				if json.Valid(text) != json.Valid(out) && json.Valid(text) {
					t.Fatalf("%q becomes no JSON: %q", text, out)
				}
				if shows(out, secret) {
					t.Fatalf("%q is shown in %q, of %q", secret, out, text)
				}
			}
		}
	})
}

// shows reports whether a text, or a string in it where it is JSON, holds a secret.
func shows(out []byte, secret string) bool {
	var v any
	if json.Unmarshal(out, &v) != nil {
		return strings.Contains(string(out), secret)
	}
	return inside(v, secret)
}

func inside(v any, secret string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, secret)
	case []any:
		for _, e := range v {
			if inside(e, secret) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if inside(k, secret) || inside(e, secret) {
				return true
			}
		}
	}
	return false
}

package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

var texts = []string{
	`{"jsonrpc":"2.0","method":"a","params":{"text":"plain"}}`,
	"{\"jsonrpc\":\"2.0\",\r\n\t\"method\":\"a\"}",
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\uDead","é":"日本"}}`,
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\ud800"}}`, // half of a pair is valid JSON

	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"a\nb\"}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\nb\":1}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"\x00\"}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"\x1f\"}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"caf\xe9\"}}",
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"\xed\xa0\x80\"}}", // half of a pair in UTF-8
	"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"t\":\"\xc0\xaf\"}}",
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\x22"}}`,
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\u12"}}`,
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\u12g4"}}`,
	`{"jsonrpc":"2.0","method":"a","params":{"t":"\U0041"}}`,
	`{"jsonrpc":"2.0","method":"a","params":{"t\'":1}}`,
}

func TestCheckText(t *testing.T) {
	for _, text := range texts {
		want := json.Valid([]byte(text)) && utf8.ValidString(text)
		if err := jsonrpc.CheckText(tool.OneOf([]byte(text))); (err == nil) != want {
			t.Errorf("%q: %v, want valid %v", text, err, want)
		}
	}
}

// FuzzCheckText: what Parse and CheckText have nothing against is JSON in UTF-8, and
// nothing else is refused.
func FuzzCheckText(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := jsonrpc.Parse(tool.OneOf(text)); err != nil {
			return
		}
		want := json.Valid(text) && utf8.Valid(text)
		half := len(text) / 2
		for _, pieces := range []tool.Bytes{tool.OneOf(text), {text[:half], text[half:]}} {
			if err := jsonrpc.CheckText(pieces); (err == nil) != want {
				t.Errorf("%q: %v, want valid %v", pieces, err, want)
			}
		}
	})
}

func BenchmarkCheckText(b *testing.B) {
	for name, text := range map[string]string{"plain": strings.Repeat("a", 32<<10), "escaped": strings.Repeat(`a line of text\n`, 2<<10), "not ASCII": strings.Repeat("naïve text ", 3<<10)} {
		message := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"` + text + `"}}}`)
		b.Run(name, func(b *testing.B) {
			text := tool.OneOf(message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonrpc.CheckText(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// clean is an answer of a megabyte in which nothing is secret.
func clean() tool.Bytes {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "%d: The quick brown fox of host-%d jumps over the lazy dog at 2026-11-30T16:%02d:07Z, see https://example.com/log/%d\n", i, i%17, i%60, i*7919)
	}
	text, err := json.Marshal(b.String())
	if err != nil {
		panic(err)
	}
	return tool.OneOf([]byte(`{"content":[{"type":"text","text":` + string(text) + `}]}`))
}

func some() redact.Options {
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("not-a-real-key-%03d-%s", i, made("", 24)))
	}
	return known(texts...)
}

// BenchmarkClean is a result in which nothing is hidden, with twenty known secrets.
// Values are those alone; All adds what has the form of a secret; Pattern adds two of
// the operator's own.
func BenchmarkClean(b *testing.B) {
	answer := clean()
	own := some()
	own.Patterns = []redact.Pattern{{Name: "staff", Expr: `EMP-\d{6}`}, {Name: "card", Expr: `\b\d{4}-\d{4}-\d{4}-\d{4}\b`}}
	for name, o := range map[string]redact.Options{"All": some(), "Pattern": own} {
		b.Run(name, func(b *testing.B) {
			r := redactor(b, o)
			b.SetBytes(int64(answer.Len()))
			b.ReportAllocs()
			for b.Loop() {
				r.Result(answer)
			}
		})
	}
	b.Run("Values", func(b *testing.B) {
		r := redactor(b, some())
		raw := answer.Join()
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			r.Values(raw)
		}
	})
}

// BenchmarkFound is a result with a secret in each hundred lines.
func BenchmarkFound(b *testing.B) {
	raw := clean().Join()
	answer := tool.OneOf([]byte(strings.ReplaceAll(string(raw), "00: The", "00: password=hunter22 The")))
	r := redactor(b, some())
	b.SetBytes(int64(answer.Len()))
	for b.Loop() {
		r.Result(answer)
	}
}

// BenchmarkArguments are the arguments of a call, as a record shows them.
func BenchmarkArguments(b *testing.B) {
	r := redactor(b, some())
	args := []byte(`{"path":"/var/log/syslog","limit":100,"filter":{"host":"web-1","level":"error"}}`)
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(args)
	}
}

// BenchmarkNew is what the start of a gateway with twenty secrets costs.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		redactor(b, some())
	}
}

// BenchmarkHostile are texts that were made to take time. None takes time that grows
// faster than its length.
func BenchmarkHostile(b *testing.B) {
	r := redactor(b, known("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "not-a-real-key-000"))
	for _, part := range []string{
		"token=", "token: \"", "eyJ ", "eyJaaaaaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "://", "a://b:", "bearer ", "password='a1", "a", "sk-", "://a:b@", "\\\"token\\\":",
		"a-token", "1:AA", "ghp_aaaa-",
	} {
		for _, size := range []int{1 << 16, 1 << 20} {
			text := tool.OneOf([]byte(strings.Repeat(part, size/len(part))))
			b.Run(fmt.Sprintf("%q/%d", part, size), func(b *testing.B) {
				b.SetBytes(int64(text.Len()))
				for b.Loop() {
					r.Result(text)
				}
			})
		}
	}
}

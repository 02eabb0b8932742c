package redact

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
)

const (
	// least is the shortest text that is hidden by its value: each "true" would
	// be hidden otherwise.
	least = 6
	// longest is the longest value that is looked for in all its spellings.
	longest = 16 << 10
)

// spellings returns the forms in which a secret is looked for: as it is, within
// JSON, within JSON in a text of JSON, in an address, and within base64, where what
// stands before it decides about its letters.
func spellings(s string) []string {
	once := escaped(s)
	out := []string{s, once, escaped(once)}
	if len(s) > longest {
		return out
	}
	for _, u := range []string{url.QueryEscape(s), url.PathEscape(s), percent(s, ""), percent(s, "/")} {
		out = append(out, u, lowerPercent(u))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, cut := range [3]int{0, 2, 3} {
			core := enc.EncodeToString(append(make([]byte, before), s...))[cut:]
			if (before+len(s))%3 != 0 {
				core = core[:len(core)-1]
			}
			out = append(out, core)
		}
	}
	return out
}

func escaped(s string) string {
	quoted := jsonrpc.Quote(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// percent writes all but letters, digits, "-_.~" and what is safe as an address does.
func percent(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isAlnum(int(c)) || strings.IndexByte("-_.~"+safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lowerPercent writes %2F as %2f.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			b[i+1], b[i+2] = fold(b[i+1]), fold(b[i+2])
			i += 2
		}
	}
	return string(b)
}

// valueRule returns the rule for one spelling. Its anchor is its middle: addresses
// and keys often begin alike.
func valueRule(s string) *rule {
	at := max(0, len(s)-maxAnchor) / 2
	end := min(len(s), at+maxAnchor)
	return &rule{anchor: s[at:end], value: s, behind: end}
}

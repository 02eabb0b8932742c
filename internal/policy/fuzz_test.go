package policy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/tool"
)

// The oracle reads arguments as the laxest of programs would: it finds every
// value that any of them could take for an argument, the first and the last of
// two with one name, and those whose name differs in case alone. A call may pass
// only where each of these values is allowed, in the eyes of plain code that
// shares nothing with the package.

type pair struct {
	name  string
	value any
}

// naive reads JSON into pairs, lists and scalars; it fails for what is no JSON.
func naive(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := naive(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	pairs := []pair{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := naive(d)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		pairs = append(pairs, pair{text, v})
	}
	_, err = d.Token()
	return pairs, err
}

// candidates are the values that some program could find at a path.
func candidates(v any, path []string) []any {
	if list, ok := v.([]any); ok {
		var out []any
		for _, e := range list {
			out = append(out, candidates(e, path)...)
		}
		return out
	}
	if len(path) == 0 {
		return []any{v}
	}
	var out []any
	pairs, _ := v.([]pair)
	for _, p := range pairs {
		if strings.EqualFold(p.name, path[0]) {
			out = append(out, candidates(p.value, path[1:])...)
		}
	}
	return out
}

// globs is the textbook matcher of one pattern.
func globs(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case strings.HasPrefix(p, "**"):
		return globs(strings.TrimLeft(p, "*"), s) || s != "" && globs(p, s[1:])
	case p[0] == '*':
		return globs(p[1:], s) || s != "" && s[0] != '/' && s[0] != '\\' && globs(p, s[1:])
	case p[0] == '\\' && len(p) > 1:
		return s != "" && p[1] == s[0] && globs(p[2:], s[1:])
	case p[0] == '?':
		r := []rune(s)
		return len(r) > 0 && r[0] != '/' && r[0] != '\\' && globs(p[1:], string(r[1:]))
	}
	return s != "" && p[0] == s[0] && globs(p[1:], s[1:])
}

func naively(r *policy.Parameter, v any) bool {
	text, isText := v.(string)
	switch {
	case len(r.Globs) > 0:
		return isText && globs(r.Globs[0], text)
	case len(r.Networks) > 0:
		_, network, err := net.ParseCIDR(r.Networks[0])
		if err != nil { // one address
			a, b := net.ParseIP(r.Networks[0]), net.ParseIP(text)
			return isText && a != nil && b != nil && a.Equal(b)
		}
		if ip := net.ParseIP(text); ip != nil {
			return isText && network.Contains(ip)
		}
		ip, inner, err := net.ParseCIDR(text)
		if err != nil {
			return false
		}
		a, _ := network.Mask.Size()
		b, _ := inner.Mask.Size()
		return network.Contains(ip) && b >= a
	case r.Pattern != "":
		re := regexp.MustCompile(r.Pattern)
		re.Longest()
		at := re.FindStringIndex(text)
		return isText && at != nil && at[0] == 0 && at[1] == len(text)
	}
	want, err := naive(number(bytes.NewReader(r.OneOf[0])))
	return err == nil && want == v
}

func number(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	d.UseNumber()
	return d
}

// FuzzParameters: no rule and no arguments make the policy panic, and nothing
// passes that the oracle would refuse.
func FuzzParameters(f *testing.F) {
	for _, seed := range []struct {
		kind        byte
		rule, path  string
		args, other string
	}{
		{0, "web-*", "a", `{"a":"web-1"}`, ``},
		{0, "/data/**", "a.b", `{"a":{"b":"/data/x"},"A":{"b":"/etc"}}`, ``},
		{0, "**x?", "/a", `{"a":["yyxz"]}`, ``},
		{1, "10.0.0.0/8", "host", `{"host":"10.1.2.3"}`, ``},
		{1, "fd00::/8", "host", `{"host":"::ffff:10.0.0.1"}`, ``},
		{2, "get|list", "verb", `{"verb":"list","verb":"delete"}`, ``},
		{2, `(?i)k+`, "k", `{"k":"K","K":"x"}`, ``},
		{3, `443`, "port", `{"port":443,"\u0070ort":22}`, ``},
		{3, `"x"`, "a.0", `{"a":["x",{"$handle":"h"}]}`, ``},
	} {
		f.Add(seed.kind, seed.rule, seed.path, seed.args)
	}
	f.Fuzz(func(t *testing.T, kind byte, rule, path, args string) {
		if len(rule) > 100 || len(args) > 2000 || strings.Count(rule, "*") > 6 {
			t.Skip("the oracle is slow")
		}
		r := policy.Parameter{Tool: writer.ID, Argument: path}
		switch kind % 4 {
		case 0:
			r.Globs = []string{rule}
		case 1:
			r.Networks = []string{rule}
		case 2:
			r.Pattern = rule
		case 3:
			r.OneOf = raw(rule)
		}
		p, err := policy.New(with(func(o *policy.Options) { o.Mode, o.Parameters = tool.ModeBypass, []policy.Parameter{r} }))
		if err != nil {
			return
		}
		pr, err := p.Profile(policy.Subject{})
		if err != nil {
			t.Fatal(err)
		}
		d := pr.Decide(writer, json.RawMessage(args), policy.Facts{})
		if e := pr.Explain(writer, json.RawMessage(args), policy.Facts{}); e.Behavior != d.Behavior || e.ReasonType != d.ReasonType {
			t.Fatalf("decided %s %s, explained %s %s", d.Behavior, d.ReasonType, e.Behavior, e.ReasonType)
		}
		if d.Behavior != tool.Allow {
			return
		}
		dec := number(strings.NewReader(args))
		v, err := naive(dec)
		if err != nil {
			t.Fatalf("allowed %q, which is no JSON", args)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			t.Fatalf("allowed %q, behind which something follows", args)
		}
		if strings.ContainsAny(path, "/0123456789~") {
			return // pointers and numbered elements are beyond the oracle
		}
		found := candidates(v, strings.Split(path, "."))
		if len(found) == 0 {
			t.Fatalf("allowed %q, in which nobody finds %q", args, path)
		}
		for _, c := range found {
			if !naively(&r, c) {
				t.Fatalf("allowed %q, in which somebody finds %v at %q, which %q does not allow", args, c, path, rule)
			}
		}
	})
}

// FuzzReadOnly: whatever the arguments, a call reads only where every program
// would find one of the allowed verbs.
func FuzzReadOnly(f *testing.F) {
	for _, seed := range []string{
		`{"verb":"get"}`, `{"verb":"get","VERB":"delete"}`, `{"verb":"delete","verb":"get"}`, `{"ve\u0072b":"get"}`, `{"verb":["get"]}`,
	} {
		f.Add(seed)
	}
	p, err := policy.New(normal)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		if !p.ReadsOnly(kubectl, json.RawMessage(args)) {
			return
		}
		v, err := naive(number(strings.NewReader(args)))
		if err != nil {
			t.Fatalf("%q is no JSON, and reads only", args)
		}
		found := candidates(v, []string{"verb"})
		if len(found) == 0 {
			t.Fatalf("%q has no verb, and reads only", args)
		}
		for _, c := range found {
			if c != "get" && c != "describe" {
				t.Fatalf("%q can be read as %v, and reads only", args, c)
			}
		}
	})
}

// FuzzExpression: no expression makes the policy panic, or take its time.
func FuzzExpression(f *testing.F) {
	for _, seed := range [][2]string{
		{`args.a == 1`, `{"a":1}`},
		{`args.l.all(x, x.matches("a+"))`, `{"l":["aaa"]}`},
		{`has(args.a) ? args.a : false`, `{}`},
		{`value in [1, 2] && caller == ""`, `{"a":1}`},
		{`timestamp(args.a) > timestamp("2020-01-01T00:00:00Z")`, `{"a":"2021-01-01T00:00:00Z"}`},
	} {
		f.Add(seed[0], seed[1])
	}
	c := policy.NewCompiler()
	f.Fuzz(func(t *testing.T, expression, args string) {
		r := policy.Parameter{Tool: writer.ID, Argument: ".", Expression: expression}
		if r.Check(c) != nil {
			return
		}
		pr := profile(t, with(func(o *policy.Options) { o.Parameters = []policy.Parameter{r} }), policy.Subject{})
		d := pr.Decide(writer, json.RawMessage(args), policy.Facts{})
		if d.Behavior == tool.Allow && !json.Valid([]byte(args)) && strings.TrimSpace(args) != "" {
			t.Fatalf("allowed %q, which is no JSON", args)
		}
	})
}

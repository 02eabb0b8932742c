package scrape

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// DefaultBlocked are the entries of a Policy where nothing else is set: data sets and
// spaces in which the answers to published benchmarks lie, and a site that answers them.
func DefaultBlocked() []string {
	return []string{"huggingface.co/datasets", "huggingface.co/spaces", "hf.co/datasets", "hf.co/spaces", "unifuncs.com"}
}

// A Policy is a list of addresses that are not read and not shown in results.
type Policy struct{ entries []blocked }

type blocked struct {
	host, segment string // segment "": the whole host
}

// NewPolicy returns a policy of entries HOST or HOST/SEGMENT, where the segment is the
// first one of a path. A host stands for the names below it too. Nil takes
// DefaultBlocked, a list of "-" alone blocks nothing.
func NewPolicy(entries []string) (*Policy, error) {
	p := &Policy{}
	if entries == nil {
		entries = DefaultBlocked()
	}
	if len(entries) == 1 && entries[0] == "-" {
		return p, nil
	}
	for _, e := range entries {
		host, segment, _ := strings.Cut(strings.Trim(strings.ToLower(strings.TrimSpace(e)), "/"), "/")
		h, err := egress.ParseHost(host)
		if err != nil || strings.Contains(segment, "/") {
			return nil, fmt.Errorf("option blocked: %q is no HOST or HOST/FIRST-SEGMENT such as huggingface.co/datasets", egress.Plain(e, 100))
		}
		p.entries = append(p.entries, blocked{h.Name, segment})
	}
	return p, nil
}

// A BlockedError is the error for an address of the block list.
type BlockedError struct {
	URL  string
	Rule string
}

// Error says which rule it is, and what to do.
func (e *BlockedError) Error() string {
	if strings.HasPrefix(e.Rule, "huggingface.co/") || strings.HasPrefix(e.Rule, "hf.co/") {
		return "You are trying to scrape a Hugging Face dataset for answers, please do not use the scrape tool for this purpose."
	}
	return fmt.Sprintf("refused: %s is on this server's list of pages that are not read. Use another source", e.Rule)
}

// Refused says that a rule stands behind the error: see package typed.
func (e *BlockedError) Refused() bool { return true }

// Check returns a *BlockedError where an address is blocked, or leads to one that is
// by a reader or an archive that has it in its own address.
func (p *Policy) Check(address string) error {
	if len(p.entries) == 0 || address == "" {
		return nil
	}
	plain := strings.ToLower(address)
	for range 3 { // escapes of escapes
		next, err := url.PathUnescape(plain)
		if err != nil || next == plain {
			break
		}
		plain = strings.ToLower(next)
	}
	plain = strings.ReplaceAll(plain, `\`, "/")
	for rest := plain; rest != ""; {
		for _, e := range p.entries {
			if e.matches(rest) {
				return &BlockedError{address, strings.TrimSuffix(e.host+"/"+e.segment, "/")}
			}
		}
		i := strings.IndexAny(rest, "/=:?&@#;,")
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	return nil
}

// matches reports whether text begins with the host of the entry, or a name below
// it, followed by the segment.
func (e blocked) matches(text string) bool {
	host, rest := text, ""
	if i := strings.IndexAny(text, "/?#&:;,"); i >= 0 {
		host, rest = text[:i], text[i:]
	}
	host = strings.TrimRight(host, ".")
	if host != e.host && !strings.HasSuffix(host, "."+e.host) {
		return false
	}
	if e.segment == "" {
		return true
	}
	if strings.HasPrefix(rest, ":") { // a port
		_, rest, _ = strings.Cut(rest, "/")
		rest = "/" + rest
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	// As it stands, and as those read it who resolve dots and slashes first.
	for _, p := range []string{strings.TrimLeft(rest, "/"), strings.TrimPrefix(path.Clean("/"+rest), "/")} {
		if first, _, _ := strings.Cut(p, "/"); first == e.segment {
			return true
		}
	}
	return false
}

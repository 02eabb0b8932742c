package egress

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds on what is read and kept of robots.txt.
const (
	robotsBytes = 512 << 10 // RFC 9309 asks for 500 KiB at least
	robotsRules = 2000
	robotsKept  = time.Hour
	robotsAway  = time.Minute // where the file could not be read
	robotsSites = 512
	robotsTime  = 10 * time.Second
)

// A RobotsError is the error for a page that its site wants no program to read, or
// may want none to.
type RobotsError struct{ host, unread string }

// Error says who does not want it.
func (e *RobotsError) Error() string {
	if e.unread != "" {
		return fmt.Sprintf("refused: what %s lets programs read is not known, since its robots.txt cannot be read now (%s); use another source, or try again in a minute", show(e.host), e.unread)
	}
	return fmt.Sprintf("refused: the site does not want this page read by programs. %s asks them to stay away by its robots.txt; use another source", show(e.host))
}

// Refused says that a rule stands behind the error: see package typed.
func (e *RobotsError) Refused() bool { return true }

// robots remembers what sites allow.
type robots struct {
	mu sync.Mutex
	of map[string]stance
}

// A stance is what one site said.
type stance struct {
	rules   []rule
	unread  string // why nothing could be learned: the site is not to be entered
	expires time.Time
}

func newRobots() *robots { return &robots{of: map[string]stance{}} }

// permit returns an error where the site of a URL does not want it read.
func (r *robots) permit(ctx context.Context, c *Client, u *url.URL) error {
	if u.EscapedPath() == "/robots.txt" {
		return nil
	}
	origin := u.Scheme + "://" + u.Host
	s, err := r.stance(ctx, c, origin)
	switch {
	case err != nil:
		return err
	case s.unread != "":
		return &RobotsError{u.Host, s.unread}
	case !allowed(s.rules, target(u)):
		return &RobotsError{host: u.Host}
	}
	return nil
}

// target returns what rules are compared with.
func target(u *url.URL) string {
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return canonical(p)
}

func (r *robots) stance(ctx context.Context, c *Client, origin string) (stance, error) {
	r.mu.Lock()
	s, ok := r.of[origin]
	r.mu.Unlock()
	if ok && time.Now().Before(s.expires) {
		return s, nil
	}
	s, err := ask(ctx, c, origin)
	if err != nil {
		return s, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) >= robotsSites {
		r.makeRoom()
	}
	r.of[origin] = s
	return s, nil
}

// makeRoom forgets what is too old, and something else where nothing is. The
// caller holds mu.
func (r *robots) makeRoom() {
	now := time.Now()
	for origin, s := range r.of {
		if now.After(s.expires) {
			delete(r.of, origin)
		}
	}
	for origin := range r.of {
		if len(r.of) < robotsSites {
			return
		}
		delete(r.of, origin)
	}
}

// ask reads the robots.txt of a site. As RFC 9309 has it: where there is none, all
// is allowed; where it cannot be read, nothing is. An error is one that the page
// would meet as well.
func ask(ctx context.Context, c *Client, origin string) (stance, error) {
	ctx = context.WithValue(ctx, unheld{}, true) // the page itself waits for its turn
	resp, err := c.Do(ctx, Request{URL: origin + "/robots.txt", MaxBody: robotsBytes, Cut: true, Timeout: robotsTime})
	away := stance{expires: time.Now().Add(robotsAway)}
	switch {
	case err != nil && (said(err) != nil || ctx.Err() != nil || unmet(err)):
		return stance{}, err
	case err != nil:
		away.unread = err.Error()
		return away, nil
	case resp.OK():
		return stance{rules: parseRobots(resp.Body, "tenon"), expires: time.Now().Add(robotsKept)}, nil
	case resp.Status >= http.StatusInternalServerError || resp.Status == http.StatusTooManyRequests:
		away.unread = fmt.Sprintf("status %d", resp.Status)
		return away, nil
	}
	return stance{expires: time.Now().Add(robotsKept)}, nil
}

// A rule is one line Allow or Disallow.
type rule struct {
	allow   bool
	pattern string // canonical; * is any text, a final $ the end
}

// parseRobots returns the rules for a program: those of the groups that name it,
// else those for all.
func parseRobots(b []byte, agent string) []rule {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	var own, all []rule
	named, forAll, forOwn := false, false, false // of the group that is read
	inAgents := false
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		text, _, _ := strings.Cut(string(line[:min(len(line), 4096)]), "#")
		key, value, ok := strings.Cut(text, ":")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !inAgents {
				forAll, forOwn = false, false
			}
			inAgents = true
			forAll = forAll || value == "*"
			if token(value) == agent {
				forOwn, named = true, true
			}
		case "allow", "disallow":
			inAgents = false
			if value == "" {
				continue // allows everything, as no rule does
			}
			r := rule{key == "allow", canonical(value)}
			if forOwn && len(own) < robotsRules {
				own = append(own, r)
			}
			if forAll && len(all) < robotsRules {
				all = append(all, r)
			}
		}
	}
	if named {
		return own
	}
	return all
}

// token returns the product of a line User-agent: what stands before a version.
func token(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
	if end >= 0 {
		s = s[:end]
	}
	return strings.ToLower(s)
}

// canonical returns a path in one spelling of its escapes: letters, digits and the
// like as they are, every other byte beyond ASCII and every escape in capitals.
func canonical(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if v, ok := unhex(s[i+1], s[i+2]); ok {
				i += 2
				if unreserved(v) {
					b.WriteByte(v)
				} else {
					b.Write([]byte{'%', hex[v>>4], hex[v&15]})
				}
				continue
			}
		}
		if c >= 0x80 || c <= ' ' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func unhex(a, b byte) (byte, bool) {
	x, y := strings.IndexByte("0123456789abcdef", a|0x20), strings.IndexByte("0123456789abcdef", b|0x20)
	return byte(x<<4 | y&15), x >= 0 && y >= 0
}

// allowed applies the rule with the longest pattern; of two as long, the one that
// allows.
func allowed(rules []rule, path string) bool {
	best, allow := -1, true
	for _, r := range rules {
		if n := len(r.pattern); n < best || n == best && allow || !matches(r.pattern, path) {
			continue
		}
		best, allow = len(r.pattern), r.allow
	}
	return allow
}

// matches reports whether a pattern matches the beginning of a path, in time that
// grows with the product of their lengths at most.
func matches(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, parts[0])
	if !ok {
		return false
	}
	if len(parts) == 1 {
		return !whole || rest == ""
	}
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	last := parts[len(parts)-1]
	if whole {
		return strings.HasSuffix(rest, last)
	}
	return strings.Contains(rest, last)
}

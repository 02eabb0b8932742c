package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/egress"
)

const whoisChars = 6000

// Bounds on one look-up.
const (
	whoisTime      = 10 * time.Second // for each server
	whoisReferrals = 2
	whoisBytes     = 64 << 10
)

type whoisInput struct {
	Query string `json:"query" jsonschema:"a domain such as example.com, an IP address, or an AS number such as AS13335"`
}

type whoisOutput struct {
	Asked []string `json:"asked" jsonschema:"the servers that were asked, in order"`
	Text  string   `json:"text" jsonschema:"the answer, as in the text; rdap_lookup returns fields"`
}

// A whois client asks registries.
type whois struct {
	guard *egress.Guard
	first string // host:port of the server that is asked first
}

func (w *whois) add(srv *mcp.Server) {
	add(srv, spec{
		Name: "whois_lookup", Title: "Whois",
		Description: "Asks the whois registries about a domain, an IP address or an AS number: who registered it, through whom, since when and until when. Follows at most two referrals to the registry or registrar that knows more.",
	}, w.lookup)
}

var asNumber = regexp.MustCompile(`^(?i:AS)\d{1,10}$`)

func (w *whois) lookup(ctx context.Context, in whoisInput) (string, whoisOutput, error) {
	query, err := w.query(ctx, in.Query)
	if err != nil {
		return "", whoisOutput{}, err
	}
	at := w.first
	var asked []string
	var reply, note string
	for {
		got, err := w.ask(ctx, at, query)
		asked = append(asked, at)
		if err != nil {
			if reply == "" {
				return "", whoisOutput{}, err
			}
			note = fmt.Sprintf("\nThe referral to %s failed: %s\n", plain(at, 120), err)
			break
		}
		if tidy := tidyWhois(got); tidy != "" {
			reply = tidy
		}
		next, ok := w.referral(got)
		if !ok || len(asked) > whoisReferrals || slices.Contains(asked, next) {
			break
		}
		at = next
	}
	if reply == "" {
		reply = "No entry."
	}
	fence := answer.Fence(reply)
	head := fmt.Sprintf("## Whois %s\n\nAsked: %s\n\n%s\n", query, plain(strings.Join(asked, ", then "), 300), fence)
	const more = "\n… the rest was left out to keep the answer short"
	room := whoisChars - len([]rune(head)) - len([]rune(note)) - len(fence) - 10
	if len([]rune(reply)) > room {
		reply = cut(reply, room-len([]rune(more))) + more
	}
	out := whoisOutput{make([]string, len(asked)), reply}
	for i, a := range asked {
		out.Asked[i] = plain(a, 120)
	}
	return head + reply + "\n" + fence + "\n" + note, out, nil
}

// whoisQuery returns the query as it is sent: one word, and nothing that a server
// would take for an option.
func (w *whois) query(ctx context.Context, q string) (string, error) {
	q = strings.TrimSpace(q)
	if asNumber.MatchString(q) {
		return strings.ToUpper(q), nil
	}
	h, err := egress.ParseHost(q)
	if err != nil {
		return "", err
	}
	if h.Addr.IsValid() || egress.IsLocal(h.Name) { // no registry knows an internal one, and it is nobody's business
		if _, err := w.guard.Resolve(ctx, h.Name, 0); err != nil {
			return "", err
		}
	}
	return h.Name, nil
}

// askWhois puts the query to one server and returns its answer.
func (w *whois) ask(ctx context.Context, at, query string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, whoisTime)
	defer cancel()
	conn, err := w.guard.DialContext(ctx, "tcp", at)
	if err != nil {
		return "", unresolved("the whois server "+at, "whois_server", failure("whois server "+at, err, whoisTime))
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // wakes the reader
	defer stop()
	if _, err := io.WriteString(conn, dialect(at, query)+"\r\n"); err != nil {
		return "", failure("whois server "+at, err, whoisTime)
	}
	b, err := io.ReadAll(io.LimitReader(conn, whoisBytes))
	if err != nil && len(b) == 0 {
		return "", failure("whois server "+at, err, whoisTime)
	}
	return string(b), nil
}

// dialect returns the query as a server wants it that is content with less than
// all for the plain one.
func dialect(at, query string) string {
	host, _, _ := net.SplitHostPort(at)
	switch host {
	case "whois.denic.de":
		return "-T dn,ace " + query
	case "whois.jprs.jp":
		return query + "/e"
	}
	return query
}

var referralLine = regexp.MustCompile(`(?mi)^\s*(?:refer|whois|ReferralServer|Registrar WHOIS Server|WHOIS Server):[ \t]*(?:whois://)?([^\s/]+)`)

// referral returns the server that an answer leads to. Whois has one port; an
// answer that names another one would turn this tool into a scanner, so such a
// port must be one that the operator named.
func (w *whois) referral(answer string) (string, bool) {
	m := referralLine.FindStringSubmatch(answer)
	if m == nil {
		return "", false
	}
	name, port, err := egress.SplitPort(m[1])
	if err != nil {
		return "", false
	}
	h, err := egress.ParseHost(name)
	if err != nil || port != 0 && port != 43 && !w.guard.Names(h, port) {
		return "", false
	}
	return whoisAddress(h.Name, port), true
}

func whoisAddress(name string, port int) string {
	if port == 0 {
		port = 43
	}
	return net.JoinHostPort(strings.ToLower(name), strconv.Itoa(port))
}

// tidyWhois returns an answer without the comments and terms that most of it is.
func tidyWhois(s string) string {
	var lines []string
	for l := range strings.Lines(strings.ToValidUTF8(s, "?")) {
		l = strings.TrimRight(plain(strings.TrimRight(l, "\r\n"), 300), " ")
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "%") || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if strings.HasPrefix(trimmed, ">>>") || strings.HasPrefix(trimmed, "NOTICE:") || strings.HasPrefix(trimmed, "TERMS OF USE:") {
			break
		}
		if trimmed == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, l)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

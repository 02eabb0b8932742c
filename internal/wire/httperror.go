package wire

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	maxErrorBody  = 64 << 10 // read of an error's body, to find a JSON-RPC error in it
	maxErrorText  = 4 << 10  // kept of it
	maxErrorShown = 300      // shown of it
	minSecret     = 6        // shorter values are not looked for in a text
)

// An HTTPError is an answer with a status that is no success and no JSON-RPC
// error in it.
type HTTPError struct {
	Status int
	// Body is the head of the body, at most 4 KiB, without the values of the
	// client's own headers.
	Body string
	// RetryAfter is how long the server asks to wait, or 0.
	RetryAfter time.Duration
	// Authenticate holds the WWW-Authenticate challenges.
	Authenticate []string
}

// Error returns the status and what a person can read of the body.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("server answered %d", e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if said := readable(e.Body); said != "" {
		text += ": " + said
	}
	return text
}

// refusal reads an answer that is no success, and closes it. session says
// whether the request named a session.
func (s *sender) refusal(resp *http.Response, session bool) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // half of a reason is better than none
	_ = resp.Body.Close()
	m, err := jsonrpc.Parse(tool.OneOf(body))
	var rpc *jsonrpc.Error
	if err == nil && m.Error != nil {
		rpc = jsonrpc.ErrorOf(m.Error)
	}
	if session && lostSession(resp.StatusCode, body, rpc) {
		return ErrSessionLost
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden: // a matter of this hop, never of the request
	default:
		if rpc != nil {
			return rpc
		}
	}
	return &HTTPError{
		Status:       resp.StatusCode,
		Body:         s.scrub(body),
		RetryAfter:   retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		Authenticate: resp.Header.Values("Www-Authenticate"),
	}
}

// lostSession reports whether an answer says that the session is unknown. That
// is a 404 by the specification, but servers built on the SDKs' examples say 400
// and "No valid session ID provided".
func lostSession(status int, body []byte, rpc *jsonrpc.Error) bool {
	switch status {
	case http.StatusNotFound:
		return rpc == nil || rpc.Code != jsonrpc.CodeMethodNotFound
	case http.StatusBadRequest:
		text := strings.ToLower(string(body))
		return strings.Contains(text, "no valid session") || strings.Contains(text, "session not found") ||
			strings.Contains(text, "invalid session")
	}
	return false
}

// retryAfter reads the header of this name: seconds, or a date.
func retryAfter(v string, now time.Time) time.Duration {
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// secrets returns what must appear in no error: values of headers and of the
// URL's query, and a password.
func secrets(u *url.URL, h http.Header) []string {
	var out []string
	add := func(v string) {
		if len(v) >= minSecret {
			out = append(out, v)
		}
	}
	for _, values := range h {
		for _, v := range values {
			add(v)
			if _, token, ok := strings.Cut(v, " "); ok { // "Bearer TOKEN"
				add(token)
			}
		}
	}
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
			add(url.QueryEscape(v))
		}
	}
	if password, ok := u.User.Password(); ok {
		add(password)
	}
	return out
}

// scrub returns the head of a body as valid text without secrets, some servers
// send back what they did not like.
func (s *sender) scrub(body []byte) string {
	text := strings.ToValidUTF8(string(body), "�")
	for _, v := range s.secrets {
		text = strings.ReplaceAll(text, v, "***")
	}
	return cut(text, maxErrorText)
}

// cut returns at most n bytes of text, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// readable returns one short line of a body: of a page its title.
func readable(body string) string {
	if strings.HasPrefix(strings.TrimSpace(body), "<") {
		_, title, ok := strings.Cut(body, "<title>")
		if !ok {
			return ""
		}
		title, _, _ = strings.Cut(title, "</title>")
		body = html.UnescapeString(title)
	}
	body = strings.Join(strings.Fields(body), " ")
	if short := cut(body, maxErrorShown); short != body {
		return short + "…"
	}
	return body
}

package login

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"strings"
)

// maxWords bounds what is read of a refusal to find its reason.
const maxWords = 8 << 10

// reasonOf returns why a server refuses, as it says itself: in its challenge, else in the body of
// the answer, which can be read as before afterwards. What it was sent is not in it.
func (h *holder) reasonOf(resp *http.Response, described, bearer string) string {
	if described != "" {
		return described
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxWords))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	if err != nil {
		return "" // whoever reads on finds out
	}
	text := wordsOf(head)
	for _, secret := range h.sent(bearer) {
		text = strings.ReplaceAll(text, secret, "***")
	}
	if text = clip(strings.Join(strings.Fields(text), " ")); text == "" {
		return ""
	}
	return " (" + text + ")"
}

// shortest is how long a text is at least that is hidden: hiding each "1" would hide all.
const shortest = 6

// sent returns what a server may send back of what it was sent, and nobody should read.
func (h *holder) sent(bearer string) []string {
	var out []string
	add := func(text string) {
		if _, token, ok := strings.Cut(text, " "); ok && len(token) >= shortest {
			out = append(out, token)
		}
		if len(text) >= shortest {
			out = append(out, text)
		}
	}
	add(bearer)
	for _, values := range h.s.Header {
		for _, v := range values {
			add(v)
		}
	}
	return out
}

// wordsOf returns what a person can read of a body: the reason in JSON, the title of a
// page, else the text as it is.
func wordsOf(body []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		return reasonIn(members)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), ""))
	if strings.HasPrefix(text, "<") {
		_, title, _ := strings.Cut(text, "<title>")
		title, _, _ = strings.Cut(title, "</title>")
		return html.UnescapeString(title)
	}
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return "" // cut off, or nothing for a person
	}
	return text
}

// reasonIn looks where the reason of an error is: of OAuth, of JSON-RPC, of most others.
func reasonIn(members map[string]json.RawMessage) string {
	for _, key := range []string{"error_description", "message", "detail", "error"} {
		var text string
		if json.Unmarshal(members[key], &text) == nil && text != "" {
			return text
		}
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(members[key], &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	return ""
}

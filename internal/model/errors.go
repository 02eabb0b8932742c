package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// An Error is a failure that an endpoint told of.
type Error struct {
	Status int    // of HTTP; 0 where an answer came and is none
	Type   string // the vendor's name for it
	text   string
	again  bool // it may pass
}

// Error says what went wrong and what to do.
func (e *Error) Error() string { return e.text }

// fault returns an error about an answer.
func (c *Client) fault(format string, args ...any) *Error {
	return &Error{text: c.where() + " " + fmt.Sprintf(format, args...)}
}

// where names the endpoint.
func (c *Client) where() string {
	s := c.Provider()
	if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
		s += " at " + egress.Plain(u.Host, 120)
	}
	if c.Name != "" {
		s += " (model " + egress.Plain(c.Name, 120) + ")"
	}
	return s
}

// saying is what error answers of all vendors may hold.
type saying struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Code    any    `json:"code"`
	Param   any    `json:"param"`
}

// read takes a saying out of an answer: {"error": {…}}, {"error": "…"}, {"message": "…"},
// {"detail": "…"}, and Gemini's list of one.
func readSaying(body []byte) saying {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  any             `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		return saying{Message: string(body)}
	}
	var s saying
	if json.Unmarshal(e.Error, &s) != nil {
		_ = json.Unmarshal(e.Error, &s.Message) // a text, or nothing
	}
	if s.Message == "" {
		s.Message = e.Message
	}
	if s.Message == "" && e.Detail != nil {
		s.Message = fmt.Sprint(e.Detail)
	}
	return s
}

func (s saying) code() string {
	code, _ := s.Code.(string) // Gemini repeats the status as a number
	return cmp.Or(code, s.Type, s.Status)
}

// refusal returns the error for an answer whose status is none of success.
func (c *Client) refusal(status int, body []byte, attempts int) *Error {
	s := readSaying(body)
	what := c.advice(status, s)
	text := fmt.Sprintf("%s answered %d", c.where(), status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	if status != http.StatusUnauthorized { // what is said there may hold a part of the key
		if said := c.quote(s.Message); said != "" {
			text += fmt.Sprintf(" (%q)", said)
		}
	}
	if attempts > 1 {
		text += fmt.Sprintf(", %d times", attempts)
	}
	return &Error{Status: status, Type: egress.Plain(s.code(), 80), text: text + ": " + what}
}

// quote returns what an endpoint says, without the key.
func (c *Client) quote(s string) string {
	if c.Key != "" {
		s = strings.ReplaceAll(s, c.Key, "[key]")
	}
	return egress.Plain(s, 300)
}

// advice says what to do about a status.
func (c *Client) advice(status int, s saying) string {
	key := cmp.Or(c.KeyName, "the key")
	lower := strings.ToLower(s.Message + " " + s.code())
	switch {
	case status == http.StatusUnauthorized || strings.Contains(lower, "api key not valid"):
		if c.Key == "" {
			return "it wants a key: the operator must set " + key
		}
		return "it does not take the key: the operator must check " + key
	case status == http.StatusPaymentRequired, strings.Contains(lower, "insufficient_quota"):
		return "the account has no credit left: its owner must add some; other tools still work"
	case status == http.StatusForbidden:
		return "the key may not use this model: the operator must check " + key + " and the name of the model"
	case status == http.StatusNotFound:
		return "there is no such model or address: the operator must check the name of the model and the base URL"
	case status == http.StatusRequestEntityTooLarge, tooLong(lower):
		return "that is more than it takes: send a smaller or shorter file, or ask about a part of it"
	case status == http.StatusTooManyRequests:
		return "too many requests for now: wait a minute and call again"
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return "it does not take this request: change what you ask or the file you send"
	case status >= 500:
		return "it has a fault or too much to do: try again later"
	}
	return "the request was not taken"
}

// tooLong reports whether an error says that the question is too long.
func tooLong(lower string) bool {
	for _, s := range []string{"exceeds the maximum number of tokens", "context_length_exceeded", "prompt is too long", "request_too_large", "maximum context length"} {
		if strings.Contains(lower, s) {
			return true
		}
	}
	return false
}

// TooLong reports whether an error says that a question, or its file, was too long.
func TooLong(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusRequestEntityTooLarge || strings.Contains(e.text, "that is more than it takes"))
}

package relay

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// sealPrefix begins each text that a relay has signed.
const sealPrefix = "tenon-relay."

// IsState reports whether a requestState is one of a relay.
func IsState(text string) bool { return strings.HasPrefix(text, sealPrefix) }

// stateLife is how long a client may take to come again.
const stateLife = time.Hour

// A state is what a modern client gets to come again with.
type state struct {
	Server  string `json:"s"`
	Caller  string `json:"c,omitempty"`
	Digest  string `json:"d"`
	Expires int64  `json:"e"`
	Parked  string `json:"p,omitempty"` // the call that waits
	Round   int    `json:"n,omitempty"` // how often it has
	State   string `json:"r,omitempty"` // of the server
	Grant   string `json:"g,omitempty"` // what a person has allowed
	Held    string `json:"t,omitempty"` // the task that it is the handle of
}

// seal returns a state as text that nobody can change.
func (r *Relay) seal(st state) string {
	body, err := json.Marshal(st)
	if err != nil {
		return "" // cannot happen: it has strings and a number
	}
	enc := base64.RawURLEncoding
	return sealPrefix + enc.EncodeToString(body) + "." + enc.EncodeToString(r.mac(body))
}

func (r *Relay) mac(body []byte) []byte {
	h := hmac.New(sha256.New, r.key[:])
	_, _ = h.Write(body) // a hash takes all
	return h.Sum(nil)
}

// unseal returns the state that the client has come again with, which must be its own
// and belong to this request.
func (c visit) unseal(server string) (*state, error) {
	refuse := func(why string) (*state, error) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "requestState is refused: %s. Make the request anew, without requestState and inputResponses.", why)
	}
	st, ok := c.r.opened(c.o.State)
	switch {
	case !ok || st.Held != "":
		return refuse("this gateway has not made it, or has started again since")
	case time.Now().Unix() >= st.Expires:
		return refuse("it has expired")
	case st.Caller != c.o.Caller:
		return refuse("it was given to another caller")
	case st.Server != server || st.Digest != c.o.Digest:
		return refuse("it belongs to another request")
	}
	return st, nil
}

// opened returns the state in a text that this relay has signed.
func (r *Relay) opened(text string) (*state, bool) {
	enc := base64.RawURLEncoding.Strict()
	body, sum, _ := strings.Cut(strings.TrimPrefix(text, sealPrefix), ".")
	raw, err := enc.DecodeString(body)
	mac, err2 := enc.DecodeString(sum)
	var st state
	if !IsState(text) || err != nil || err2 != nil || !hmac.Equal(mac, r.mac(raw)) || json.Unmarshal(raw, &st) != nil {
		return nil, false
	}
	return &st, true
}

// Digest returns what a request asks for, so that two can be compared.
func Digest(method string, params tool.Bytes) string {
	keys := []string{"name", "arguments", "uri", "ref"}
	var spans [4]jsonrpc.Span
	h := sha256.New()
	if jsonrpc.Members(params, keys, spans[:]) != nil {
		spans = [4]jsonrpc.Span{}
	}
	fmt.Fprintf(h, "%d:%s", len(method), method)
	for i := range spans {
		value := spans[i].In(params).Join()
		compact := bytes.NewBuffer(nil)
		if len(value) > 0 && json.Compact(compact, value) == nil {
			value = compact.Bytes()
		}
		fmt.Fprintf(h, "%d:%s", len(value), value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

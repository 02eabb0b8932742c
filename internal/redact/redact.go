// Package redact hides secrets in texts and in JSON: known values, and what has the form
// of one.
//
//	r, err := redact.New(redact.Options{Secrets: known})
//	line := r.Text("the key not-a-real-key-000 is wrong") // "the key ••• is wrong"
//	args := r.JSON([]byte(`{"user":"ann","password":"x"}`)) // {"user":"ann","password":"•••"}
//
// What is hidden becomes dots, those that a tool.Secret prints as. What holds no
// secret is returned as it came.
package redact

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Options says what is secret.
type Options struct {
	Secrets []tool.Secret // known values
}

// A Redactor hides secrets. It is safe for concurrent use.
type Redactor struct {
	mu      sync.Mutex
	secrets map[string]bool // all that were ever known: an old one may still be in what a server says
	replace atomic.Pointer[strings.Replacer]
}

// New returns a Redactor.
func New(o Options) (*Redactor, error) {
	r := &Redactor{secrets: map[string]bool{}}
	r.Learn(o.Secrets)
	return r, nil
}

// Learn hides more secrets from now on.
func (r *Redactor) Learn(secrets []tool.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		r.secrets[s.Reveal()] = true
		quoted := jsonrpc.Quote(nil, s.Reveal())
		r.secrets[string(quoted[1:len(quoted)-1])] = true // as it stands in JSON
	}
	dots := tool.Secret{}.String()
	var pairs []string
	// The longest first: of two that begin alike the whole one is to be hidden.
	for _, s := range slices.SortedFunc(maps.Keys(r.secrets), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	}) {
		pairs = append(pairs, s, dots)
	}
	r.replace.Store(strings.NewReplacer(pairs...))
}

// Text returns a text without secrets.
func (r *Redactor) Text(text string) string { return r.replace.Load().Replace(text) }

// JSON returns JSON without secrets, for people and for records. It stays JSON,
// and what is no JSON is read as text.
func (r *Redactor) JSON(raw []byte) []byte {
	text := r.Text(string(raw))
	if text == string(raw) {
		return raw
	}
	if out := []byte(text); json.Valid(out) {
		return out
	}
	return []byte(`{"content":[{"type":"text","text":"What the server said held a secret and is left out."}],"isError":true,` +
		`"code":-32603,"message":"what the server said held a secret and is left out"}`)
}

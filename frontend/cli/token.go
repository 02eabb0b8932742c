package cli

import (
	"io"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// tokenVariable holds the credential for a gateway. There is no flag for it: flags
// stand in process lists.
const tokenVariable = "TENON_TOKEN"

// maxTokenFile bounds the file of a token, which somebody may have mistaken.
const maxTokenFile = 64 << 10

// tokenHint says what a file of a token is.
const tokenHint = "the file holds one key alone, as tenon keys create NAME > FILE writes it"

// token returns the credential for a gateway: that of --token-file, else that of
// the environment; the zero one where there is none.
func (a *app) token() (tool.Secret, error) {
	if a.common.tokenFile == "" {
		return tool.NewSecret(strings.TrimSpace(a.env[tokenVariable])), nil
	}
	f, err := os.Open(a.common.tokenFile)
	if err != nil {
		return tool.Secret{}, &problem{kind: tool.Invalid, text: "--token-file: " + err.Error(), hint: tokenHint, err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return tool.Secret{}, &problem{kind: tool.Invalid, text: "--token-file: " + err.Error(), hint: tokenHint, err: err}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return tool.Secret{}, &problem{kind: tool.Invalid, text: "--token-file: " + a.common.tokenFile + " holds no single key or token", hint: tokenHint}
	}
	return tool.NewSecret(token), nil
}

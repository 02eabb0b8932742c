package winlog

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// Events quote command lines, scripts and requests, and with them the passwords that
// people write there. Answers have them masked, and a text is looked for in what is
// masked: what it hides could be guessed a letter at a time else.

// masked returns an event without the secrets in what it says.
func masked(f found) found {
	f.event = f.event.Mapped(hide)
	f.message = cmdmask.Text(f.message)
	return f
}

// hide masks the secrets in a value of that name.
func hide(name, value string) string {
	if strings.TrimSpace(value) != "" && cmdmask.Secret(name) {
		return cmdmask.Masked
	}
	return cmdmask.Text(value)
}

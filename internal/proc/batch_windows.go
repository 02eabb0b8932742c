package proc

import (
	"errors"
	"strings"
)

// batchPlain are the characters, beside letters and digits, that need no
// quotes on the command line of a batch file.
const batchPlain = `#$*+-./:?@\_`

// batchLine is the command line that runs a batch file with exactly args. The
// command interpreter has its own quoting: a quote is doubled, and a percent
// sign, which it expands even within quotes, is followed by an empty expansion
// so that no variable's name can form.
func batchLine(path string, args []string) (string, error) {
	if strings.ContainsAny(path, `"%`) {
		return "", errors.New("a batch file cannot be run with a quote or a percent sign in its path: rename it")
	}
	var b strings.Builder
	b.WriteString(`cmd.exe /e:ON /v:OFF /d /c "`)
	b.WriteString(`"` + path + `"`)
	for _, arg := range args {
		if strings.ContainsAny(arg, "\r\n") {
			return "", errors.New("an argument of a batch file cannot hold a line break: remove it, or run the program behind the batch file")
		}
		b.WriteByte(' ')
		batchArg(&b, arg)
	}
	b.WriteByte('"')
	return b.String(), nil
}

func batchArg(b *strings.Builder, arg string) {
	quoted := arg == "" || strings.HasSuffix(arg, `\`)
	for _, r := range arg {
		letter := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		quoted = quoted || !letter && !strings.ContainsRune(batchPlain, r)
	}
	if quoted {
		b.WriteByte('"')
	}
	backslashes := 0
	for _, r := range arg {
		switch r {
		case '\\':
			backslashes++
		case '"':
			// The program behind the batch file halves backslashes before a quote.
			b.WriteString(strings.Repeat(`\`, backslashes))
			b.WriteByte('"')
			backslashes = 0
		case '%':
			b.WriteString(`%%cd:~,`)
			backslashes = 0
		default:
			backslashes = 0
		}
		b.WriteRune(r)
	}
	if quoted {
		b.WriteString(strings.Repeat(`\`, backslashes))
		b.WriteByte('"')
	}
}

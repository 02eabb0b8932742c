package call

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/tool"
)

// howToCheck says how to find out whether a call took effect whose answer was
// lost: with a tool of the same server that only reads and that speaks of the same
// thing, where there is one.
func (o *Options) howToCheck(t *tool.Tool) string {
	if o.Readers != nil {
		if name := reader(t.Name, o.Readers(t.Server)); name != "" {
			return fmt.Sprintf("Before calling it again, check that with a tool that only reads: %s of server %s may tell.", name, t.Server)
		}
	}
	return "Before calling it again, check that with a tool that only reads."
}

// readVerbs begin the names of tools that look at something, the better the
// earlier, where several tools speak of the same thing.
var readVerbs = []string{"get", "list", "read", "show", "status", "describe", "search", "find", "query", "fetch", "view", "inspect", "check", "count"}

// writeVerbs are what a tool does, not to what.
var writeVerbs = []string{
	"create", "add", "insert", "new", "make", "update", "edit", "set", "put", "patch", "change", "modify", "write", "append", "save", "store",
	"delete", "remove", "drop", "clear", "move", "rename", "copy", "upload", "send", "post", "publish", "push", "start", "stop", "restart",
	"run", "execute", "apply", "open", "close", "cancel", "enable", "disable", "merge", "commit", "do",
}

// reader returns the name among those of tools that only read which shares most
// things with the name of a tool that writes, or "".
func reader(name string, readers []string) string {
	things, _ := nameParts(name)
	best, score := "", 0
	for _, candidate := range readers {
		theirs, verb := nameParts(candidate)
		shared := 0
		for _, t := range things {
			if slices.Contains(theirs, t) {
				shared++
			}
		}
		if shared == 0 {
			continue
		}
		points := 1000*shared - 100*(len(theirs)-shared) - verb
		if best == "" || points > score {
			best, score = candidate, points
		}
	}
	return best
}

// nameParts returns the things that a tool's name speaks of, in the singular, and
// the rank of its verb among those that read.
func nameParts(name string) (things []string, verb int) {
	verb = len(readVerbs)
	for _, w := range words(name) {
		if i := slices.Index(readVerbs, w); i >= 0 {
			verb = min(verb, i)
			continue
		}
		if slices.Contains(writeVerbs, w) {
			continue
		}
		switch {
		case strings.HasSuffix(w, "ies") && len(w) > 4:
			w = w[:len(w)-3] + "y"
		case strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
			w = w[:len(w)-2]
		case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && len(w) > 3:
			w = w[:len(w)-1]
		}
		things = append(things, w)
	}
	return things, verb
}

// words returns the words of a name in lower case: create_fileEntry is create,
// file, entry.
func words(name string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Fields(b.String())
}

// brief returns a text on one line, at most 200 characters of it.
func brief(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

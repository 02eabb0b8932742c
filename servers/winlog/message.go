package winlog

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// messageOf returns what an event says in words: its own text where the log brings
// it, ours for events that many people know, else its data. It is foreign text.
func messageOf(e *evtx.Event) string {
	if e.Rendering.Message != "" {
		return e.Rendering.Message
	}
	if s := knownText(e); s != "" {
		return s
	}
	return dataLine(e)
}

// dataLine returns the data of an event in one line, without what is empty.
func dataLine(e *evtx.Event) string {
	const most = 40
	var b strings.Builder
	n := 0
	for _, d := range e.Data {
		value := strings.TrimSpace(d.Value)
		if value == "" || value == "-" {
			continue
		}
		if n++; n > most {
			b.WriteString(", …")
			break
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if d.Name != "" {
			b.WriteString(d.Name + "=")
		}
		b.WriteString(value)
	}
	return cmp.Or(b.String(), "(no message and no data)")
}

// knownText returns our text for an event, or nothing.
func knownText(e *evtx.Event) string {
	provider := strings.ToLower(e.System.Provider.Name)
	for _, k := range known[e.System.EventID] {
		if k.provider == provider || strings.EqualFold(k.provider, e.System.Provider.Source) {
			return fill(k.text, e)
		}
	}
	return ""
}

var place = regexp.MustCompile(`\{[^{}]+\}`)

// fill puts the data of an event into a text of ours. {A|0} is the field A, or the
// first one where that has no name; {A:logon} is the value A in words.
func fill(text string, e *evtx.Event) string {
	return place.ReplaceAllStringFunc(text, func(p string) string {
		p, words, _ := strings.Cut(p[1:len(p)-1], ":")
		name, number, _ := strings.Cut(p, "|")
		value := strings.TrimSpace(e.Get(name))
		if i, err := strconv.Atoi(number); err == nil && value == "" && i < len(e.Data) && e.Data[i].Name == "" {
			value = strings.TrimSpace(e.Data[i].Value)
		}
		switch words {
		case "logon":
			value = withWord(value, logonTypes[value])
		case "status":
			value = withWord(value, logonFailures[strings.ToLower(value)])
		}
		return cmp.Or(value, "-")
	})
}

func withWord(value, word string) string {
	if word == "" {
		return value
	}
	return value + " (" + word + ")"
}

var logonTypes = map[string]string{
	"0": "system", "2": "at the keyboard", "3": "over the network", "4": "batch", "5": "service", "7": "unlock",
	"8": "over the network in clear text", "9": "other credentials", "10": "remote desktop", "11": "at the keyboard, cached credentials",
	"12": "remote desktop, cached credentials", "13": "unlock, cached credentials",
}

// logonFailures are in lower case.
var logonFailures = map[string]string{
	"0xc000005e": "no logon server", "0xc0000064": "no such user", "0xc000006a": "wrong password", "0xc000006d": "wrong user or password",
	"0xc000006e": "account restriction", "0xc000006f": "outside the allowed hours", "0xc0000070": "from a machine that is not allowed",
	"0xc0000071": "password expired", "0xc0000072": "account disabled", "0xc00000dc": "server in the wrong state",
	"0xc0000133": "clocks differ too much", "0xc000015b": "this kind of logon is not granted", "0xc000018c": "broken trust between domains",
	"0xc0000192": "logon service not started", "0xc0000193": "account expired", "0xc0000224": "password must be changed",
	"0xc0000234": "account locked out", "0xc0000413": "not allowed to authenticate here",
}

package templates

import (
	"net/netip"
	"strings"
)

// mask returns a word with what differs from line to line replaced by marks.
func mask(w string) string {
	if len(w) > 200 {
		return varying
	}
	begin, end := 0, len(w)
	for begin < end && strings.IndexByte(`"'([{<`, w[begin]) >= 0 {
		begin++
	}
	for end > begin && strings.IndexByte(`"')]}>,;:.!?`, w[end-1]) >= 0 {
		end--
	}
	if w[0] == '[' && isAddress(w[:end]) {
		return "<ip>" + w[end:]
	}
	core := w[begin:max(begin, end)]
	if core == "" {
		return w
	}
	if name, value, ok := strings.Cut(core, "="); ok && name != "" && !strings.Contains(name, "/") {
		return w[:begin] + name + "=" + mask(value) + w[end:]
	}
	return w[:begin] + maskCore(core) + w[end:]
}

func maskCore(w string) string {
	digits, hex, other := 0, 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			hex++
		default:
			other++
		}
	}
	switch {
	case strings.Contains(w, "://"):
		return "<url>"
	case w[0] == '/' && strings.Count(w, "/") > 1, len(w) > 2 && w[1] == ':' && w[2] == '\\':
		return "<path>"
	case digits == 0 && !strings.Contains(w, "::"):
		if hex+other >= 32 && !strings.ContainsAny(w, "._-/") {
			return "<id>" // nobody writes words that long
		}
		return w
	case isAddress(w):
		return "<ip>"
	case other == 0 && hex > 0 && len(w) >= 6:
		return "<hex>"
	case other == 4 && len(w) == 36 && strings.Count(w, "-") == 4:
		return "<id>"
	case strings.HasPrefix(w, "0x"):
		return "<hex>"
	case len(w) >= 16 && digits >= 4 && !strings.ContainsAny(w, "./-_:"):
		return "<id>"
	}
	return numbers(w)
}

func isAddress(w string) bool {
	if strings.Count(w, ".") < 3 && strings.Count(w, ":") < 2 {
		return false
	}
	if _, err := netip.ParseAddr(w); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(w); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(w)
	return err == nil
}

// numbers replaces runs of digits, with the fractions and signs that belong to them.
func numbers(w string) string {
	var b strings.Builder
	for i := 0; i < len(w); {
		if !digit(w[i]) {
			b.WriteByte(w[i])
			i++
			continue
		}
		for i < len(w) && (digit(w[i]) || i+1 < len(w) && digit(w[i+1]) && strings.IndexByte(".,:", w[i]) >= 0) {
			i++
		}
		b.WriteString("<num>")
	}
	return b.String()
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

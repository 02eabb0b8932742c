package redact

import "strings"

// IsSetting reports whether a value that a program is given under a name is a
// setting, and no secret: where neither the name nor the value looks like one. A
// path, the name of a host or a word such as production stands in many results, and
// hiding it there would make them useless.
func IsSetting(name, value string) bool {
	w := words(name)
	if isSecretName(name) || len(w) > 0 && (w[len(w)-1] == "key" || w[len(w)-1] == "pat" || w[len(w)-1] == "pwd" || w[len(w)-1] == "pass") {
		return false
	}
	if scheme, rest, ok := strings.Cut(value, "://"); ok && scheme != "" {
		return !strings.ContainsAny(rest, "@?#") && isPlain(rest, 40)
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || strings.HasPrefix(value, "~/") ||
		len(value) > 2 && value[1] == ':' && value[2] == '\\' {
		return isPlain(value, 200)
	}
	return len(value) <= 24 && isPlain(value, 24)
}

// isPlain reports whether a text is made of words, with numbers of at most two
// digits, or of five behind a colon, between signs.
func isPlain(s string, most int) bool {
	if len(s) > most {
		return false
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && strings.IndexByte(`/\:._-, ~`, s[i]) < 0 {
			continue
		}
		part := s[start:i]
		letters := strings.Trim(part, "0123456789") == part && !strings.ContainsFunc(part, func(c rune) bool { return !isUpper(int(c)) && !isLower(int(c)) })
		digits := strings.Trim(part, "0123456789") == ""
		switch {
		case letters && len(part) <= 20:
		case digits && (len(part) <= 2 || len(part) <= 5 && start > 0 && s[start-1] == ':'):
		default:
			return false
		}
		start = i + 1
	}
	return true
}

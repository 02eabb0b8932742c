package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// behind is what stands behind a host.
type behind struct {
	path     string   // as it is written; empty where there is none
	segments []string // its first ones in their normal form, at most maxSegments
	read     int      // bytes that were looked at
}

// maxPath is how much of a path is read. Servers take no longer ones.
const maxPath = 16 << 10

// readPath reads the port and the path behind a host.
func readPath(rest string) behind {
	path, ok := pathOf(rest)
	if !ok {
		return behind{}
	}
	if len(path) > maxPath {
		path = path[:maxPath]
	}
	if end := strings.IndexFunc(path, endsPath); end >= 0 {
		path = path[:end]
	}
	return behind{path: path, segments: segmentsOf(path), read: len(path)}
}

// pathOf returns what follows the port. Behind a colon without a port it is a
// path too, as git and scp have it: git@hf.co:datasets/squad.
func pathOf(rest string) (string, bool) {
	if port, ok := strings.CutPrefix(rest, ":"); ok {
		rest = strings.TrimLeft(port, "0123456789")
		if rest == port && rest != "" && !isSlash(rest[0]) {
			return rest, true
		}
	}
	return rest, rest != "" && isSlash(rest[0])
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// segmentsOf returns the first segments of a path: both slashes part them, empty
// ones and . count for nothing, and .. takes one away.
func segmentsOf(path string) []string {
	var out []string
	depth := 0 // of which out holds the first maxSegments
	for path != "" {
		seg := path
		if i := strings.IndexAny(path, `/\`); i >= 0 {
			seg, path = path[:i], path[i+1:]
		} else {
			path = ""
		}
		switch {
		case seg == "":
		case isDots(seg):
			if len(dots(seg)) == 2 && depth > 0 {
				depth--
				out = out[:min(len(out), depth)]
			}
		default:
			if depth < maxSegments {
				out = append(out, seg)
			}
			depth++
		}
	}
	return out
}

// dots returns a segment with its escaped dots as dots.
func dots(seg string) string {
	if len(seg) < 3 || len(seg) > 6 {
		return seg
	}
	return strings.NewReplacer("%2e", ".", "%2E", ".").Replace(seg)
}

func isDots(seg string) bool {
	seg = dots(seg)
	return seg == "." || seg == ".."
}

// softCut returns a segment up to what may have ended the address within a text,
// or within the query of another one: ?url=huggingface.co/datasets&x=1.
func softCut(seg string) string {
	i := strings.IndexFunc(seg, func(r rune) bool {
		return strings.ContainsRune("&;,()[]{}|*^$!", r) || r >= utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSpace(r))
	})
	if i >= 0 {
		seg = seg[:i]
	}
	return strings.TrimRight(seg, ".:_~-+=")
}

// Normalize returns the first address of a text in its normal form, host and
// path, without scheme, user, port, query and fragment; "" where there is none.
// All escapes are taken off.
func Normalize(address string) string {
	text := withoutBreaks(unescapeAll(address))
	for i := 0; i < len(text); {
		end := runEnd(text, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		if host := foldHost(text[i:end]); strings.Contains(host, ".") && isHost(host) && !isUserinfo(text[end:]) {
			a := readPath(text[end:])
			return strings.TrimSuffix(host+"/"+strings.Join(a.segments, "/"), "/")
		}
		i = end
	}
	return ""
}

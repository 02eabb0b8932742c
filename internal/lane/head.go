package lane

import (
	"bytes"
	"net/textproto"
	"net/url"
	"strings"
)

const (
	maxHead    = 8 << 10  // bytes of a request's head that the lane takes
	maxFields  = 32       // header fields that it takes
	maxBody    = 64 << 10 // bytes of a request's body that it takes
	maxDigits  = 6        // of a Content-Length, more than maxBody has
	headEnd    = "\r\n\r\n"
	inlineSize = 12 // header fields that need no allocation of their own
)

// A verdict says what the bytes at the front of a connection are.
type verdict int

const (
	partial verdict = iota // not a whole head yet
	plain                  // a whole head that the lane may serve
	odd                    // something else, right or wrong: not for the lane
	resting                // nothing, and nothing has come for a while
)

// A head is the head of a plain request. Its texts are parts of one string.
type head struct {
	size   int // bytes of it, with the empty line
	method string
	target string
	path   string
	query  string
	host   string
	length int // of the body
	fields []field
}

// A field is a header field other than Host, its name in canonical form.
type field struct{ name, value string }

// parse reads the head at the front of b. It says plain only where no two
// readers of HTTP can differ on what the request is and where it ends; of the
// rest it makes no sense at all. The fields are stored in the given array while
// they fit.
func parse(b []byte, fields []field) (h head, v verdict) {
	if len(b) > 0 && (b[0] < 'A' || b[0] > 'Z') {
		return h, odd
	}
	end := bytes.Index(b[:min(len(b), maxHead)], []byte(headEnd))
	switch {
	case end < 0 && len(b) >= maxHead:
		return h, odd
	case end < 0:
		return h, partial
	}
	h.size, h.length, h.fields = end+len(headEnd), -1, fields[:0]
	line, rest, _ := strings.Cut(string(b[:end+2]), "\r\n") // each line has its end
	if !h.requestLine(line) {
		return h, odd
	}
	for rest != "" {
		if line, rest, _ = strings.Cut(rest, "\r\n"); !h.field(line) {
			return h, odd
		}
	}
	if h.host == "" {
		return h, odd
	}
	h.length = max(h.length, 0) // neither Content-Length nor Transfer-Encoding: no body
	return h, plain
}

// requestLine takes the first line, and reports whether it is plain.
func (h *head) requestLine(line string) bool {
	var rest, version string
	h.method, rest, _ = strings.Cut(line, " ")
	h.target, version, _ = strings.Cut(rest, " ")
	switch h.method {
	case "GET", "POST", "DELETE":
	default:
		return false
	}
	if version != "HTTP/1.1" || len(h.target) == 0 || h.target[0] != '/' || strings.HasPrefix(h.target, "//") {
		return false
	}
	var asks bool
	h.path, h.query, asks = strings.Cut(h.target, "?")
	return all(h.path, inPath) && all(h.query, inQuery) && asks == (h.query != "")
}

// field takes one header field, and reports whether it is plain.
func (h *head) field(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || !all(name, inName) || !all(value, inValue) {
		return false
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	value = textproto.TrimString(value)
	switch name {
	case "Host":
		first := h.host == ""
		h.host = value
		return first && value != "" && all(value, inHost)
	case "Content-Length":
		var ok bool
		if h.length, ok = digits(value); !ok {
			return false
		}
	case "Connection":
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	case "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Http2-Settings", "Proxy-Connection", "Pragma":
		return false
	}
	for _, f := range h.fields {
		if f.name == name {
			return false
		}
	}
	h.fields = append(h.fields, field{name, value})
	return len(h.fields) <= maxFields
}

// digits reads a length of at most maxBody that is written in the only way.
func digits(s string) (n int, ok bool) {
	if s == "" || len(s) > maxDigits || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, n <= maxBody
}

// url returns the target as it would be parsed: it has nothing to decode.
func (h *head) url() url.URL { return url.URL{Path: h.path, RawQuery: h.query} }

// Where a byte may stand.
const (
	inName  = 1 << iota // in the name of a field: a character of a token
	inValue             // in its value: printable ASCII, and blanks
	inHost              // in the value of Host
	inPath              // in a path, where it stands for itself and is written in one way
	inQuery             // in a query
)

var places = func() (t [256]byte) {
	mark := func(place byte, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= place
		}
	}
	for c := byte('!'); c <= '~'; c++ {
		t[c] |= inValue | inQuery
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			t[c] |= inName | inHost | inPath
		}
	}
	mark(inValue, " \t")
	mark(inName, "!#$%&'*+-.^_`|~")
	mark(inHost, "-.:[]_")
	mark(inPath, "/-_.~$&+,:;=@")
	for _, c := range `"#<>\^{|}` + "`" {
		t[c] &^= inQuery
	}
	return t
}()

// all reports whether all bytes of s may stand in the place.
func all(s string, place byte) bool {
	for i := range len(s) {
		if places[s[i]]&place == 0 {
			return false
		}
	}
	return true
}

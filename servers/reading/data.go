package reading

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
)

// maxData is the most bytes that a data: URI may have. A message of 16 MiB is the
// longest that the SDK reads.
const maxData = 15 << 20

// data reads what a data: URI holds: data:TYPE;base64,CONTENT.
func (j *job) data(uri string) error {
	if len(uri) > maxData {
		return fmt.Errorf("the data: URI is longer than %d MiB: give the document by its address or its path", maxData>>20)
	}
	head, content, ok := strings.Cut(uri[len("data:"):], ",")
	if !ok || len(head) > 1000 {
		return errors.New("the data: URI has no comma between its type and its content: write data:text/plain;base64,SGVsbG8=")
	}
	var b []byte
	kind, packed := cutSuffixFold(strings.TrimSpace(head), ";base64")
	if packed {
		var err error
		if b, err = unpackBase64(content); err != nil {
			return err
		}
	} else {
		text, err := url.PathUnescape(content)
		if err != nil {
			return errors.New("the data: URI holds a % that is no escape: write it as %25, or use ;base64")
		}
		b = []byte(text)
	}
	if strings.HasPrefix(kind, ";") {
		kind = "text/plain" + kind
	}
	name := ""
	if _, p, err := mime.ParseMediaType(kind); err == nil {
		name = egress.Plain(p["name"], 100)
	}
	j.src = document.Source{Name: name, MIME: kind, Data: bytes.NewReader(b), Size: int64(len(b))}
	j.uri = fmt.Sprintf("data:%s… (%d bytes)", egress.Plain(head, 60), len(b))
	return nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// unpackBase64 takes both alphabets, escapes and white space, with padding or without.
func unpackBase64(s string) ([]byte, error) {
	if strings.ContainsRune(s, '%') {
		if u, err := url.PathUnescape(s); err == nil {
			s = u
		}
	}
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("the content of the data: URI is no base64")
	}
	return b, nil
}

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"
)

var errNoText = errors.New("the page holds no text; it may be made by scripts, which are not run")

// text returns a body as text. The type is that of the header; where there is
// none, the body shows it.
func text(ctx context.Context, body []byte, contentType string, at *url.URL) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "application/octet-stream" {
		contentType = http.DetectContentType(body)
		kind, params, _ = mime.ParseMediaType(contentType) // it makes valid ones only
	}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		return page(ctx, decode(body, contentType), at)
	case strings.HasPrefix(kind, "text/") && params["charset"] == "" && validUTF8(body):
	case strings.HasPrefix(kind, "text/"):
		if body, err = io.ReadAll(decode(body, contentType)); err != nil {
			return "", err
		}
	case isText(kind):
	default:
		return "", fmt.Errorf("the page is of type %s, which is no text", kind)
	}
	out := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	if out == "" {
		return "", errNoText
	}
	return out, nil
}

func validUTF8(b []byte) bool { return bytes.Equal(bytes.ToValidUTF8(b, nil), b) }

// isText reports whether a type outside of text/ is one.
func isText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/ld+json", "application/x-ndjson", "application/toml":
		return true
	}
	return strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// decode returns a body in UTF-8. What encoding it is in is said by the header, or
// by the page itself.
func decode(body []byte, contentType string) io.Reader {
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return bytes.NewReader(body) // an encoding that nobody knows: better some of it than nothing
	}
	return r
}

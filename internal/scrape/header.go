package scrape

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds on what a caller may send along.
const (
	maxHeaders     = 20
	maxHeaderBytes = 4096
)

// readHeader checks what a model wants to be sent along. Logins are an operator's to
// give, and what says how a request travels or what form an answer has is ours.
func readHeader(given map[string]string) (http.Header, error) {
	if len(given) > maxHeaders {
		return nil, fmt.Errorf("there may be %d headers", maxHeaders)
	}
	h := http.Header{}
	size := 0
	for name, value := range given {
		canonical := http.CanonicalHeaderKey(name)
		size += len(name) + len(value)
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || size > maxHeaderBytes:
			return nil, fmt.Errorf("the header %q is not well formed, or is too long", egress.Plain(name, 60))
		case isOurs(canonical):
			return nil, fmt.Errorf("the header %q cannot be set", egress.Plain(name, 60))
		}
		h[canonical] = []string{value}
	}
	return h, nil
}

func isOurs(name string) bool {
	for _, p := range []string{"Proxy-", "Content-", "Sec-", "X-Forwarded-", "X-Proxy", "X-Respond-With", "X-Return-Format", "If-", "Transfer-", "Access-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return slices.Contains([]string{
		"Authorization", "Cookie", "Host", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect", "Range", "Accept-Encoding", "Forwarded", "X-Real-Ip", "X-Set-Cookie",
		"X-Api-Key", "X-Auth-Token", "Metadata-Flavor", "Metadata", "X-Aws-Ec2-Metadata-Token", "X-Robots-Txt",
	}, name)
}

package provider

import (
	"strings"

	"golang.org/x/net/html"
)

// ReadDuckDuckGo reads a page of results.
func ReadDuckDuckGo(page string) ([]Result, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return nil, err
	}
	return duckResults(doc).results, nil
}

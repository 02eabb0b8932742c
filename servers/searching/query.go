package searching

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// operators are what narrows a search of Google, each a word of the query.
type operators struct {
	Site     string `json:"site,omitempty" jsonschema:"only pages of this site, such as example.com, or example.com/docs"`
	Filetype string `json:"filetype,omitempty" jsonschema:"only files of this type, such as pdf"`
	InURL    string `json:"inurl,omitempty" jsonschema:"only pages with this word in their address"`
	InTitle  string `json:"intitle,omitempty" jsonschema:"only pages with this word in their title"`
	Related  string `json:"related,omitempty" jsonschema:"sites that are like this one"`
	Cache    string `json:"cache,omitempty" jsonschema:"the copy of this address that Google keeps"`
	Before   string `json:"before,omitempty" jsonschema:"only pages from before this date, YYYY-MM-DD"`
	After    string `json:"after,omitempty" jsonschema:"only pages from after this date, YYYY-MM-DD"`
	Exact    string `json:"exact,omitempty" jsonschema:"words that must occur in just this order"`
	Exclude  string `json:"exclude,omitempty" jsonschema:"words that must not occur, with commas between"`
	Or       string `json:"or,omitempty" jsonschema:"words of which one must occur, with commas between"`
}

var (
	fileType = regexp.MustCompile(`^[A-Za-z0-9]{1,10}$`)
	years    = regexp.MustCompile(`^[0-9]{4}$`)
)

// query returns the words with the operators behind them, and without needless
// blanks.
func (o operators) query(words string) (string, error) {
	parts := []string{words}
	for _, address := range []struct{ name, value string }{{"site", o.Site}, {"related", o.Related}, {"cache", o.Cache}} {
		if strings.ContainsAny(strings.TrimSpace(address.value), " \t\r\n\"") {
			return "", fmt.Errorf("%s must be one address without blanks and quotes", address.name)
		}
	}
	if o.Filetype = strings.TrimPrefix(strings.TrimSpace(o.Filetype), "."); o.Filetype != "" && !fileType.MatchString(o.Filetype) {
		return "", fmt.Errorf("filetype must be one such as pdf")
	}
	for _, d := range []struct{ name, value string }{{"before", o.Before}, {"after", o.After}} {
		if v := strings.TrimSpace(d.value); v != "" && !years.MatchString(v) {
			if _, err := time.Parse(time.DateOnly, v); err != nil {
				return "", fmt.Errorf("%s must be a date as YYYY-MM-DD", d.name)
			}
		}
	}
	for _, w := range []struct{ name, value string }{
		{"site:", o.Site},
		{"filetype:", o.Filetype},
		{"inurl:", phrase(o.InURL)},
		{"intitle:", phrase(o.InTitle)},
		{"related:", o.Related},
		{"cache:", o.Cache},
		{"before:", o.Before},
		{"after:", o.After},
	} {
		if v := strings.TrimSpace(w.value); v != "" {
			parts = append(parts, w.name+v)
		}
	}
	if e := unquoted(o.Exact); e != "" {
		parts = append(parts, `"`+e+`"`)
	}
	for _, term := range terms(o.Exclude) {
		parts = append(parts, "-"+term)
	}
	if either := terms(o.Or); len(either) > 0 {
		parts = append(parts, "("+strings.Join(either, " OR ")+")")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " "), nil
}

// unquoted returns words without quotes, which would end the ones around them.
func unquoted(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, `"`, " ")), " ")
}

// phrase returns words as one word of a query.
func phrase(s string) string {
	s = unquoted(s)
	if strings.Contains(s, " ") {
		return `"` + s + `"`
	}
	return s
}

// terms returns the words of a list with commas, each as one word of a query.
func terms(s string) []string {
	var list []string
	for term := range strings.SplitSeq(s, ",") {
		if term = phrase(strings.TrimLeft(strings.TrimSpace(term), "-")); term != "" {
			list = append(list, term)
		}
	}
	return list
}

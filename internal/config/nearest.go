package config

import "github.com/tenon-mcp/tenon/internal/named"

// suggest returns the hint for a word that is not among the known ones: the
// nearest, or all of them.
func suggest(word string, known []string, list string) string {
	return named.Suggest(word, known, list)
}

// nearest returns the known word with the fewest letters to change, if those are few.
func nearest(word string, known []string) (string, bool) { return named.Nearest(word, known) }

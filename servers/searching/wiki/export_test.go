package wiki

import "context"

// Split parts an extract at its headings.
func Split(extract string) (string, []Section) { return split(extract) }

// Meanings returns what a page of meanings lists.
func Meanings(page string) ([]Option, error) { return options(context.Background(), page) }

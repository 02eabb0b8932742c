package wiki

// Split parts an extract at its headings.
func Split(extract string) (string, []Section) { return split(extract) }

// Meanings returns what a page of meanings lists.
func Meanings(page string) ([]Option, error) { return options(page) }

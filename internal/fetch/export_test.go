package fetch

// Text is text, for tests.
var Text = text

package answer

import "fmt"

// Within returns a number that a model asked for, moved into its bounds, and the note
// that says so, or none. 0 asks for the usual.
//
//	n, note := answer.Within("max_chars", in.MaxChars, 40_000, 1, 80_000)
func Within(name string, asked, usual, least, most int) (n int, note string) {
	n = asked
	if n == 0 {
		n = usual
	}
	if n = min(max(n, least), most); n != asked {
		note = fmt.Sprintf("%s is %d to %d: %d was taken for %d", name, least, most, n, asked)
	}
	return n, note
}

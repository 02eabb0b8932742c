package answer

import "fmt"

// Within returns a number that a model asked for, moved into its bounds, and the note
// that says so, or none. 0 asks for the usual. It is for a number of which 0 has that
// meaning, and for a note that stands in the data of an answer too; other numbers have
// their bounds in the Spec of package typed.
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

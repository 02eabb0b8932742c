package extract

// A piece is a part of a text.
type piece struct {
	text string
	end  int // where it ends in the text, in characters
}

// split cuts a text to pieces that overlap, at places where something ends.
func split(text []rune) []piece {
	var out []piece
	for from := 0; ; {
		to := min(from+pieceSize, len(text))
		if to < len(text) {
			to = seam(text, to)
		}
		out = append(out, piece{string(text[from:to]), to})
		if to >= len(text) {
			return out
		}
		from = to - overlap
	}
}

// near is how far from a place a seam is looked for.
const near = 500

// seam returns the best place for a cut near another one: an empty line, else the begin
// of an item of a list, the end of a line, of a sentence, or of a word.
func seam(text []rune, at int) int {
	low, high := max(at-near, 1), min(at+near, len(text)-1)
	best, rank := at, 0
	for i := low; i < high; i++ {
		if r := value(text, i); r > rank || r == rank && r > 0 && distance(i, at) < distance(best, at) {
			best, rank = i, r
		}
	}
	return best
}

// value says how well a text can be cut before the character i.
func value(text []rune, i int) int {
	before := text[i-1]
	switch {
	case before == '\n' && i > 1 && text[i-2] == '\n':
		return 5
	case before == '\n' && (text[i] == '-' || text[i] == '*' || text[i] == '•'):
		return 4
	case before == '\n':
		return 3
	case before == '。', before == ' ' && i > 1 && (text[i-2] == '.' || text[i-2] == '!' || text[i-2] == '?'):
		return 2
	case before == ' ':
		return 1
	}
	return 0
}

func distance(a, b int) int { return max(a-b, b-a) }

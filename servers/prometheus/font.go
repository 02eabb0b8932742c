package prometheus

import "strconv"

// glyphs are the signs that stand at the axes, three by five pixels: each row is
// a digit whose three bits are its pixels.
var glyphs = map[rune]string{
	'0': "75557", '1': "26227", '2': "71747", '3': "71717", '4': "55711",
	'5': "74717", '6': "74757", '7': "71122", '8': "75757", '9': "75717",
	'-': "00700", '+': "02720", '.': "00002", ':': "02020", 'e': "07746",
	'T': "72222", 'G': "74557", 'M': "57755", 'K': "55655",
}

// scale is how many pixels one of a glyph becomes.
const scale = 2

func textWidth(s string) int { return len(s)*4*scale - scale }

// text paints signs at a place.
func (c *chart) text(x, y int, s string) {
	for _, r := range s {
		for row, bits := range glyphs[r] {
			for col := range 3 {
				if (bits-'0')>>(2-col)&1 == 0 {
					continue
				}
				for dx := range scale {
					for dy := range scale {
						c.img.SetRGBA(x+col*scale+dx, y+row*scale+dy, ink)
					}
				}
			}
		}
		x += 4 * scale
	}
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

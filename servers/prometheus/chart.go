package prometheus

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
)

// bars are the steps of a sparkline, and a gap.
const (
	bars = "▁▂▃▄▅▆▇█"
	gap  = ' '
)

// sparkline returns the points as at most width bars over equal parts of their
// time. Where a part has several points it shows their average.
func sparkline(points []point, width int) string {
	from, to := points[0].at, points[len(points)-1].at
	width = min(width, len(points))
	sums, counts := make([]float64, width), make([]int, width)
	for _, p := range points {
		v, err := p.float()
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		i := 0
		if to > from {
			i = clamp(int((p.at-from)/(to-from)*float64(width)), 0, width-1)
		}
		sums[i] += v
		counts[i]++
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i, n := range counts {
		if n > 0 {
			sums[i] /= float64(n)
			low, high = min(low, sums[i]), max(high, sums[i])
		}
	}
	steps := []rune(bars)
	var b strings.Builder
	for i, n := range counts {
		switch {
		case n == 0:
			b.WriteRune(gap)
		case high == low || math.IsInf(high-low, 0):
			b.WriteRune(steps[len(steps)/2])
		default:
			b.WriteRune(steps[clamp(int((sums[i]-low)/(high-low)*float64(len(steps))), 0, len(steps)-1)])
		}
	}
	return b.String()
}

// colours of the curves, by which the text refers to them.
var colours = []struct {
	name string
	c    color.RGBA
}{
	{"blue", color.RGBA{0x1f, 0x77, 0xb4, 0xff}},
	{"orange", color.RGBA{0xff, 0x7f, 0x0e, 0xff}},
	{"green", color.RGBA{0x2c, 0xa0, 0x2c, 0xff}},
	{"red", color.RGBA{0xd6, 0x27, 0x28, 0xff}},
	{"purple", color.RGBA{0x94, 0x67, 0xbd, 0xff}},
	{"brown", color.RGBA{0x8c, 0x56, 0x4b, 0xff}},
}

// The picture, in pixels.
const (
	chartWidth, chartHeight = 480, 200
	marginLeft, marginOther = 62, 10
	marginBottom            = 18
)

var (
	grid = color.RGBA{0xe0, 0xe0, 0xe0, 0xff}
	ink  = color.RGBA{0x50, 0x50, 0x50, 0xff}
)

// A chart is a picture of curves over one time and one scale.
type chart struct {
	img       *image.RGBA
	from, to  float64 // seconds
	low, high float64
}

// draw returns a picture of the curves as PNG; nil where they have no number to
// be drawn. Values that are no numbers are gaps.
func draw(curves [][]point) []byte {
	c := chart{from: math.Inf(1), to: math.Inf(-1), low: math.Inf(1), high: math.Inf(-1)}
	for _, curve := range curves {
		for _, p := range curve {
			v, err := p.float()
			if err != nil || math.IsNaN(v) || math.Abs(v) > 1e300 {
				continue
			}
			c.from, c.to = min(c.from, p.at), max(c.to, p.at)
			c.low, c.high = min(c.low, v), max(c.high, v)
		}
	}
	if c.low > c.high {
		return nil
	}
	if c.low == c.high { // a flat line in the middle
		room := max(math.Abs(c.low)*0.1, 1)
		c.low, c.high = c.low-room, c.high+room
	}
	if c.from == c.to {
		c.from, c.to = c.from-1, c.to+1
	}
	c.img = image.NewRGBA(image.Rect(0, 0, chartWidth, chartHeight))
	c.axes()
	for i, curve := range curves {
		c.curve(curve, colours[i%len(colours)].c)
	}
	var b bytes.Buffer
	if png.Encode(&b, c.img) != nil {
		return nil
	}
	return b.Bytes()
}

// axes paints the background, a grid and what its lines stand for.
func (c *chart) axes() {
	for i := range c.img.Pix {
		c.img.Pix[i] = 0xff
	}
	const lines = 4
	for i := range lines + 1 {
		v := c.low + (c.high-c.low)*float64(i)/lines
		y := c.y(v)
		for x := marginLeft; x < chartWidth-marginOther; x++ {
			c.img.SetRGBA(x, y, grid)
		}
		label := short(v)
		c.text(marginLeft-6-textWidth(label), y-4, label)
		at := c.from + (c.to-c.from)*float64(i)/lines
		x := c.x(at)
		for y := marginOther; y < chartHeight-marginBottom; y++ {
			c.img.SetRGBA(x, y, grid)
		}
		label = c.clock(at)
		c.text(clamp(x-textWidth(label)/2, marginLeft, chartWidth-marginOther-textWidth(label)), chartHeight-marginBottom+5, label)
	}
}

func (c *chart) clock(at float64) string {
	if c.to-c.from > 2*24*3600 {
		return moment(at).Format("01-02")
	}
	return moment(at).Format("15:04")
}

func (c *chart) x(at float64) int {
	return marginLeft + int(math.Round((at-c.from)/(c.to-c.from)*float64(chartWidth-marginLeft-marginOther-1)))
}

func (c *chart) y(v float64) int {
	return chartHeight - marginBottom - 1 - int(math.Round((v-c.low)/(c.high-c.low)*float64(chartHeight-marginBottom-marginOther-1)))
}

// curve joins the points of a series by lines, two pixels wide.
func (c *chart) curve(points []point, col color.RGBA) {
	typical := 0.0 // between two points; a larger distance is a gap
	for i := 1; i < len(points); i++ {
		if d := points[i].at - points[i-1].at; typical == 0 || d < typical {
			typical = d
		}
	}
	px, py, drawn, last := 0, 0, false, 0.0
	for _, p := range points {
		v, err := p.float()
		if err != nil || math.IsNaN(v) || math.Abs(v) > 1e300 {
			drawn = false
			continue
		}
		x, y := c.x(p.at), c.y(v)
		if !drawn || p.at-last > 1.5*typical {
			px, py = x, y
			for i := range 16 { // a dot, for it may stay alone
				c.img.SetRGBA(x-1+i%4, y-1+i/4, col)
			}
		}
		c.join(px, py, x, y, col)
		px, py, drawn, last = x, y, true, p.at
	}
}

func (c *chart) join(x0, y0, x1, y1 int, col color.RGBA) {
	n := max(abs(x1-x0), abs(y1-y0), 1)
	for i := range n + 1 {
		x, y := x0+(x1-x0)*i/n, y0+(y1-y0)*i/n
		c.img.SetRGBA(x, y, col)
		c.img.SetRGBA(x, y+1, col)
	}
}

func abs(n int) int { return max(n, -n) }

// short returns a number of at most some seven signs.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		sign string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if math.Abs(v) >= u.size && math.Abs(v) < 1e15 {
			return digits(v/u.size) + u.sign
		}
	}
	return digits(v)
}

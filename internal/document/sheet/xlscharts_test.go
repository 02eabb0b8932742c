package sheet

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// TestChartSheet reads a sheet that is a chart and keeps its values, which LibreOffice
// does not write: the records are those that Excel has for it.
func TestChartSheet(t *testing.T) {
	var in []byte
	rec := func(id int, parts ...any) {
		var body bytes.Buffer
		for _, p := range parts {
			_ = binary.Write(&body, binary.LittleEndian, p)
		}
		in = binary.LittleEndian.AppendUint16(in, uint16(id))
		in = binary.LittleEndian.AppendUint16(in, uint16(body.Len()))
		in = append(in, body.Bytes()...)
	}
	type u = uint16
	rec(recBOF, u(0x600), u(bofChart))
	for i, name := range []string{"North", "South"} {
		rec(recSeries, [6]u{})
		rec(recSource, byte(0), byte(1), u(0), u(0), u(0))
		rec(recSeriesText, u(0), byte(len(name)), byte(0), []byte(name))
		rec(recSource, byte(1), byte(2), u(0), u(0), u(3), []byte{0x3b, 0, byte(i)})
	}
	rec(recText, [16]u{})
	rec(recSeriesText, u(0), byte(4), byte(0), []byte("Rain"))
	rec(recObjectLink, u(1), u(0), u(0))
	for _, which := range []u{2, 1} {
		rec(recCacheOf, which)
		for point := range u(2) {
			for column := range u(2) {
				if which == 2 {
					rec(recLabel, point, column, u(0), u(2), byte(0), []byte{'Q', '1' + byte(point)})
				} else {
					rec(recNumber, point, column, u(0), math.Float64bits(float64(10*point+column)+0.5))
				}
			}
		}
	}
	rec(recNumber, u(65535), u(9), u(0), math.Float64bits(1))
	rec(recEOF)
	var text strings.Builder
	out := draft.NewOut(t.Context(), &text, draft.Options{}, nil)
	if err := (&biff{out: out, in: in, formats: map[int]kind{}}).sheet(0); err != nil {
		t.Fatal(err)
	}
	out.Done()
	want := "Chart: Rain\n\n| Category | North | South |\n| --- | --- | --- |\n| Q1 | 0.5 | 1.5 |\n| Q2 | 10.5 | 11.5 |"
	if got := strings.TrimSpace(text.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

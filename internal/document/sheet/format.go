package sheet

import (
	"math"
	"strconv"
	"strings"
	"time"
)

func number(n int) string { return strconv.Itoa(n) }

// A kind is how a number is shown.
type kind uint8

const (
	plain kind = iota
	date
	clock
	dateTime
	elapsed
	percent
)

// builtIn returns how the formats look that every workbook has.
func builtIn(id int) kind {
	switch {
	case id == 9 || id == 10:
		return percent
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id == 57, id == 58:
		return date
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id == 45, id == 47, id == 55, id == 56:
		return clock
	case id == 22:
		return dateTime
	case id == 46:
		return elapsed
	}
	return plain
}

// formatKind returns how a format shows numbers, by its code.
func formatKind(code string) kind {
	code, _, _ = strings.Cut(code, ";")
	var bare strings.Builder
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				end = len(code) - i - 1
			}
			i += end + 1
		case '\\', '_', '*':
			i++
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return plain
			}
			switch strings.ToLower(code[i+1 : i+end]) {
			case "h", "hh", "m", "mm", "s", "ss":
				return elapsed
			}
			i += end
		default:
			bare.WriteByte(c)
		}
	}
	s := strings.ToLower(bare.String())
	if strings.Contains(s, "general") {
		return plain
	}
	if strings.Contains(s, "%") {
		return percent
	}
	days, hours := strings.ContainsAny(s, "yd"), strings.ContainsAny(s, "hs")
	switch {
	case days && hours:
		return dateTime
	case days, !hours && strings.Contains(s, "m") && !strings.ContainsAny(s, "0#?"):
		return date
	case hours:
		return clock
	}
	return plain
}

// show returns a number as its cell shows it.
func show(v float64, k kind, since1904 bool) string {
	switch k {
	case date, dateTime, clock:
		if v < 0 || v > 2_958_466 {
			break
		}
		if k == clock && v < 1 {
			return day(v, since1904).Format("15:04:05")
		}
		if k == date && v == math.Trunc(v) {
			return day(v, since1904).Format("2006-01-02")
		}
		return strings.TrimSuffix(day(v, since1904).Format("2006-01-02 15:04:05"), " 00:00:00")
	case elapsed:
		s := int64(math.Round(v * 86_400))
		if s >= 0 && s < 1<<40 {
			return number(int(s/3600)) + ":" + two(s/60%60) + ":" + two(s%60)
		}
	case percent:
		return plainNumber(v*100) + "%"
	case plain:
	}
	return plainNumber(v)
}

func two(n int64) string {
	if n < 10 {
		return "0" + number(int(n))
	}
	return number(int(n))
}

// plainNumber returns a number with the digits that a spreadsheet keeps.
func plainNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	s := strconv.FormatFloat(v, 'g', 15, 64)
	if r, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(r) < 1e15 && math.Abs(r) >= 1e-6 {
		return strconv.FormatFloat(r, 'f', -1, 64)
	}
	return s
}

// day returns the time that a number of days stands for. Workbooks count a day in
// 1900 that there was not.
func day(v float64, since1904 bool) time.Time {
	from := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case since1904:
		from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case v < 60:
		from = from.AddDate(0, 0, 1)
	}
	whole, part := math.Modf(v)
	return from.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*86_400)) * time.Second)
}

package pdf

import (
	"cmp"
	"slices"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
)

// Bounds on what is looked at for lines that are drawn.
const (
	maxObjects = 3000   // of a page
	allObjects = 60_000 // of a file
	maxDrawn   = 30_000 // of a page that is shown to an OCR engine
	maxWidth   = 2.5    // points of a line between cells
	minHeight  = 6
)

// A rule is a line that is drawn from above to below, as between the cells of a table.
type rule struct{ at, top, bottom float64 }

// rules are those of a page, from left to right.
type rules []rule

// rules returns the lines of a page. What cannot be told is left out: texts say where
// most columns are.
func (s *server) rules(at requests.Page, height float64) rules {
	counted, err := s.pdfium.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: at})
	s.drawn = 0
	if err == nil {
		s.drawn = counted.Count
	}
	if err != nil || counted.Count > maxObjects || s.objects+counted.Count > allObjects {
		return nil
	}
	s.objects += counted.Count
	var found rules
	for i := range counted.Count {
		o, err := s.pdfium.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: at, Index: i})
		if err != nil {
			continue
		}
		kind, err := s.pdfium.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: o.PageObject})
		if err != nil || kind.Type != enums.FPDF_PAGEOBJ_PATH {
			continue
		}
		b, err := s.pdfium.FPDFPageObj_GetBounds(&requests.FPDFPageObj_GetBounds{PageObject: o.PageObject})
		if err == nil && b.Right-b.Left <= maxWidth && b.Top-b.Bottom >= minHeight {
			found = append(found, rule{float64(b.Left+b.Right) / 2, height - float64(b.Top), height - float64(b.Bottom)})
		}
	}
	slices.SortFunc(found, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	return found
}

// between reports whether a line stands between two texts beside each other. Text that
// runs over a line has no more room there than between its words.
func (r rules) between(left, right run) bool {
	if right.left-left.right < 0.35*left.size {
		return false
	}
	from, to := min(left.right, right.left)-1, max(left.right, right.left)+1
	i, _ := slices.BinarySearchFunc(r, from, func(a rule, x float64) int { return cmp.Compare(a.at, x) })
	for ; i < len(r) && r[i].at <= to; i++ {
		middle := (right.top + right.bottom) / 2
		if r[i].at > left.left && r[i].at < right.right && r[i].top <= middle && middle <= r[i].bottom {
			return true
		}
	}
	return false
}

// beside reports whether any line stands at the height of a text.
func (r rules) beside(top, bottom float64) bool {
	middle := (top + bottom) / 2
	return slices.ContainsFunc(r, func(a rule) bool { return a.top <= middle && middle <= a.bottom })
}

package sheet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// Records of BIFF12, of which the parts of a binary workbook (XLSB) are made. The
// parts are those of an XLSX, with records in the place of elements.
const (
	binRow          = 0
	binBlank        = 1 // the first of cells
	binRK           = 2
	binError        = 3
	binBool         = 4
	binReal         = 5
	binText         = 6
	binShared       = 7
	binFormulaText  = 8
	binFormulaReal  = 9
	binFormulaBool  = 10
	binFormulaError = 11
	binShortBlank   = 12 // the first of cells that stand right of the one before
	binShortShared  = 18
	binSharedItem   = 19
	binFormat       = 44
	binXF           = 47
	binRichText     = 62
	binEndData      = 146
	binBook         = 153
	binSheet        = 156
	binMerged       = 176
	binBeginXFs     = 617
	binEndXFs       = 618
	binComment      = 635
	binCommentText  = 637
)

// maxRecord is how much of one record is kept: more than the longest text of a cell.
const maxRecord = 256 << 10

// records gives f what is in a part. One that is missing is empty.
func (w *workbook) records(name string, f func(id int, body []byte) error) error {
	if name == "" || !w.zip.Has(name) {
		return nil
	}
	part, err := w.zip.Open(name)
	if err != nil {
		return err
	}
	defer part.Close()
	r := bufio.NewReaderSize(part, 64<<10)
	var body []byte
	for {
		if err := w.out.Err(); err != nil {
			return err
		}
		id, err := packed(r, 2)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var size int
		if err == nil {
			size, err = packed(r, 4)
		}
		if err == nil {
			body = append(body[:0], make([]byte, min(size, maxRecord))...)
			_, err = io.ReadFull(r, body)
		}
		if err == nil && size > maxRecord {
			_, err = r.Discard(size - maxRecord)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return draft.Damage(nil, "the part %q of the workbook ends in the middle: the file is cut off or damaged", path.Base(name))
		}
		if err != nil {
			return draft.Damage(err, "the part %q of the workbook cannot be read", path.Base(name))
		}
		if err := f(id, body); err != nil {
			return err
		}
	}
}

// packed reads a number of at most so many bytes, each of which has seven bits of it.
// io.EOF is that of a part with nothing more.
func packed(r *bufio.Reader, most int) (int, error) {
	n := 0
	for i := range most {
		c, err := r.ReadByte()
		if err != nil {
			if i > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		n |= int(c&0x7f) << (7 * i)
		if c < 0x80 {
			break
		}
	}
	return n, nil
}

func u32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func real64(b []byte) float64 {
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// wideText reads a text with its length, and returns what stands behind it.
func wideText(b []byte) (text string, rest []byte) {
	if len(b) < 4 {
		return "", nil
	}
	n := int64(u32(b))
	if b = b[4:]; n == math.MaxUint32 { // there is none
		return "", b
	}
	n = min(n, int64(len(b)/2))
	return ole.Wide(b[:2*n]), b[2*n:]
}

// richText reads a text that may have looks, which stand behind it.
func richText(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	text, _ := wideText(b[1:])
	return text
}

// openBinary reads what holds for all sheets of an XLSB.
func (w *workbook) openBinary(main string, targets, kinds map[string]string) error {
	w.binary = true
	if err := w.records(main, func(id int, body []byte) error {
		switch {
		case id == binBook:
			w.since1904 = u32(body)&1 != 0
		case id == binSheet && len(body) > 8 && len(w.sheets) < maxSheets:
			rel, rest := wideText(body[8:])
			name, _ := wideText(rest)
			w.sheets = append(w.sheets, sheet{name, targets[rel], u32(body) != 0})
		}
		return nil
	}); err != nil {
		return err
	}
	if err := w.binaryStyles(kinds["styles"]); err != nil {
		return err
	}
	return w.records(kinds["sharedStrings"], func(id int, body []byte) error {
		if id == binSharedItem {
			return w.share([]byte(richText(body)))
		}
		return nil
	})
}

func (w *workbook) binaryStyles(name string) error {
	own := map[int]kind{}
	inXFs := false
	return w.records(name, func(id int, body []byte) error {
		switch {
		case id == binFormat && len(body) > 2 && len(own) < 10_000:
			code, _ := wideText(body[2:])
			own[int(binary.LittleEndian.Uint16(body))] = formatKind(code)
		case id == binBeginXFs, id == binEndXFs:
			inXFs = id == binBeginXFs
		case id == binXF && inXFs && len(body) >= 4 && len(w.kinds) < 1<<16:
			n := int(binary.LittleEndian.Uint16(body[2:]))
			k, ok := own[n]
			if !ok {
				k = builtIn(n)
			}
			w.kinds = append(w.kinds, k)
		}
		return nil
	})
}

// record takes the next record of a sheet.
func (c *cells) record(id int, body []byte) error {
	switch {
	case id == binRow, id == binEndData:
		c.endRow()
		c.column = -1
	case id == binMerged && len(body) >= 16 && len(c.merged) < maxMerged:
		c.merged = append(c.merged, reference(int(u32(body)), int(u32(body[8:])))+":"+reference(int(u32(body[4:])), int(u32(body[12:]))))
	case id >= binShortBlank && id <= binShortShared && len(body) >= 4:
		c.column++
		c.value12(id-binShortBlank+binBlank, body)
	case (id >= binBlank && id <= binFormulaError || id == binRichText) && len(body) >= 8:
		c.column = int(min(u32(body), maxColumn))
		c.value12(id, body[4:])
	}
	return nil
}

// value12 puts the value of a cell, which stands behind its style.
func (c *cells) value12(id int, body []byte) {
	c.style = int(u32(body) & 0xff_ffff)
	value := body[4:]
	switch id {
	case binRK:
		c.put(c.shown(rk(u32(value))))
	case binReal, binFormulaReal:
		c.put(c.shown(real64(value)))
	case binError, binFormulaError, binBool, binFormulaBool:
		if len(value) > 0 {
			c.put(boolOrError(value[0], id == binError || id == binFormulaError))
		}
	case binText, binFormulaText:
		text, _ := wideText(value)
		c.put(text)
	case binRichText:
		c.put(richText(value))
	case binShared:
		if i := u32(value); len(value) >= 4 && int64(i) < int64(len(c.w.shared)) {
			c.put(c.w.shared[i])
		}
	}
}

// binaryComments writes what is noted at the cells of a sheet.
func (w *workbook) binaryComments(part string) error {
	ref := ""
	return w.records(part, func(id int, body []byte) error {
		switch {
		case id == binComment && len(body) >= 20:
			ref = reference(int(u32(body[4:])), int(u32(body[12:])))
		case id == binCommentText:
			w.comment(ref, richText(body))
		}
		return nil
	})
}

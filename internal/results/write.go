package results

import (
	"bytes"
	"os"
	"strings"
	"unicode/utf8"
)

// markEvery is how many characters lie between two marks of the index.
const markEvery = 64 << 10

// maxFirst bounds the first lines that are remembered, in bytes.
const maxFirst = 400

// A writer takes one body: into memory, and into a file once it is not small any
// more. It counts characters as it goes. A byte that is no UTF-8 counts as one.
type writer struct {
	store  *Store
	caller string
	sniff  bool

	mem      []byte
	file     *os.File
	size     int
	reserved int // of size, in the store's books
	inMemory int // of reserved

	chars int
	marks []int64
	tail  []byte // an incomplete character at the end of the last piece
	first []byte
	json  checker
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.room(len(p)); err != nil {
		return 0, err
	}
	if w.file != nil {
		if n, err := w.file.Write(p); err != nil {
			return n, err
		}
	} else {
		w.mem = append(w.mem, p...)
	}
	if n := maxFirst - len(w.first); n > 0 {
		w.first = append(w.first, p[:min(n, len(p))]...)
	}
	w.count(p)
	w.size += len(p)
	if w.sniff {
		w.json.feed(p)
	}
	return len(p), nil
}

// room reserves place for n more bytes, and turns to a file where memory has none.
func (w *writer) room(n int) error {
	stay := w.file == nil && (w.store.o.Dir == "" || w.size+n <= smallBody && w.store.memoryFor(n))
	if err := w.store.reserve(w.caller, w.reserved, n, stay); err != nil {
		return err
	}
	w.reserved += n
	if stay {
		w.inMemory += n
		return nil
	}
	if w.file != nil {
		return nil
	}
	f, err := w.store.dir.create()
	if err != nil {
		return err
	}
	w.file = f
	_, err = f.Write(w.mem)
	w.store.release(0, w.inMemory)
	w.mem, w.inMemory = nil, 0
	return err
}

// count counts the characters of the next piece, and marks some of their places.
func (w *writer) count(p []byte) {
	at := int64(w.size - len(w.tail))
	if len(w.tail) > 0 {
		// The character that the last piece ended in: at most three bytes more.
		joined := append(w.tail, p[:min(len(p), utf8.UTFMax)]...)
		if !utf8.FullRune(joined) {
			w.tail = joined
			return
		}
		used := 0
		for used < len(w.tail) {
			_, n := utf8.DecodeRune(joined[used:])
			w.mark(at + int64(used))
			used += n
		}
		p, at = p[used-len(w.tail):], at+int64(used)
	}
	end := wholeRunes(p, len(p))
	w.tail = append(w.tail[:0], p[end:]...)
	for p = p[:end]; len(p) > 0; {
		n := 0
		if w.chars%markEvery != 0 { // up to the next mark at once
			n = wholeRunes(p, min(len(p), markEvery-w.chars%markEvery))
			w.chars += utf8.RuneCount(p[:n])
		}
		if n == 0 {
			_, n = utf8.DecodeRune(p)
			w.mark(at)
		}
		at, p = at+int64(n), p[n:]
	}
}

// wholeRunes returns n, or somewhat less where p[:n] ends within a character.
func wholeRunes(p []byte, n int) int {
	for i := n - 1; i >= max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:n]) {
				return n
			}
			return i
		}
	}
	return n
}

// mark counts the character that starts at the offset at.
func (w *writer) mark(at int64) {
	if w.chars%markEvery == 0 {
		w.marks = append(w.marks, at)
	}
	w.chars++
}

// finish returns the item.
func (w *writer) finish() (*item, error) {
	at := int64(w.size - len(w.tail))
	for len(w.tail) > 0 {
		_, n := utf8.DecodeRune(w.tail)
		w.mark(at)
		at += int64(n)
		w.tail = w.tail[n:]
	}
	it := &item{body: w.mem, chars: w.chars, marks: w.marks, first: firstLines(w.first)}
	if w.file != nil {
		it.path, it.body = w.file.Name(), nil
		if err := w.file.Close(); err != nil {
			return nil, err
		}
	}
	it.handle.Size, it.handle.Kind = w.size, KindText
	if w.sniff && w.json.whole() {
		it.handle.Kind = KindJSON
	}
	return it, nil
}

// abandon gives back what a body that will not be kept has taken.
func (w *writer) abandon() {
	w.store.release(w.reserved, w.inMemory)
	if w.file == nil {
		return
	}
	_ = w.file.Close() // it may be closed already
	if err := os.Remove(w.file.Name()); err != nil {
		w.store.o.Logger.Warn("a part of a result stays on the disk", "error", err)
	}
}

// firstLines returns up to three lines of the beginning of a body.
func firstLines(p []byte) string {
	lines := bytes.SplitN(p, []byte("\n"), 4)
	text := bytes.Join(lines[:min(len(lines), 3)], []byte("\n"))
	return strings.ToValidUTF8(string(text), "")
}

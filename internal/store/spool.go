package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What a process leaves for the writer is a file of rows as JSON, one a line. It
// appears whole, and is removed once its rows are in the database.
const (
	spoolSuffix = ".jsonl"
	maxSpool    = 20_000 // files: with more, nobody takes them
	maxLine     = 8 << 20
)

// leave leaves rows for the writer of the database.
func (w *writer) leave(rows []encoded) error {
	if w.place.spool == "" {
		return errors.New("there is no folder to leave rows in")
	}
	if err := os.MkdirAll(w.place.spool, 0o700); err != nil {
		return err
	}
	if left, err := os.ReadDir(w.place.spool); err == nil && len(left) > maxSpool {
		return fmt.Errorf("%s has %d files that nobody takes over", w.place.spool, len(left))
	}
	var b []byte
	for _, r := range rows {
		b = append(append(b, r.body...), '\n')
	}
	name := strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid()) + spoolSuffix
	return writeFile(filepath.Join(w.place.spool, name), b, true)
}

// left returns the files that others left, the oldest first.
func (p place) left() []string {
	if p.spool == "" {
		return nil
	}
	entries, err := os.ReadDir(p.spool)
	if err != nil {
		return nil // most often there is none
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), spoolSuffix) && e.Type().IsRegular() {
			files = append(files, filepath.Join(p.spool, e.Name()))
		}
	}
	return files
}

// takeOver moves what others left into the database.
func (w *writer) takeOver(ctx context.Context) error {
	var rows []encoded
	var taken []string
	files := w.place.left()
	for i, path := range files {
		some, broken, err := readSpool(path)
		if err != nil {
			w.log.Warn("a file of calls cannot be taken over", "file", path, "error", err)
			continue
		}
		if broken > 0 {
			w.log.Warn("lines of a file of calls are no rows, and are left out", "file", path, "lines", broken)
		}
		rows, taken = append(rows, some...), append(taken, path)
		if len(rows) < batchRows && i < len(files)-1 {
			continue
		}
		if err := w.take(ctx, rows, taken); err != nil {
			return err
		}
		rows, taken = rows[:0], taken[:0]
	}
	if len(taken) > 0 {
		return w.take(ctx, rows, taken)
	}
	return nil
}

// take writes the rows of some files and removes the files. A crash between the
// two must not write a call twice.
func (w *writer) take(ctx context.Context, rows []encoded, files []string) error {
	err := w.change(ctx, func(tx *sql.Tx, h head) (head, error) {
		fresh := make([]encoded, 0, len(rows))
		for _, r := range rows {
			if r.typ == TypeGap {
				fresh = append(fresh, r)
				continue
			}
			var n int
			err := tx.QueryRowContext(ctx, w.base.sql("SELECT COUNT(*) FROM record WHERE id = ? AND type = ? AND (type = 'call' OR server = ? AND tool = ?)"), r.id, r.typ, r.server, r.tool).Scan(&n)
			if err != nil {
				return h, err
			}
			if n == 0 {
				fresh = append(fresh, r)
			}
		}
		return w.base.appendRows(ctx, tx, h, fresh)
	})
	if err != nil {
		return err
	}
	for _, path := range files {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// readSpool reads the calls of a file, and counts the lines that hold none.
func readSpool(path string) (rows []encoded, broken int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			var r Row
			if json.Unmarshal(line, &r) != nil || !r.mayBeLeft() {
				broken++
			} else {
				rows = append(rows, columns(&r, strings.ToValidUTF8(string(line), "\uFFFD")))
			}
		}
		if errors.Is(err, io.EOF) {
			return rows, broken, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// mayBeLeft reports whether a row is one that a process leaves.
func (r *Row) mayBeLeft() bool {
	switch r.Type {
	case TypeCall, TypeBegun:
		return r.Call != nil && r.ID != ""
	case TypeGap:
		return r.Gap != nil
	}
	return false
}

// readLine reads a line without its end. One that is too long is an error.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, errors.New("a line is longer than any row")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return []byte(strings.TrimSuffix(string(line), "\n")), err
		}
	}
}

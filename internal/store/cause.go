package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/tenon-mcp/tenon/internal/room"
	"github.com/tenon-mcp/tenon/tool"
)

// Codes of SQLite, of which the last byte is the kind.
const (
	ioError     = 10
	corrupt     = 11 // a part of the file is missing, or was overwritten
	noRoom      = 13
	notDatabase = 26 // it did not write the file, or its beginning was overwritten
)

// A foreignError is the error for a file that is no record, or none any more.
type foreignError struct {
	path    string
	damaged bool
}

// Error returns the text.
func (e *foreignError) Error() string {
	if e.damaged {
		return e.path + " is damaged: a part of it is missing or was overwritten"
	}
	return e.path + " is no record of Tenon: it is no database, or one that was overwritten"
}

// remedy says what to do about it.
func (e *foreignError) remedy() string {
	if e.damaged {
		return "move " + e.path + " away, and a new record is begun; what is left in it the program sqlite3 can get out (.recover)"
	}
	return "move " + e.path + " away, and a new record is begun; or name another file as store.url"
}

// A fullError is the error for a file that has no room to be opened or written.
type fullError struct {
	path string
	err  error
}

// Error returns the text.
func (e *fullError) Error() string { return "there is no room left on the disk of " + e.path }

// Unwrap returns what the system or the database said.
func (e *fullError) Unwrap() error { return e.err }

// remedy says what to do about it.
func (e *fullError) remedy() string {
	return "make room in " + filepath.Dir(e.path) + ", or name a file on another disk as store.url"
}

// cause returns an error of the database's own as what is behind it, where that is known.
func (b *base) cause(err error) error {
	if _, ok := errors.AsType[*fullError](err); ok || b.postgres {
		return err
	}
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff
	}
	switch {
	case code == notDatabase || code == corrupt:
		return &foreignError{b.url, code == corrupt}
	case code == noRoom || room.None(err) || code == ioError && !room.Left(filepath.Dir(b.url), besideBytes): // of the last it does not say which it was
		return &fullError{b.url, err}
	}
	return err
}

// besideBytes is what SQLite needs beside a database to open it.
const besideBytes = 64 << 10

// unreadable is the error for a question that the database did not answer.
func (s *core) unreadable(ctx context.Context, err error) error {
	return trouble(ctx, s, "read", err)
}

// trouble is the error for what cannot be done with the record now.
func trouble(ctx context.Context, s *core, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*troubleError](err); ok { // it was told already
		return err
	}
	err = s.base.cause(err)
	remedy := s.remedy(err)
	return &troubleError{"the record of calls cannot be " + what + ": " + s.hide(err), remedy, err}
}

// A troubleError is the error for a database that cannot be used.
type troubleError struct {
	what, remedy string
	err          error
}

// Error returns what is wrong, and what to do about it.
func (e *troubleError) Error() string { return sentence(e.what) + " " + sentence(e.remedy) }

// Advice returns the two as they are told to a person: apart.
func (e *troubleError) Advice() (what, remedy string) { return e.what, e.remedy }

// Unwrap gives the kind, and the cause.
func (e *troubleError) Unwrap() []error {
	return []error{&tool.Error{Kind: tool.Unavailable, Text: e.Error()}, e.err}
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

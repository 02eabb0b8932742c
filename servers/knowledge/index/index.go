// Package index keeps documents and finds their sections by the words that they have
// in common with a question, ranked by BM25.
//
//	x, err := index.Open(ctx, "/home/u/.cache/kb.db")
//	err = x.Put(ctx, []index.Document{{Path: "runbooks/disk.md", Sections: sections}})
//	hits, err := x.Search(ctx, index.Query{Words: "disk full", Limit: 3})
//
// It is a file of SQLite. The sections of one Put are a segment: for each term the
// sections that have it, as a list of small numbers. Many segments of about one size
// are joined to one, so that their number stays small, as in a log-structured merge
// tree (O'Neil et al., 1996). A section that is gone is skipped until its segment is
// joined. What is kept in memory is the length of each section, four bytes and the
// number of its document.
//
// An Index is safe for concurrent use, and the file for several processes.
//
// BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// version is that of the tables. A file of another one is made anew: it holds
// nothing that the documents do not.
const version = 1

// A Section is a piece of a document that can be found.
type Section struct {
	Heading string // the headings that it stands under
	Text    string
}

// A Document is what is kept of a file.
type Document struct {
	Path     string // its name here, unique, with slashes
	Title    string
	Kind     string // of the file: markdown, pdf, …
	Size     int64  // of the file in bytes
	Modified time.Time
	Hash     string // of the content
	Problem  string // why it has no text
	Sections []Section
}

// An Entry is a document without its text.
type Entry struct {
	ID int64
	Document
	Count int // of sections
	Chars int
}

// An Index is one file.
type Index struct {
	write, read *sql.DB

	state atomic.Pointer[state]
}

// Open opens the file, or makes it. With "" it is in memory alone.
func Open(ctx context.Context, path string) (*Index, error) {
	x, err := open(ctx, path)
	if damaged := new(damage); errors.As(err, &damaged) && path != "" {
		for _, end := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("make a damaged index anew: %w", err)
			}
		}
		return open(ctx, path)
	}
	return x, err
}

// damage is the error of a file that is to be made anew.
type damage struct{ error }

func open(ctx context.Context, path string) (*Index, error) {
	dsn := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	if path == "" {
		dsn = fmt.Sprintf("file:index%d?mode=memory&cache=shared", time.Now().UnixNano())
	} else {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // readable by its owner alone
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		dsn += "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	}
	dsn += "&_pragma=busy_timeout(10000)&_pragma=cache_size(-32000)"
	x := &Index{}
	var err error
	if x.write, err = sql.Open("sqlite", dsn+"&_txlock=immediate"); err != nil {
		return nil, err
	}
	if x.read, err = sql.Open("sqlite", dsn); err != nil {
		return nil, errors.Join(err, x.write.Close())
	}
	x.write.SetMaxOpenConns(1)
	x.read.SetMaxOpenConns(2)
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

const tables = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('version', %d), ('generation', 0);
CREATE TABLE IF NOT EXISTS documents (
	id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL, kind TEXT NOT NULL,
	size INTEGER NOT NULL, modified INTEGER NOT NULL, hash TEXT NOT NULL, problem TEXT NOT NULL,
	sections INTEGER NOT NULL, chars INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sections (
	id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, length INTEGER NOT NULL,
	heading TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS sections_of_documents ON sections (document, id, length);
CREATE TABLE IF NOT EXISTS terms (
	term TEXT NOT NULL, segment INTEGER NOT NULL, postings BLOB NOT NULL,
	PRIMARY KEY (term, segment)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (id INTEGER PRIMARY KEY AUTOINCREMENT, sections INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (path TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (
	section INTEGER NOT NULL, passage INTEGER NOT NULL, vector BLOB NOT NULL,
	PRIMARY KEY (section, passage)) WITHOUT ROWID;
`

// prepare makes the tables and reads the state.
func (x *Index) prepare(ctx context.Context) error {
	if _, err := x.write.ExecContext(ctx, fmt.Sprintf(tables, version)); err != nil {
		return &damage{err}
	}
	var found int
	if err := x.write.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'version'`).Scan(&found); err != nil {
		return &damage{err}
	}
	if found != version {
		return &damage{fmt.Errorf("the index has version %d", found)}
	}
	return x.view(ctx, func(tx *sql.Tx, _ *state) error { return nil })
}

// Close closes the file.
func (x *Index) Close() error { return errors.Join(x.read.Close(), x.write.Close()) }

package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/tenon-mcp/tenon/internal/flock"
)

//go:embed migrations
var migrations embed.FS

// schema is the version that the code needs: the number of the last migration.
const schema = 2

// A base is the database. It is opened when it is first needed, and again after
// that failed.
type base struct {
	place

	mu     sync.Mutex
	opened *sql.DB
	file   os.FileInfo // of SQLite, as it was opened
	closed bool
}

// open returns the database, with the schema that the code needs. It may take as
// long as the database does.
func (b *base) open(ctx context.Context) (*sql.DB, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	if b.opened != nil {
		return b.opened, nil
	}
	db, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.migrate(ctx, db); err != nil {
		return nil, errors.Join(b.cause(err), db.Close())
	}
	if !b.postgres {
		if b.file, err = os.Stat(b.url); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	b.opened = db
	return db, nil
}

// vanished reports whether the file that was opened is no longer where it was.
func (b *base) vanished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil || b.postgres {
		return false
	}
	now, err := os.Stat(b.url)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(b.file, now)
}

// reopen lets go of the database: it is opened again when it is next needed.
func (b *base) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		_ = b.opened.Close() // its file is gone
		b.opened = nil
	}
}

// isOpen reports whether the database was opened.
func (b *base) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened != nil
}

func (b *base) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.opened == nil {
		return nil
	}
	return b.opened.Close()
}

// connect opens the database without looking at what is in it.
func (b *base) connect(ctx context.Context) (*sql.DB, error) {
	if b.postgres {
		db, err := sql.Open("pgx", b.url)
		if err != nil {
			return nil, errors.New("the URL is none that PostgreSQL takes") // what the driver says may hold the password
		}
		db.SetMaxOpenConns(4)
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := db.PingContext(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return db, nil
	}
	if err := os.MkdirAll(filepath.Dir(b.url), 0o700); err != nil {
		return nil, err
	}
	// The file is made here, for SQLite would let others read it. Its companions
	// have the permissions of the file.
	f, err := os.OpenFile(b.url, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// Every commit reaches the disk: with a batch each quarter of a second that is
	// cheap, and a power failure loses no more than a crash does.
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(b.url), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetConnMaxIdleTime(0)
	return db, nil
}

// migrate brings the schema up to date. Usually it is, and that is one query.
func (b *base) migrate(ctx context.Context, db *sql.DB) error {
	switch v, err := version(ctx, db); {
	case err == nil && v == schema:
		return nil
	case err == nil && v > schema:
		return fmt.Errorf("the record was written by a newer version of this program (schema %d, known here: %d)", v, schema)
	}
	dialect, folder := goose.DialectSQLite3, "migrations/sqlite"
	var options []goose.ProviderOption
	if b.postgres {
		dialect, folder = goose.DialectPostgres, "migrations/postgres"
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	} else {
		unlock, err := waitLock(ctx, b.url+".migrating")
		if err != nil {
			return err
		}
		defer unlock()
	}
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// version returns the version of the schema, or an error where there is none yet.
func version(ctx context.Context, db *sql.DB) (v int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&v)
	return v, err
}

// waitLock locks a file, waiting some seconds for whoever has it, and returns what
// lets go of it and removes it.
func waitLock(ctx context.Context, path string) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !flock.Try(f) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another process has held %s for long", path), f.Close())
		}
	}
	return func() { _ = f.Close() }, nil
}

// sql returns a query for the database's dialect: its parameters are written ?.
func (b *base) sql(query string) string {
	if !b.postgres {
		return query
	}
	var out strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			out.WriteRune(r)
			continue
		}
		n++
		out.WriteByte('$')
		out.WriteString(strconv.Itoa(n))
	}
	return out.String()
}

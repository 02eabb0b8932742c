// Package sqlite converts databases of SQLite to their schema and the first rows of
// each table. The file is read from a private copy that nobody writes, and nothing
// in it is trusted: neither views nor triggers are run.
package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxSize   = 2 << 30
	maxTables = 200
	heads     = 10 // rows of each table
	maxRows   = 100_000
	maxCell   = 500
)

// Convert converts a database.
func Convert(ctx context.Context, src draft.Source, out *draft.Out) (err error) {
	if src.Size > maxSize {
		return draft.TooLarge("a database may have %d GiB", maxSize>>30)
	}
	dir, err := os.MkdirTemp("", "tenon-sqlite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "copy.db")
	if err := copyTo(path, src); err != nil {
		return err
	}
	at := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: "mode=ro&immutable=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", at.String())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return convert(ctx, db, out)
}

func copyTo(path string, src draft.Source) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, src.Reader()); err != nil {
		return err
	}
	return f.Close()
}

// An object is a table, a view, an index or a trigger.
type object struct{ kind, name, statement string }

func convert(ctx context.Context, db *sql.DB, out *draft.Out) error {
	objects, err := schema(ctx, db)
	if err != nil {
		return draft.Damage(err, "the database cannot be read: it is damaged or encrypted")
	}
	want := strings.TrimSpace(out.Options.Sheet)
	var names []string
	for _, o := range objects {
		if o.kind == "table" {
			names = append(names, o.name)
		}
	}
	out.Set("tables", strings.Join(names, ", "))
	found := false
	for i, o := range objects {
		if err := out.Err(); err != nil {
			return err
		}
		if want != "" && !strings.EqualFold(want, o.name) {
			continue
		}
		if i >= maxTables {
			out.Note("only the first %d tables and views are shown: name another one as sheet", maxTables)
			break
		}
		found = true
		out.Heading(2, strings.ToUpper(o.kind[:1])+o.kind[1:]+" "+o.name)
		out.Code("sql", o.statement)
		if o.kind != "table" {
			continue
		}
		limit := heads
		if want != "" {
			limit = maxRows
		}
		if err := rows(ctx, db, o.name, limit, out); err != nil {
			if out.Err() != nil {
				return out.Err()
			}
			out.Note("the rows of %q cannot be read: %v", draft.Clip(o.name, 100), err)
		}
	}
	if want != "" && !found {
		return &draft.Error{Reason: draft.Wrong, Text: fmt.Sprintf("there is no table %.100q: there are %s", want, strings.Join(names[:min(len(names), 50)], ", "))}
	}
	if len(objects) == 0 {
		out.Block("(no tables)")
	}
	return out.Err()
}

func schema(ctx context.Context, db *sql.DB) ([]object, error) {
	r, err := db.QueryContext(ctx, `select type, name, coalesce(sql, '') from sqlite_schema where type in ('table','view') and name not like 'sqlite\_%' escape '\' order by type, rowid limit 2000`)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []object
	for r.Next() {
		var o object
		if err := r.Scan(&o.kind, &o.name, &o.statement); err != nil {
			return nil, err
		}
		o.statement = draft.Clip(o.statement, 20_000)
		all = append(all, o)
	}
	return all, r.Err()
}

// rows writes the first rows of a table.
func rows(ctx context.Context, db *sql.DB, table string, limit int, out *draft.Out) error {
	stored, err := storedColumns(ctx, db, table, out)
	if err != nil {
		return err
	}
	// A name cannot be an argument; quoted, it cannot be anything else either.
	query := strings.Join([]string{`select `, stored, ` from "`, strings.ReplaceAll(table, `"`, `""`), `" limit ?`}, "")
	r, err := db.QueryContext(ctx, query, limit+1)
	if err != nil {
		return err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	out.Table(columns)
	n := 0
	for ; n < limit && r.Next(); n++ {
		if err := r.Scan(into...); err != nil {
			return err
		}
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = cell(v)
		}
		out.Row(cells)
		if err := out.Err(); err != nil {
			return err
		}
	}
	more := r.Next()
	out.EndTable()
	if more {
		next := fmt.Sprintf("Name the table as sheet for its first %d.", maxRows)
		if limit == maxRows {
			next = "The others are not read here: a program that asks the database can."
		}
		out.Block(fmt.Sprintf("(more than %d rows) %s", limit, next))
	}
	return r.Err()
}

// storedColumns returns what is selected of a table: nothing that the database would have
// to compute, for that can be of any size.
func storedColumns(ctx context.Context, db *sql.DB, table string, out *draft.Out) (string, error) {
	var list sql.NullString
	computed := 0
	err := db.QueryRowContext(ctx, `select group_concat('"' || replace(name, '"', '""') || '"', ', ') filter (where hidden in (0, 3)), count(*) filter (where hidden = 2) from pragma_table_xinfo(?)`, table).Scan(&list, &computed)
	if err != nil || computed == 0 || !list.Valid {
		return "*", err
	}
	out.Note("columns that are computed as they are read are left out: %d of the table %q", computed, draft.Clip(table, 100))
	return list.String, nil
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return fmt.Sprintf("(%d bytes)", len(v))
	case string:
		return draft.Clip(v, maxCell)
	}
	return draft.Clip(fmt.Sprint(v), maxCell)
}

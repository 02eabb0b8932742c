package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

// TestNoRoom: a full disk is told as that, with what to do, by a question as by a change.
func TestNoRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.db")
	s, err := New(t.Context(), Options{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := s.db(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // SQLite says then that the disk is full
		t.Fatal(err)
	}
	_, full := db.ExecContext(t.Context(), "CREATE TABLE more AS SELECT randomblob(1000000) AS more")
	for name, err := range map[string]error{
		"of SQLite":     full,
		"of the system": &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC},
	} {
		for what, told := range map[string]error{"read": s.unreadable(t.Context(), err), "written": trouble(t.Context(), s.core, "written", err)} {
			want := "The record of calls cannot be " + what + ": there is no room left on the disk of " + path + ". Make room in "
			if tool.KindOf(told) != tool.Unavailable || !strings.HasPrefix(told.Error(), want) {
				t.Errorf("%s: %s: %v", name, tool.KindOf(told), told)
			}
			if again := s.unreadable(t.Context(), told); again.Error() != told.Error() {
				t.Errorf("%s is told twice: %v", name, again)
			}
		}
	}
	if err := s.base.cause(errors.New("something else")); strings.Contains(err.Error(), "room") {
		t.Error(err)
	}
}

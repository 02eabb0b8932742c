//go:build unix

package testenv

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to see that the server answers
)

// A Postgres is a PostgreSQL server of its own, on loopback, with its data in a
// temporary folder. It ends with the test that started it, and when the process of
// the tests dies.
type Postgres struct {
	URL string // of the database postgres

	dir   string
	input io.Closer
	cmd   *exec.Cmd
	stop  sync.Once
	made  atomic.Int64
}

// StartPostgres starts a server for a test, and stops it at its end. The test is
// skipped, or in CI fails, where the programs are missing.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	p := KeepPostgres(tb)
	tb.Cleanup(p.Stop)
	return p
}

// KeepPostgres starts a server for several tests, which TestMain must stop.
func KeepPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	bin, err := postgresBin()
	if err != nil {
		missing(tb, "PostgreSQL is not installed (make debian): "+err.Error())
	}
	dir, err := passable()
	if err != nil {
		tb.Fatal(err)
	}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 { // the server refuses to run as root
		as = unprivileged(tb, dir)
	}
	data := filepath.Join(dir, "data")
	run(tb, as, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "tenon", "--no-sync", "-E", "UTF8", "--locale=C")
	p := &Postgres{dir: dir}
	port := Port(tb)
	p.URL = fmt.Sprintf("postgres://tenon@127.0.0.1:%d/postgres?sslmode=disable", port)
	p.start(tb, as, filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", "", "-F")
	p.await(tb)
	return p
}

// Database makes a new empty database and returns its URL.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	db, err := sql.Open("pgx", p.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("t%d", p.made.Add(1))
	if _, err := db.ExecContext(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	return strings.Replace(p.URL, "/postgres?", "/"+name+"?", 1)
}

// Stop ends the server at once, as if its machine had died, waits for it and
// removes its data.
func (p *Postgres) Stop() {
	p.stop.Do(func() {
		_ = p.input.Close()
		_ = p.cmd.Wait() // it was ended by a signal
		_ = os.RemoveAll(p.dir)
	})
}

// start starts the server behind a shell that ends it when its input ends, which
// is when this process does.
func (p *Postgres) start(tb testing.TB, as *syscall.SysProcAttr, args ...string) {
	tb.Helper()
	script := `"$@" </dev/null & server=$!; read -r _; kill -QUIT $server; wait $server`
	// It ends with its input: killing the shell would leave the server.
	p.cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), "sh", append([]string{"-c", script, "sh"}, args...)...)
	p.cmd.SysProcAttr = as
	p.cmd.Dir = "/"
	input, err := p.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
}

// await waits until the server answers.
func (p *Postgres) await(tb testing.TB) {
	tb.Helper()
	db, err := sql.Open("pgx", p.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		err := db.PingContext(tb.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("PostgreSQL does not answer: %v", err)
		}
	}
}

// passable makes a folder that another user can reach, which those of a test are not.
func passable() (string, error) { return os.MkdirTemp("", "tenon-postgres-") }

// postgresBin returns the folder of the programs.
func postgresBin() (string, error) {
	path, err := exec.LookPath("initdb")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		return "", err
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// unprivileged returns another user to run as, who may use the folder.
func unprivileged(tb testing.TB, dir string) *syscall.SysProcAttr {
	tb.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		missing(tb, "PostgreSQL does not run as root, and there is no other user: "+err.Error())
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		tb.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func run(tb testing.TB, as *syscall.SysProcAttr, path string, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), path, args...)
	cmd.SysProcAttr, cmd.Dir = as, "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", path, err, out)
	}
}

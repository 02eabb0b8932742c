package local

import (
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

func TestTheRemedyFitsTheCause(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("x: %w", &fs.PathError{Op: "mkdir", Path: "/x", Err: unix.ENOSPC}), "free space"},
		{fmt.Errorf("it said: OSError: %s", unix.ENOSPC.Error()), "free space"},
		{&fs.PathError{Op: "mkdir", Path: "/x", Err: unix.EACCES}, "may not use /x"},
		{&fs.PathError{Op: "open", Path: "/proc/self/uid_map", Err: unix.EACCES}, "Allow user namespaces"},
		{fmt.Errorf("x: %w", unix.EMFILE), "open files"},
		{fmt.Errorf("x: %w", unix.ENOMEM), "memory"},
		{fmt.Errorf("x: %w", unix.EPERM), "Allow user namespaces"},
	} {
		if got := remedy([]error{unix.EPERM, tt.err}); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %s", tt.err, got)
		}
	}
}

// TestAFullDisk is told as such by the back end.
func TestAFullDisk(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=4k,nr_inodes=1,mode=700"); err != nil {
		t.Skip("tmpfs cannot be mounted: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	b := New(Options{Dir: dir, Levels: []string{sandbox.LevelLandlock}})
	t.Cleanup(func() { _ = b.Close() })
	_, err := b.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "free space") || strings.Contains(err.Error(), "namespaces, or start") {
		t.Errorf("on a full disk: %v", err)
	}
}

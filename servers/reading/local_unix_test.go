//go:build unix

package reading_test

import (
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/servers/reading"
)

// TestNoFiles refuses what is no file, and does not wait for anybody to write to it.
func TestNoFiles(t *testing.T) {
	dir := folder(t, map[string]string{"x": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	short := t.TempDir()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", filepath.Join(short, "s"))
	if err == nil {
		defer l.Close()
	}
	cs := connect(t, reading.Options{Roots: []string{dir, short, "/dev"}}, reading.Knobs{})
	for _, name := range []string{"pipe", "null", "zero", "tty"} {
		refused(t, cs, args{"uri": name}, "refused", "a device, a pipe or a socket")
	}
	if err == nil {
		refused(t, cs, args{"uri": "s"}, "refused", "a device, a pipe or a socket")
	}
}

// TestKernelFiles refuses what the kernel makes up, where somebody opened everything.
func TestKernelFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no such files")
	}
	cs := connect(t, reading.Options{Roots: []string{"/"}}, reading.Knobs{})
	for _, name := range []string{"/proc/self/environ", "/proc/self/cmdline", "/proc/1/maps", "/proc/kmsg", "/sys/kernel/uevent_seqnum", "/proc"} {
		if got := call(t, cs, args{"uri": name}); !got.isErr {
			t.Errorf("%s was read:\n%.300s", name, got.text)
		}
	}
}

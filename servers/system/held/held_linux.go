package held

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Files returns the files without a name that processes have open, as far as
// this user may see, each once.
func Files(ctx context.Context) []File {
	const most = 200_000 // open files that are looked at
	var found []File
	type inode struct{ device, number uint64 }
	seen := map[inode]bool{}
	looked := 0
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name(), "fd")
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // of another user
		}
		for _, f := range files {
			if looked++; looked > most || ctx.Err() != nil {
				return found
			}
			path, err := os.Readlink(filepath.Join(dir, f.Name()))
			path, deleted := strings.CutSuffix(path, " (deleted)")
			if err != nil || !deleted || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/memfd:") || strings.HasPrefix(path, "/dev/") {
				continue
			}
			var st syscall.Stat_t
			if syscall.Stat(filepath.Join(dir, f.Name()), &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Nlink > 0 || st.Blocks == 0 {
				continue
			}
			id := inode{st.Dev, st.Ino}
			if seen[id] {
				continue
			}
			seen[id] = true
			name, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "comm")) // empty where it has gone
			found = append(found, File{pid, strings.TrimSpace(string(name)), path, uint64(st.Blocks) * 512, st.Dev})
		}
	}
	return found
}

// Device returns the number of the file system that is mounted at a place.
func Device(mount string) (uint64, bool) {
	var st syscall.Stat_t
	if syscall.Stat(mount, &st) != nil {
		return 0, false
	}
	return st.Dev, true
}

package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds on the answers, in characters.
const (
	scanChars  = 6000
	largeChars = 10000
)

type dirInput struct {
	Root     string `json:"root,omitempty" jsonschema:"absolute path of the directory to start in; left out: the first directory that may be scanned, else the root of the system's file system"`
	MaxDepth int    `json:"max_depth,omitempty" jsonschema:"how many levels below root are listed, 1 to 4; a number outside is brought to the nearest"`
	TopN     int    `json:"top_n,omitempty" jsonschema:"how many directories are listed, largest first, 1 to 30; a number outside is brought to the nearest"`
}

type largeInput struct {
	Root      string `json:"root,omitempty" jsonschema:"absolute path of the directory to start in; left out: the first directory that may be scanned, else the root of the system's file system"`
	MinSizeMB int    `json:"min_size_mb,omitempty" jsonschema:"smallest size of a file to list, in MB of 1024 x 1024 bytes, at least 1"`
	TopN      int    `json:"top_n,omitempty" jsonschema:"how many files are listed, largest first, 1 to 50; a number outside is brought to the nearest"`
}

func (s *server) addScan(srv *mcp.Server) {
	add(srv, spec{
		name: "scan_dir_usage", title: "Directory usage",
		description: "Returns which directories take most space below a directory: sizes on the disk with everything in them, largest first. Symbolic links are not followed and other file systems not entered; a scan ends after 30 seconds and then gives what it has.",
		defaults:    map[string]any{"max_depth": 2, "top_n": 15},
	}, s.dirUsage)
	add(srv, spec{
		name: "find_large_files", title: "Large files",
		description: "Returns the largest files down to six levels below a directory, with size, date of change and path. Symbolic links are not followed and other file systems not entered; a scan ends after 30 seconds and then gives what it has. Reads names and sizes only.",
		defaults:    map[string]any{"min_size_mb": 100, "top_n": 20},
	}, s.largeFiles)
}

// start begins a walk at the directory that a call names.
func (s *server) start(ctx context.Context, dir string) (*walk, string, os.FileInfo, error) {
	root, err := s.root(dir)
	if err != nil {
		return nil, "", nil, err
	}
	info, err := os.Lstat(root)
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %s", plain(root, 120), reason(err))
	}
	device, _, _, _ := onDisk(info)
	return &walk{
		done: ctx.Done(), device: device, seen: map[inode]bool{},
		onFile: func(file) {}, onDir: func(string, int, uint64, int) {},
	}, root, info, nil
}

func (s *server) dirUsage(ctx context.Context, in dirInput) (string, error) {
	type directory struct {
		path  string
		bytes uint64
		files int
	}
	maxDepth, topN := clamp(in.MaxDepth, 4), clamp(in.TopN, 30)
	limited, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	w, root, info, err := s.start(limited, in.Root)
	if err != nil {
		return "", err
	}
	var top []directory
	w.deepest = scanDepth
	w.onDir = func(path string, depth int, bytes uint64, files int) {
		if depth == 0 || depth > maxDepth {
			return
		}
		top = append(top, directory{path, bytes, files})
		if len(top) > 16*topN { // keep the memory small, sort seldom
			slices.SortFunc(top, func(a, b directory) int { return cmp.Compare(b.bytes, a.bytes) })
			top = top[:topN]
		}
	}
	bytes, files := w.visit(root, 0, info)
	if ctx.Err() != nil {
		return "", errors.New("canceled before the scan ended")
	}
	slices.SortFunc(top, func(a, b directory) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.path, b.path)) })
	rows := make([][]string, 0, topN)
	for _, d := range top[:min(topN, len(top))] {
		rows = append(rows, []string{size(d.bytes), fmt.Sprint(d.files), plain(d.path, 140)})
	}
	head := fmt.Sprintf("## %s\n\n%s in %d files, on its own file system.\n\n", plain(root, 140), size(bytes), files)
	if len(rows) == 0 {
		return head + "It holds no directory.\n" + w.notes(), nil
	}
	notes := w.notes()
	return head + table([]string{"size", "files", "directory"}, rows, scanChars-len(head)-len(notes)) + notes, nil
}

func (s *server) largeFiles(ctx context.Context, in largeInput) (string, error) {
	const maxDepth = 6
	topN, least := clamp(in.TopN, 50), uint64(clamp(in.MinSizeMB, 1<<30))<<20
	limited, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	w, root, info, err := s.start(limited, in.Root)
	if err != nil {
		return "", err
	}
	w.deepest = maxDepth
	var top []file
	found := 0
	bySize := func(a, b file) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.path, b.path)) }
	w.onFile = func(f file) {
		if f.size < least {
			return
		}
		found++
		top = append(top, f)
		if len(top) > 16*topN {
			slices.SortFunc(top, bySize)
			top = top[:topN]
		}
	}
	w.visit(root, 0, info)
	if ctx.Err() != nil {
		return "", errors.New("canceled before the scan ended")
	}
	slices.SortFunc(top, bySize)
	rows := make([][]string, 0, topN)
	for _, f := range top[:min(topN, len(top))] {
		rows = append(rows, []string{size(f.size), f.mtime.Format(time.DateTime), plain(f.path, 160)})
	}
	head := fmt.Sprintf("## Files of at least %s in %s\n\n", size(least), plain(root, 140))
	if len(rows) == 0 {
		return head + fmt.Sprintf("None down to %d levels. Call again with a smaller min_size_mb, or scan_dir_usage for directories of many small files.\n", maxDepth) + w.notes(), nil
	}
	if found > len(rows) {
		head += fmt.Sprintf("%d found, the largest %d:\n\n", found, len(rows))
	}
	notes := w.notes()
	return head + table([]string{"size", "changed", "file"}, rows, largeChars-len(head)-len(notes)) + notes, nil
}

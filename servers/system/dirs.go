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

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds on the answers, in characters.
const (
	scanChars  = 6000
	largeChars = 10000
	pathChars  = 300 // of a path, which is of use in full alone: the log of a container has 164
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
	typed.Add(srv, spec{
		Name: "scan_dir_usage", Title: "Directory usage",
		Description: "Returns which directories take most space below a directory: sizes on the disk with everything in them, largest first. Symbolic links are not followed and other file systems not entered; a scan ends after 30 seconds and then gives what it has.",
		Defaults:    map[string]any{"max_depth": 2, "top_n": 15},
		Bounds:      map[string][2]int{"max_depth": {1, 4}, "top_n": {1, 30}},
	}, s.dirUsage)
	typed.Add(srv, spec{
		Name: "find_large_files", Title: "Large files",
		Description: "Returns the largest files down to six levels below a directory, with size, date of change and path. Symbolic links are not followed and other file systems not entered; a scan ends after 30 seconds and then gives what it has. Reads names and sizes only.",
		Defaults:    map[string]any{"min_size_mb": 100, "top_n": 20},
		Bounds:      map[string][2]int{"min_size_mb": {1, 1 << 30}, "top_n": {1, 50}},
	}, s.largeFiles)
}

// start begins a walk at the directory that a call names.
func (s *server) start(ctx context.Context, dir string) (*walk, string, os.FileInfo, error) {
	root, missing, err := s.root(dir)
	if err != nil {
		return nil, "", nil, err
	}
	info, err := os.Lstat(root)
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %s", plain(root, 120), reason(err))
	}
	device, _, _, _ := onDisk(info)
	return &walk{
		done: ctx.Done(), missing: missing, device: device, seen: map[inode]bool{},
		onFile: func(file) {}, onDir: func(string, int, uint64, int) {},
	}, root, info, nil
}

type dirOutput struct {
	Root        string     `json:"root" jsonschema:"directory that was looked into"`
	Bytes       uint64     `json:"bytes" jsonschema:"of everything in it, on its own file system"`
	Files       int        `json:"files" jsonschema:"in it and below"`
	HereBytes   uint64     `json:"here_bytes" jsonschema:"of the files that lie directly in root"`
	HereFiles   int        `json:"here_files" jsonschema:"how many lie directly in root"`
	Directories []dirEntry `json:"directories" jsonschema:"largest first"`
	Incomplete  bool       `json:"incomplete,omitempty" jsonschema:"the scan ended early: sizes are lower bounds"`
	Unreadable  int        `json:"unreadable,omitempty" jsonschema:"directories that this user may not read"`
}

type dirEntry struct {
	Path  string `json:"path"`
	Bytes uint64 `json:"bytes" jsonschema:"on the disk, with everything below"`
	Files int    `json:"files"`
}

func (s *server) dirUsage(ctx context.Context, in dirInput) (string, dirOutput, error) {
	out := dirOutput{Directories: []dirEntry{}}
	maxDepth, topN := clamp(in.MaxDepth, 4), clamp(in.TopN, 30)
	limited, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	w, root, info, err := s.start(limited, in.Root)
	if err != nil {
		return "", out, err
	}
	var top []dirEntry
	var below dirEntry // all directories in root
	w.deepest = scanDepth
	w.onDir = func(path string, depth int, bytes uint64, files int) {
		if depth == 1 {
			below.Bytes, below.Files = below.Bytes+bytes, below.Files+files
		}
		if depth == 0 || depth > maxDepth {
			return
		}
		top = append(top, dirEntry{path, bytes, files})
		if len(top) > 16*topN { // keep the memory small, sort seldom
			slices.SortFunc(top, func(a, b dirEntry) int { return cmp.Compare(b.Bytes, a.Bytes) })
			top = top[:topN]
		}
	}
	bytes, files := w.visit(root, 0, info)
	if ctx.Err() != nil {
		return "", out, errors.New("canceled before the scan ended")
	}
	if w.shut != nil {
		return "", out, fmt.Errorf("%s: %s", plain(root, 120), reason(w.shut))
	}
	slices.SortFunc(top, func(a, b dirEntry) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	out.Root, out.Bytes, out.Files = plain(root, 1000), bytes, files
	out.Incomplete, out.Unreadable = w.stopped, w.unreadable
	out.HereBytes, out.HereFiles = bytes-below.Bytes, files-below.Files
	rows := make([][]string, 0, topN+1)
	here := out.HereFiles > 0 && out.HereBytes >= bytes/100 // only where they matter
	addHere := func() {
		rows = append(rows, []string{size(out.HereBytes), fmt.Sprint(out.HereFiles), "(files directly here)"})
		here = false
	}
	for _, d := range top[:min(topN, len(top))] {
		if here && out.HereBytes > d.Bytes {
			addHere()
		}
		rows = append(rows, []string{size(d.Bytes), fmt.Sprint(d.Files), plain(d.Path, pathChars)})
		out.Directories = append(out.Directories, dirEntry{plain(d.Path, 1000), d.Bytes, d.Files})
	}
	if here {
		addHere()
	}
	head := fmt.Sprintf("## %s\n\n%s in %d files, on its own file system.\n\n", plain(root, 140), size(bytes), files)
	if len(rows) == 0 {
		return head + "It holds no directory.\n" + w.notes(), out, nil
	}
	notes := w.notes()
	return head + answer.Table([]string{"size", "files", "directory"}, rows, scanChars-len(head)-len(notes)) + notes, out, nil
}

type largeOutput struct {
	Root       string      `json:"root" jsonschema:"directory that was looked into"`
	Found      int         `json:"found" jsonschema:"files of that size"`
	Files      []fileEntry `json:"files" jsonschema:"largest first"`
	Incomplete bool        `json:"incomplete,omitempty" jsonschema:"the scan ended early: there may be more"`
	Unreadable int         `json:"unreadable,omitempty" jsonschema:"directories that this user may not read"`
}

type fileEntry struct {
	Path    string `json:"path"`
	Bytes   uint64 `json:"bytes" jsonschema:"on the disk"`
	Changed string `json:"changed" jsonschema:"ISO 8601"`
}

func (s *server) largeFiles(ctx context.Context, in largeInput) (string, largeOutput, error) {
	const maxDepth = 6
	out := largeOutput{Files: []fileEntry{}}
	topN, least := clamp(in.TopN, 50), uint64(clamp(in.MinSizeMB, 1<<30))<<20
	limited, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	w, root, info, err := s.start(limited, in.Root)
	if err != nil {
		return "", out, err
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
		return "", out, errors.New("canceled before the scan ended")
	}
	if w.shut != nil {
		return "", out, fmt.Errorf("%s: %s", plain(root, 120), reason(w.shut))
	}
	slices.SortFunc(top, bySize)
	out.Root, out.Found, out.Incomplete, out.Unreadable = plain(root, 1000), found, w.stopped, w.unreadable
	rows := make([][]string, 0, topN)
	for _, f := range top[:min(topN, len(top))] {
		rows = append(rows, []string{size(f.size), f.mtime.Format(time.DateTime), plain(f.path, pathChars)})
		out.Files = append(out.Files, fileEntry{plain(f.path, 1000), f.size, f.mtime.Format(time.RFC3339)})
	}
	head := fmt.Sprintf("## Files of at least %s in %s\n\n", size(least), plain(root, 140))
	if len(rows) == 0 {
		return head + fmt.Sprintf("None down to %d levels. Call again with a smaller min_size_mb, or scan_dir_usage for directories of many small files.\n", maxDepth) + w.notes(), out, nil
	}
	if found > len(rows) {
		head += fmt.Sprintf("%d found, the largest %d:\n\n", found, len(rows))
	}
	notes := w.notes()
	return head + answer.Table([]string{"size", "changed", "file"}, rows, largeChars-len(head)-len(notes)) + notes, out, nil
}

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/source"
)

const (
	mainFile   = "tenon.yaml" // the configuration within a folder
	maxFiles   = 1000
	maxInclude = 8 // files that include each other
)

// files are the files of one load, and the environment that they see.
type files struct {
	env      map[string]string // the environment above .env
	secrets  map[string]bool   // texts to hide
	mistakes []source.Mistake  // outside server entries
	opened   int
	noted    map[string]bool // absolute paths of files, and of folders that were looked through
	stack    []string        // files that are being read, outermost first
}

// whole returns a node for mistakes of a file as a whole.
func whole(file *source.File) *source.Node { return &source.Node{File: file} }

func (f *files) fail(at *source.Node, text, hint string) {
	f.mistakes = append(f.mistakes, at.Mistake(text, hint))
}

func (f *files) lookup(name string) (string, bool) {
	v, ok := f.env[envKey(name)]
	return v, ok
}

// newFile returns a file that is to be read. Its path is as it is told to people.
func (f *files) newFile(path string) *source.File {
	f.opened++
	return source.NewFile(path, f.opened)
}

// note remembers a file or a folder that the configuration depends on.
func (f *files) note(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		f.noted[abs] = true
	}
}

// read returns the bytes of a file, or why there are none.
func (f *files) read(path string) ([]byte, error) {
	f.note(path)
	if f.opened > maxFiles {
		return nil, fmt.Errorf("is one of more than %d files", maxFiles)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, errors.New("is a folder")
	}
	data, err := io.ReadAll(io.LimitReader(file, source.MaxBytes+1))
	if err != nil {
		return nil, reason(err)
	}
	if len(data) > source.MaxBytes {
		return nil, fmt.Errorf("is larger than %s", sizeText(source.MaxBytes))
	}
	return data, nil
}

// reason returns the cause of a file error without the path, which stands in
// front of every problem.
func reason(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file or folder")
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", e.Err)
	}
	return err
}

// nearestFile is the hint for a configuration that is not there: the file beside it whose
// name is most like its own, else what is looked for.
func nearestFile(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	dir, name := filepath.Split(filepath.Clean(path))
	names, ok := configsIn(filepath.Clean(dir + "."))
	if !ok {
		return fmt.Sprintf("there is no folder %s either", filepath.Clean(dir))
	}
	best, ok := nearest(name, names)
	if !ok && len(names) == 1 {
		best, ok = names[0], true
	}
	if ok {
		return fmt.Sprintf("did you mean %q?", dir+best)
	}
	return "name a tenon.yaml, the mcpServers JSON of a desktop client, or a folder with a tenon.yaml or files of one tool each"
}

// configsIn returns the names in a folder that a configuration may have. It reports whether
// there is such a folder.
func configsIn(dir string) (names []string, ok bool) {
	const most = 1000 // for a hint that is enough
	f, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	all, _ := f.Readdirnames(most) // what cannot be read is not offered
	for _, name := range all {
		switch filepath.Ext(name) {
		case ".yaml", ".yml", ".json":
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, true
}

func (f *files) parse(file *source.File, path string) (*source.Node, *source.Mistake) {
	data, err := f.read(path)
	if err != nil {
		m := file.Mistake(err.Error(), "")
		return nil, &m
	}
	return file.Parse(data)
}

// dotenv reads the file .env of the first folder that has one, under the
// environment.
func (f *files) dotenv(folders ...string) {
	for _, dir := range folders {
		path := filepath.Join(dir, ".env")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for name, value := range f.envFile(path, &f.mistakes) {
			if _, set := f.lookup(name); !set {
				f.env[envKey(name)] = value
			}
		}
		return
	}
}

// envFile reads a file as .env is written. What it holds is hidden as what `env:` holds.
func (f *files) envFile(path string, to *[]source.Mistake) map[string]string {
	file := f.newFile(path)
	data, err := f.read(path)
	if err != nil {
		*to = append(*to, file.Mistake(err.Error(), ""))
		return nil
	}
	values, wrong := source.ParseDotenv(file, data)
	*to = append(*to, wrong...)
	for name, v := range values {
		f.hide(name, v)
	}
	return values
}

// hide remembers a text that was given under a name as one to hide, unless both look
// as if it were no secret.
func (f *files) hide(name, value string) {
	if !redact.IsSetting(name, value) {
		f.secrets[value] = true
	}
}

// A shape is what a file holds, told by its keys.
type shape int

const (
	shapeTenon   shape = iota
	shapeOneTool       // one server
	shapeAgent         // names of one-tool files, and a blacklist
	shapeClient        // mcpServers or servers of a desktop client
)

// A document is one file that was read.
type document struct {
	root  *source.Node
	shape shape
	path  string // to open files beside it
}

// dir returns the absolute folder of the document.
func (d *document) dir() string {
	abs, err := filepath.Abs(filepath.Dir(d.path))
	if err != nil {
		return filepath.Dir(d.path)
	}
	return abs
}

// document reads a file, or reports why it cannot be read and returns nil.
func (f *files) document(file *source.File, path string) *document {
	root, bad := f.parse(file, path)
	if bad != nil {
		f.mistakes = append(f.mistakes, *bad)
		return nil
	}
	return &document{root, shapeOf(root), path}
}

func shapeOf(root *source.Node) shape {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return root.Field(key) != nil })
	}
	version := root.Field("version")
	switch {
	case has("mcpServers"):
		return shapeClient
	case root.File.IsJSON() && (version == nil || version.Kind != source.Int):
		return shapeClient
	case version != nil:
		return shapeTenon
	case has("tool_command"):
		return shapeOneTool
	case isAgent(root):
		return shapeAgent
	case has("url", "command", "bundled") && !has("servers", "include"):
		return shapeOneTool
	}
	return shapeTenon
}

// enter notes that a file is being read, and leave that it was.
func (f *files) enter(path string) error {
	id, err := identity(path)
	if err != nil {
		return reason(err)
	}
	f.stack = append(f.stack, id)
	return nil
}

func (f *files) leave() { f.stack = f.stack[:len(f.stack)-1] }

// identity returns one name for all names of a file.
func identity(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// circle returns the way from a file that is being read to itself, or "".
func (f *files) circle(path string) string {
	id, err := identity(path)
	i := slices.Index(f.stack, id)
	if err != nil || i < 0 {
		return ""
	}
	var chain []string
	for _, p := range append(slices.Clone(f.stack[i:]), id) {
		chain = append(chain, filepath.Base(p))
	}
	return strings.Join(chain, " → ")
}

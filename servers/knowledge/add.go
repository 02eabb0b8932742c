package knowledge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds on what is added.
const (
	maxAdded     = 1 << 20 // bytes
	maxAddedPath = 200
	maxDepth     = 8
)

type addInput struct {
	Name    string `json:"name" jsonschema:"file name of the new document, with folders if it is to lie in some, such as incidents/2026-11-30-disk-full.md; .md is added where it has no ending"`
	Content string `json:"content" jsonschema:"the document as Markdown, with headings for its chapters"`
}

type addOutput struct {
	Path  string `json:"path" jsonschema:"path of the new document, for kb_get_document"`
	Bytes int    `json:"bytes" jsonschema:"size of the file"`
}

func (s *server) addAdd(srv *mcp.Server) {
	typed.Add(srv, typed.Spec{
		Name: "kb_add_document", Title: "Add to the knowledge base",
		Description: "Adds a new Markdown document to the knowledge base, where its operator allows that. It never changes a document that is there: choose a name of its own.",
		Annotations: adds(),
	}, func(ctx context.Context, in addInput) (string, addOutput, error) {
		out, err := s.add(ctx, in)
		return fmt.Sprintf("Added %s (%d bytes). It is found in a moment.", out.Path, out.Bytes), out, err
	})
}

// adds are the annotations of a tool that adds a file.
func adds() *mcp.ToolAnnotations {
	a := typed.ReadsHere()
	a.ReadOnlyHint, a.IdempotentHint = false, false
	return a
}

func (s *server) add(ctx context.Context, in addInput) (addOutput, error) {
	if s.writable == "" {
		return addOutput{}, typed.Refuse("nothing may be added: the operator of the knowledge base names no folder for it (option writable)")
	}
	name, err := newName(in.Name)
	if err != nil {
		return addOutput{}, err
	}
	switch {
	case strings.TrimSpace(in.Content) == "":
		return addOutput{}, errors.New("content is empty: give the text of the document")
	case len(in.Content) > maxAdded:
		return addOutput{}, fmt.Errorf("content has %d bytes, at most %d are taken: add several documents", len(in.Content), maxAdded)
	case !utf8.ValidString(in.Content) || strings.ContainsRune(in.Content, 0):
		return addOutput{}, errors.New("content is no text in UTF-8")
	}
	release, err := s.use(ctx)
	if err != nil {
		return addOutput{}, err
	}
	defer release()
	if err := write(s.writable, name, in.Content); err != nil {
		return addOutput{}, err
	}
	s.lib.Look()
	shown, _ := s.lib.Name(filepath.Join(s.writable, filepath.FromSlash(name)))
	return addOutput{Path: shown, Bytes: len(in.Content)}, nil
}

// devices are names that lead to no file on Windows, whatever their ending.
var devices = []string{
	"CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8", "COM9",
	"LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9",
}

// newName returns the path below the folder, checked.
func newName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if path.Ext(name) == "" {
		name += ".md"
	}
	wrong := func(why string) error {
		return fmt.Errorf("name %q %s: write it like incidents/2026-11-30-disk-full.md", answer.Cut(name, 100), why)
	}
	switch end := strings.ToLower(path.Ext(name)); {
	case len(name) > maxAddedPath:
		return "", wrong(fmt.Sprintf("has more than %d bytes", maxAddedPath))
	case end != ".md" && end != ".markdown" && end != ".txt":
		return "", wrong("must end in .md or .txt")
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "", typed.Reword(typed.Refuse("outside"), wrong("is no relative path below the folder for new documents").Error())
	case path.Clean(name) != name || strings.ContainsAny(name, "\\:*?\"<>|"):
		return "", wrong("is no relative path")
	}
	parts := strings.Split(name, "/")
	if len(parts) > maxDepth {
		return "", wrong(fmt.Sprintf("has more than %d folders", maxDepth-1))
	}
	for _, p := range parts {
		if base, _, _ := strings.Cut(p, "."); slices.Contains(devices, strings.ToUpper(base)) {
			return "", wrong("has the name of a device of Windows")
		}
		if strings.HasPrefix(p, ".") || strings.HasPrefix(p, "-") || strings.TrimSpace(p) != p || strings.HasSuffix(p, ".") || strings.ContainsFunc(p, odd) {
			return "", wrong("has a part that begins with a dot or a hyphen, or a character that names of files should not have")
		}
	}
	return name, nil
}

// odd reports whether a character is none that names of files should have: people type
// them in shells.
func odd(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(" ._-+,()", r)
}

// write writes a new file whole, or not at all. Two who choose one name at once get
// one document and one refusal.
func write(dir, name, content string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("the folder for new documents cannot be opened: %w", err)
	}
	defer root.Close()
	file := filepath.FromSlash(name)
	if parent := filepath.Dir(file); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return cannot(name, err)
		}
	}
	part := filepath.Join(filepath.Dir(file), ".new-"+rand.Text())
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cannot(name, err)
	}
	defer func() { _ = root.Remove(part) }()
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return cannot(name, err)
	}
	// A link fails where the name is taken, which a rename does not.
	if err = root.Link(part, file); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the knowledge base has a document %s already, and documents are never overwritten: choose another name", name)
	}
	if err != nil {
		return cannot(name, err)
	}
	return nil
}

func cannot(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s cannot be written: %w", name, err)
}

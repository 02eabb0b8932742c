package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/typed"
)

type fileOutput struct {
	Path string `json:"path" jsonschema:"where the file is now"`
	Size int64  `json:"size" jsonschema:"its bytes"`
}

// A place is where in a sandbox a file goes.
type place struct {
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
	Target    string `json:"sandbox_file_path,omitempty" jsonschema:"folder in the sandbox, or path of the file to make"`
}

func (p place) at() place { return p }

// addBring adds a tool that brings a file into a sandbox. Open opens it and tells its
// name.
func addBring[In interface{ at() place }](s *server, srv *mcp.Server, sp typed.Spec, brought string, open func(context.Context, In) (io.ReadCloser, string, error)) {
	sp.Defaults, sp.MaxArguments = map[string]any{"sandbox_file_path": sandbox.Home}, maxArguments
	typed.AddContent(srv, sp, func(ctx context.Context, req *mcp.CallToolRequest, in In) ([]mcp.Content, fileOutput, error) {
		h, done, err := s.boxes.use(req, in.at().SandboxID)
		if err != nil {
			return nil, fileOutput{}, err
		}
		defer done()
		ctx, cancel := context.WithTimeout(ctx, s.run)
		defer cancel()
		f, name, err := open(ctx, in)
		if err != nil {
			return nil, fileOutput{}, err
		}
		defer f.Close()
		put, err := h.Put(ctx, target(in.at().Target, name), f, s.spec.Disk)
		if err != nil {
			if _, ok := errors.AsType[*egress.SizeError](err); ok {
				return nil, fileOutput{}, err
			}
			return nil, fileOutput{}, s.told(err)
		}
		text := fmt.Sprintf("File %s to %s (%d bytes)", brought, put.Path, put.Size)
		if c := clean(name); c != name && path.Base(put.Path) == c {
			text += fmt.Sprintf(". It has another name than %.200q: only letters, digits and . _ - + are kept in a name", name)
		}
		return typed.Text(text), fileOutput{put.Path, put.Size}, nil
	})
}

type uploadInput struct {
	Local string `json:"local_file_path" jsonschema:"path of a file on the machine of the server, in a folder that is opened for this; a relative one is within such a folder"`
	place
}

func (s *server) addUpload(srv *mcp.Server) {
	addBring(s, srv, typed.Spec{
		Name: "upload_file_from_local_to_sandbox", Title: "Upload a file",
		Description: "Copies a file of the server's machine into a sandbox, from the folders that the operator has opened. Returns the path in the sandbox, where code can read it.",
		Annotations: changes(false),
	}, "uploaded", func(_ context.Context, in uploadInput) (io.ReadCloser, string, error) {
		f, err := s.openLocal(in.Local)
		return f, filepath.Base(in.Local), err
	})
}

// openLocal opens a file of this machine that lies in an opened folder, also once
// symbolic links are followed. A relative path is one in the first of them that has it.
func (s *server) openLocal(name string) (*os.File, error) {
	if len(s.uploads) == 0 {
		return nil, typed.Refuse("no folder of this machine is opened for uploads: the operator sets the option upload_roots of the server python")
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return nil, errors.New("local_file_path is no path of a file")
	}
	for _, opened := range s.uploads {
		root, err := filepath.EvalSymlinks(opened)
		if err != nil {
			continue
		}
		at := filepath.FromSlash(name)
		if !filepath.IsAbs(at) {
			at = filepath.Join(root, at)
		}
		resolved, err := filepath.EvalSymlinks(filepath.Clean(at))
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, resolved)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		f, err := openRegular(root, rel)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			break
		}
		return f, err
	}
	return nil, typed.Refuse("the file is not there, or not in a folder that is opened for uploads (%s)", strings.Join(s.uploads, ", "))
}

// openRegular opens an ordinary file below a folder.
func openRegular(root, rel string) (*os.File, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	defer dir.Close()
	info, err := dir.Stat(rel)
	switch {
	case err != nil:
		return nil, fs.ErrNotExist
	case info.IsDir():
		return nil, errors.New("local_file_path is a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("local_file_path is no ordinary file")
	}
	f, err := dir.Open(rel)
	if err != nil {
		return nil, fs.ErrPermission
	}
	return f, nil
}

// target is where a file goes: what ends with a slash or has no extension is a folder.
func target(want, name string) string {
	if want == "" {
		want = sandbox.Home
	}
	if strings.HasSuffix(want, "/") || path.Ext(want) == "" {
		return strings.TrimSuffix(want, "/") + "/" + clean(name)
	}
	return want
}

// clean makes a name of a file harmless: letters, digits and a few signs.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune("._-+", r):
			return r
		case r > 127 && r != '\uFFFD':
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimLeft(name, ".-")
	if over := len(name) - 120; over > 0 {
		name = strings.ToValidUTF8(name[over:], "") // from the left, so that the extension stays
	}
	if name == "" {
		return "downloaded_file"
	}
	return name
}

type fetchInput struct {
	URL string `json:"url" jsonschema:"http or https URL of the file"`
	place
}

func (s *server) addFetch(srv *mcp.Server) {
	addBring(s, srv, typed.Spec{
		Name: "download_file_from_internet_to_sandbox", Title: "Download into a sandbox",
		Description: "Fetches a file from the web into a sandbox and returns its path there. The server fetches it, by its own rules: internal addresses are refused.",
		Annotations: changes(true),
	}, "downloaded", func(ctx context.Context, in fetchInput) (io.ReadCloser, string, error) {
		resp, body, err := s.pages.Open(ctx, egress.Request{URL: in.URL, MaxBody: min(maxDownload, s.spec.Disk), Timeout: s.run})
		if err != nil {
			return nil, "", err
		}
		if !resp.OK() {
			_ = body.Close() // it is of no use
			return nil, "", fmt.Errorf("the site answered with status %d; nothing was saved", resp.Status)
		}
		name := "downloaded_file"
		if u, err := url.Parse(in.URL); err == nil && path.Base(u.Path) != "/" && path.Base(u.Path) != "." {
			name = path.Base(u.Path)
		}
		return body, name, nil
	})
}

type saveInput struct {
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
	Path      string `json:"sandbox_file_path" jsonschema:"path of the file in the sandbox"`
	Name      string `json:"local_filename,omitempty" jsonschema:"name to save it under; default: its own. Folders in it do not count"`
}

func (s *server) addSave(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "download_file_from_sandbox_to_local", Title: "Save a file",
		Description: "Saves a file of a sandbox on the server's machine, in the folder that the operator has set for that, and returns its path there. No file is overwritten. Do this before the sandbox ends: then its files are gone.",
		Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in saveInput) ([]mcp.Content, fileOutput, error) {
		h, done, err := s.boxes.use(req, in.SandboxID)
		if err != nil {
			return nil, fileOutput{}, err
		}
		defer done()
		if s.downloads == "" {
			return nil, fileOutput{}, errors.New("no folder is set for files of sandboxes: the operator sets the option download_dir of the server python, or LOGS_DIR in its environment")
		}
		_, r, err := h.Get(ctx, in.Path)
		if err != nil {
			return nil, fileOutput{}, s.told(err)
		}
		defer r.Close()
		name := in.Name
		if name == "" {
			name = in.Path
		}
		out, err := s.save(ctx, "sandbox_"+h.id+"_"+clean(path.Base(strings.ReplaceAll(name, `\`, "/"))), r)
		if err != nil {
			return nil, fileOutput{}, err
		}
		return typed.Text("File downloaded successfully to: " + out.Path), out, nil
	})
}

// save writes a new file below the folder for that. What grows while it is read is cut
// off.
func (s *server) save(ctx context.Context, name string, r io.Reader) (fileOutput, error) {
	var out fileOutput
	if err := os.MkdirAll(s.downloads, 0o750); err != nil {
		return out, fmt.Errorf("the folder for downloads cannot be made: %w", err)
	}
	root, err := os.OpenRoot(s.downloads)
	if err != nil {
		return out, fmt.Errorf("the folder for downloads cannot be opened: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll("tmpfiles", 0o750); err != nil {
		return out, fmt.Errorf("the folder for downloads cannot be made: %w", err)
	}
	var f *os.File
	for i := 0; ; i++ {
		at := path.Join("tmpfiles", name)
		if ext := path.Ext(name); i > 0 {
			at = path.Join("tmpfiles", fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext))
		}
		f, err = root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			out.Path = filepath.Join(s.downloads, filepath.FromSlash(at))
			break
		}
		if !errors.Is(err, os.ErrExist) || i >= 1000 {
			return out, fmt.Errorf("the file cannot be made: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()
	out.Size, err = io.Copy(f, io.LimitReader(r, s.spec.Disk))
	if err = errors.Join(err, f.Close(), ctx.Err()); err != nil {
		_ = os.Remove(out.Path) // half a file is of no use
		return out, fmt.Errorf("the file was not saved: %w", err)
	}
	return out, nil
}

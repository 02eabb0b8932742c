// Package intake takes in the files that a model names for a tool: by a path inside of
// folders that an operator has opened, by a URL, or as a data URI.
//
//	in, err := intake.New(intake.Options{Roots: o.Roots, Pages: pages, MaxBytes: 20 << 20})
//	f, err := in.Load(ctx, "charts/load.png") // or https://…, or data:image/png;base64,…
//
// What a file is, the caller finds by its content: names and declared types are words of
// strangers. A path that leads out of its folder, by links too, is not opened.
package intake

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Options configure an Intake.
type Options struct {
	Roots    []string       // folders whose files may be read
	Pages    *egress.Client // for URLs
	MaxBytes int64
}

// Access are the options, common to servers that take files in, which say which.
type Access struct {
	Roots []string `json:"roots,omitempty" path:"yes" jsonschema:"folders whose files may be read; default: none, and files come by URL or as data"`
	Allow []string `json:"allow,omitempty" jsonschema:"internal hosts that files may be fetched from besides public ones: networks, addresses or names, such as 10.20.0.0/16 or *.corp.example"`
}

// An Intake takes files in. It is safe for concurrent use.
type Intake struct {
	o Options
}

// A File is what was taken in.
type File struct {
	Name string // last element of the path or address, or nothing
	MIME string // as declared, or nothing
	Data []byte
}

// maxName bounds what names a file, unless it holds the file itself.
const maxName = 8 << 10

// New returns an Intake. It fails where a root is no folder.
func New(o Options) (*Intake, error) {
	roots := make([]string, 0, 2*len(o.Roots))
	for _, r := range o.Roots {
		abs, err := filepath.Abs(r)
		if err != nil {
			return nil, fmt.Errorf("option roots: %w", err)
		}
		info, err := os.Stat(abs)
		if err != nil {
			return nil, fmt.Errorf("option roots: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("option roots: %s is no folder", r)
		}
		roots = append(roots, abs)
		if resolved, err := filepath.EvalSymlinks(abs); err == nil && resolved != abs { // a path may be written either way
			roots = append(roots, resolved)
		}
	}
	o.Roots = roots
	return &Intake{o}, nil
}

// Load returns the file that ref names. Its errors are for the model.
func (in *Intake) Load(ctx context.Context, ref string) (File, error) {
	ref = strings.TrimSpace(ref)
	scheme, _, _ := strings.Cut(ref, ":")
	scheme = strings.ToLower(scheme)
	if scheme == "data" {
		return in.data(ref)
	}
	switch {
	case ref == "":
		return File{}, errors.New("no file is named: give a path, a URL or a data URI")
	case len(ref) > maxName:
		return File{}, fmt.Errorf("the name of the file has %d bytes: give a path, a URL or a data URI", len(ref))
	case strings.ContainsRune(ref, 0):
		return File{}, errors.New("the name of the file holds a zero byte")
	case scheme == "http", scheme == "https":
		return in.fetch(ctx, ref)
	case scheme == "file":
		p, err := filePath(ref)
		if err != nil {
			return File{}, err
		}
		return in.open(p)
	case strings.Contains(ref, "://"):
		return File{}, fmt.Errorf("%s:// cannot be read here: give a path, an http(s) URL or a data URI", egress.Plain(scheme, 40))
	}
	return in.open(ref)
}

// filePath returns the path in a file URL.
func filePath(ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" || strings.ContainsRune(u.Path, 0) {
		return "", errors.New("the file:// address is not valid: give the path alone")
	}
	if runtime.GOOS == "windows" {
		return strings.TrimPrefix(u.Path, "/"), nil
	}
	return u.Path, nil
}

// data reads a data URI.
func (in *Intake) data(ref string) (File, error) {
	head, body, ok := strings.Cut(ref[len("data:"):], ",")
	if !ok || len(head) > 200 {
		return File{}, errors.New("the data URI is not valid: write data:TYPE;base64,DATA")
	}
	kind, encoded := strings.CutSuffix(head, ";base64")
	if !encoded {
		return File{}, errors.New("the data URI is not in base64: write data:TYPE;base64,DATA")
	}
	if int64(base64.StdEncoding.DecodedLen(len(body))) > in.o.MaxBytes+3 {
		return File{}, in.tooLarge()
	}
	body = strings.NewReplacer("\n", "", "\r", "", " ", "", "%2B", "+", "%2F", "/", "%3D", "=", "-", "+", "_", "/").Replace(body)
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	if err != nil {
		return File{}, errors.New("the data URI is no valid base64: it may have been cut; give a path or a URL")
	}
	return in.whole(File{MIME: kind, Data: b})
}

// fetch gets a file from the web.
func (in *Intake) fetch(ctx context.Context, ref string) (File, error) {
	resp, err := in.o.Pages.Do(ctx, egress.Request{
		URL: ref, MaxBody: in.o.MaxBytes, Header: http.Header{"Accept": {"image/*,audio/*,video/*,*/*;q=0.5"}},
		Retry: egress.Retry{Waits: egress.Seconds(1, 4)},
	})
	if _, ok := errors.AsType[*egress.SizeError](err); ok {
		return File{}, in.tooLarge()
	}
	if err != nil {
		return File{}, fmt.Errorf("the file cannot be fetched: %w", err)
	}
	if !resp.OK() {
		return File{}, fmt.Errorf("the file cannot be fetched: its server answered %d %s. Check the address, or download the file another way and give its path", resp.Status, http.StatusText(resp.Status))
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	f := File{MIME: strings.ToLower(strings.TrimSpace(kind)), Data: resp.Body}
	if u, err := url.Parse(resp.URL); err == nil {
		f.Name = path.Base(u.Path)
	}
	return in.whole(f)
}

// open reads a file of a root.
func (in *Intake) open(name string) (File, error) {
	if len(in.o.Roots) == 0 {
		return File{}, refusal("no local file can be read here: the operator must name folders in the option roots (or --roots); a URL or a data URI works without" + sandboxed(name))
	}
	within := false
	for _, root := range in.o.Roots {
		rel := filepath.Clean(filepath.FromSlash(name))
		if filepath.IsAbs(rel) {
			var err error
			if rel, err = filepath.Rel(root, rel); err != nil {
				continue
			}
		}
		if !filepath.IsLocal(rel) {
			continue
		}
		within = true
		f, err := in.read(root, rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return f, err
	}
	hint := sandboxed(name)
	if hint == "" {
		hint = ". Give a path inside of these folders as it is on this machine; an address of the web begins with https://"
	}
	text := fmt.Sprintf("there is no file %q in the folders that may be read%s", egress.Plain(name, 200), hint)
	if !within {
		return File{}, refusal(text)
	}
	return File{}, errors.New(text)
}

// A refusal is the error for a path outside of the folders.
type refusal string

func (r refusal) Error() string { return string(r) }

// Refused says that a rule stands behind the error: see package typed.
func (r refusal) Refused() bool { return true }

// sandboxed tells of the other machine that a path may be of.
func sandboxed(name string) string {
	if strings.Contains(filepath.ToSlash(name), "home/user") {
		return ". It looks like a file of a sandbox, which this tool does not reach: copy it with download_file_from_sandbox_to_local first, and give the path that it returns"
	}
	return ""
}

func (in *Intake) read(root, rel string) (File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return File{}, fs.ErrNotExist // it was there at the start
	}
	defer r.Close()
	info, err := r.Stat(rel) // before it is opened: that of a pipe would wait
	if err != nil {
		return File{}, fs.ErrNotExist // or it leads out, which is not told apart
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%q is no file", egress.Plain(rel, 200))
	}
	if info.Size() > in.o.MaxBytes {
		return File{}, in.tooLarge()
	}
	f, err := r.Open(rel)
	if err != nil {
		return File{}, fmt.Errorf("%q cannot be opened: its permissions do not allow it", egress.Plain(rel, 200))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, in.o.MaxBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("%q cannot be read to its end", egress.Plain(rel, 200))
	}
	return in.whole(File{Name: filepath.Base(rel), Data: b})
}

func (in *Intake) whole(f File) (File, error) {
	switch {
	case len(f.Data) == 0:
		return File{}, errors.New("the file is empty")
	case int64(len(f.Data)) > in.o.MaxBytes:
		return File{}, in.tooLarge()
	}
	return f, nil
}

func (in *Intake) tooLarge() error {
	return fmt.Errorf("the file is larger than %d MiB, the most that is taken here: make it smaller or shorter, or give a part of it", in.o.MaxBytes>>20)
}

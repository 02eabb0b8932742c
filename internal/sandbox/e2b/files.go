package e2b

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	maxPaths = 512 << 10 // bytes of all paths of a list
	endless  = 1 << 50   // of what is read as a stream, by who bounds it
	maxDepth = 32        // folders below the one that is listed
)

// resolve returns where a path leads in the machine, which must be below Home.
func (x *box) resolve(ctx context.Context, name string, must bool) (given, where string, err error) {
	rel, err := sandbox.Clean(name)
	if err != nil {
		return "", "", err
	}
	if err := x.gone(); err != nil {
		return "", "", err
	}
	given = path.Join(sandbox.Home, rel)
	how := "-m"
	if must {
		how = "-e"
	}
	out, said := sandbox.NewClip(20_000), sandbox.NewClip(1000)
	p := x.begin(ctx, user, processConfig{Cmd: "/usr/bin/realpath", Args: []string{how, "-z", "--", given}, Cwd: sandbox.Home}, out, said)
	defer p.close()
	end, err := p.wait(ctx, askLimit, x.quit)
	if err != nil {
		return "", "", x.trouble(ctx, "look at a path", err, "")
	}
	if end.code() != 0 {
		return "", "", invalid(given, "there is nothing that can be reached by this path")
	}
	text, _ := out.Text()
	where, ok := strings.CutSuffix(text, "\x00")
	if !ok || where != sandbox.Home && !strings.HasPrefix(where, sandbox.Home+"/") {
		return "", "", invalid(given, "it leads out of "+sandbox.Home)
	}
	return given, where, nil
}

func invalid(name, why string) error {
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	return &sandbox.Error{Kind: sandbox.Invalid, Text: strings.ToValidUTF8(name, "\uFFFD") + ": " + why}
}

// kinds are how entries are called.
var kinds = map[string]string{"FILE_TYPE_FILE": "file", "FILE_TYPE_DIRECTORY": "directory", "FILE_TYPE_SYMLINK": "symlink"}

func (e *entry) file(name string) sandbox.File {
	f := sandbox.File{Path: name, Size: int64(e.Size), Kind: kinds[e.Type], Modified: e.Modified}
	if e.Target != nil { // whatever it leads to
		f.Kind = "symlink"
	}
	if f.Kind == "" {
		f.Kind = "other"
	}
	return f
}

// Get opens a file.
func (x *box) Get(ctx context.Context, name string) (sandbox.File, io.ReadCloser, error) {
	given, where, err := x.resolve(ctx, name, true)
	if err != nil {
		return sandbox.File{}, nil, err
	}
	is, err := unary(ctx, x.w, x.w.stat, &pathRequest{where})
	if err != nil {
		return sandbox.File{}, nil, x.refused(ctx, given, err)
	}
	f := is.Entry.file(given)
	if f.Kind != "file" {
		return f, nil, invalid(given, "this is no file, but a "+f.Kind)
	}
	within, stop := x.within(ctx)
	address, header := x.w.file(where)
	resp, body, err := x.w.envdHTTP.Open(within, egress.Request{URL: address, Header: header, MaxBody: endless})
	if err == nil && !resp.OK() {
		err = failed(resp.Status, body, x.w.secrets)
	}
	if err != nil {
		stop()
		return f, nil, x.refused(ctx, given, err)
	}
	return f, &content{ReadCloser: body, stop: stop, x: x, within: ctx}, nil
}

// content is that of a file, as it comes.
type content struct {
	io.ReadCloser
	stop   func()
	x      *box
	within context.Context
}

// Read reads on. Half a file is no file.
func (c *content) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.x.trouble(c.within, "send the whole file", err, "")
	}
	return n, err
}

// Close ends the request.
func (c *content) Close() error {
	defer c.stop()
	return c.ReadCloser.Close()
}

// failed reads an answer that tells of a failure, and closes it.
func failed(status int, body io.ReadCloser, secrets []string) error {
	defer func() { _ = body.Close() }()
	b, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // what came is good enough
	return &statusError{status, said(b, secrets...)}
}

// refused tells errors about a path from those of the machine.
func (x *box) refused(ctx context.Context, name string, err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		switch {
		case e.status == http.StatusBadRequest, e.status == http.StatusNotFound && e.text != "":
			return invalid(name, "the machine does not take this path: "+e.text)
		case e.status == http.StatusInsufficientStorage:
			return &sandbox.Error{Kind: sandbox.Limit, Text: "the disk of the sandbox is full: remove files, or create another sandbox"}
		}
	}
	if code := connect.CodeOf(err); connect.IsWireError(err) {
		if code == connect.CodeNotFound {
			return invalid(name, "there is nothing by this path")
		}
		if code == connect.CodeInvalidArgument || code == connect.CodeInternal || code == connect.CodeFailedPrecondition {
			return invalid(name, "the machine does not take this path")
		}
	}
	return x.trouble(ctx, "reach the file", err, "")
}

// Put makes or replaces a file.
func (x *box) Put(ctx context.Context, name string, from io.Reader, limit int64) (sandbox.File, error) {
	given, where, err := x.resolve(ctx, name, false)
	if err != nil {
		return sandbox.File{}, err
	}
	f := sandbox.File{Path: given, Kind: "file"}
	is, err := unary(ctx, x.w, x.w.stat, &pathRequest{where})
	switch {
	case err == nil && is.Entry.file(given).Kind != "file":
		return f, invalid(given, "there is something by this path that is no file")
	case err != nil && (connect.CodeOf(err) != connect.CodeNotFound || !connect.IsWireError(err)):
		return f, x.refused(ctx, given, err)
	}
	body := &bounded{from: from, left: limit}
	// It gets its name when it is whole.
	part := path.Join(path.Dir(where), ".part-"+strings.ToLower(rand.Text()))
	if err = x.upload(ctx, part, body); err == nil && body.err == nil {
		if _, err = unary(ctx, x.w, x.w.move, &moveRequest{part, where}); err == nil {
			f.Size, f.Modified = limit-body.left, time.Now()
			return f, nil
		}
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	_, _ = unary(rest, x.w, x.w.removal, &pathRequest{part}) // it may not be there
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case errors.Is(body.err, errOver):
		return f, &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("the file is larger than %d MiB, the most that is taken", limit>>20)}
	case body.err != nil:
		return f, body.err
	}
	return f, x.refused(ctx, given, err)
}

// bounded is a body that ends early where something is wrong with it: so the machine is
// done with it before it is told to remove it.
type bounded struct {
	from io.Reader
	left int64
	err  error
}

var errOver = errors.New("it is too long")

// Read reads on.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if int64(n) > b.left {
		b.err = errOver
		return 0, io.EOF
	}
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err, err = err, io.EOF
	}
	return n, err
}

func (x *box) upload(ctx context.Context, where string, from io.Reader) error {
	ctx, stop := x.within(ctx)
	defer stop()
	out, in := io.Pipe()
	form := multipart.NewWriter(in)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer func() { _ = out.Close() }() // the writer ends
	writer.Go(func() {
		part, err := form.CreateFormFile("file", "file")
		if err == nil {
			_, err = io.Copy(part, from)
		}
		if err == nil {
			err = form.Close()
		}
		_ = in.CloseWithError(err) // it never fails
	})
	address, header := x.w.file(where)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, out)
	if err != nil {
		return err
	}
	r.Header = header
	r.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := x.w.envdHTTP.HTTP().Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return failed(resp.StatusCode, resp.Body, x.w.secrets)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the status has said it
	return resp.Body.Close()
}

// List lists a folder. Links are told and not followed.
func (x *box) List(ctx context.Context, name string, limit int) (*sandbox.Listing, error) {
	given, where, err := x.resolve(ctx, name, true)
	if err != nil {
		return nil, err
	}
	depth := maxDepth
	got, err := unary(ctx, x.w, x.w.listing, &listDirRequest{where, depth})
	if err != nil && connect.CodeOf(err) == connect.CodeResourceExhausted && !connect.IsWireError(err) {
		depth = 1 // all of it is too much
		got, err = unary(ctx, x.w, x.w.listing, &listDirRequest{where, depth})
	}
	switch {
	case err != nil && connect.CodeOf(err) == connect.CodeResourceExhausted && !connect.IsWireError(err):
		return nil, &sandbox.Error{Kind: sandbox.Limit, Text: "there is too much in this folder to list it: use a command, such as ls | head"}
	case err != nil:
		return nil, x.refused(ctx, given, err)
	}
	slices.SortFunc(got.Entries, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	l := &sandbox.Listing{Path: given, More: depth == 1}
	size := 0
	for _, e := range got.Entries {
		rest, ok := strings.CutPrefix(e.Path, strings.TrimSuffix(where, "/")+"/")
		if !ok || rest != strings.TrimPrefix(path.Clean("/"+rest), "/") {
			continue // it says what does not belong there
		}
		size += len(e.Path)
		if len(l.Files) >= limit || size > maxPaths {
			l.More = true
			break
		}
		l.Files = append(l.Files, e.file(path.Join(given, rest)))
	}
	return l, nil
}

package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// clean bounds a text from inside.
func clean(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, s)
}

// file returns an entry as a file of the sandbox.
func (e entry) file(name string) sandbox.File {
	switch e.Kind {
	case "file", "directory", "symlink":
	default:
		e.Kind = "other"
	}
	return sandbox.File{Path: name, Size: max(0, e.Size), Kind: e.Kind, Modified: time.Unix(e.Modified, 0).UTC()}
}

// Put makes or replaces a file.
func (x *Box) Put(ctx context.Context, path string, r io.Reader, limit int64) (sandbox.File, error) {
	rel, err := sandbox.Clean(path)
	if err != nil {
		return sandbox.File{}, err
	}
	limit = min(limit, x.o.Spec.Disk)
	name := sandbox.Home + "/" + rel
	c, _, err := x.l.open(ctx, toPut, order{Path: rel, Max: limit})
	if err != nil {
		return sandbox.File{}, x.failed(err)
	}
	n, err := io.Copy(feeder{c, ctx.Done()}, io.LimitReader(r, limit+1))
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = x.failed(err)
	case n > limit:
		err = &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("the file is larger than %s, the most that is taken", amount(limit))}
	}
	if err != nil {
		c.drop() // half a file is of no use, and is removed
		return sandbox.File{Path: name}, err
	}
	c.tell(toFinish, nil)
	answer, err := c.reply(ctx)
	c.drop()
	if err != nil {
		return sandbox.File{Path: name}, x.failed(err)
	}
	if answer.File == nil {
		return sandbox.File{}, errors.New("the sandbox does not say what became of the file")
	}
	f := answer.File.file(name)
	f.Size = n
	return f, nil
}

func amount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// A feeder writes into a channel until it is stopped.
type feeder struct {
	c    *channel
	stop <-chan struct{}
}

// Write sends b.
func (f feeder) Write(b []byte) (int, error) { return f.c.feed(f.stop, b) }

// Get opens a file.
func (x *Box) Get(ctx context.Context, path string) (sandbox.File, io.ReadCloser, error) {
	rel, err := sandbox.Clean(path)
	if err != nil {
		return sandbox.File{}, nil, err
	}
	c, answer, err := x.l.open(ctx, toGet, order{Path: rel}, 0)
	if err != nil {
		return sandbox.File{}, nil, x.failed(err)
	}
	if answer.File == nil {
		c.drop()
		return sandbox.File{}, nil, errors.New("the sandbox does not say which file it is")
	}
	return answer.File.file(sandbox.Home + "/" + rel), download{c}, nil
}

// A download is a file that is read.
type download struct{ c *channel }

// Read reads it.
func (d download) Read(p []byte) (int, error) { return d.c.streams[0].Read(p) }

// Close ends it.
func (d download) Close() error {
	d.c.drop()
	return nil
}

// List lists a folder.
func (x *Box) List(ctx context.Context, path string, limit int) (*sandbox.Listing, error) {
	rel, err := sandbox.Clean(path)
	if err != nil {
		return nil, err
	}
	c, answer, err := x.l.open(ctx, toList, order{Path: rel, Max: int64(limit)})
	if err != nil {
		return nil, x.failed(err)
	}
	c.forget()
	if answer.List == nil {
		return nil, errors.New("the sandbox does not say what is in the folder")
	}
	out := &sandbox.Listing{Path: sandbox.Home, Files: []sandbox.File{}, More: answer.List.More || len(answer.List.Files) > limit}
	if rel != "." {
		out.Path += "/" + rel
	}
	for _, e := range answer.List.Files[:min(limit, len(answer.List.Files))] {
		out.Files = append(out.Files, e.file(out.Path+"/"+strings.ToValidUTF8(e.Path, "\uFFFD")))
	}
	return out, nil
}

// Package archive converts what holds other files: ZIP and tar, also packed by gzip,
// bzip2, xz or Zstandard, and single files that are packed so. Each file becomes a
// part below a heading with its name.
//
// What is unpacked is bounded in all: bytes, files, the ratio to what is packed, and
// how deep one lies in another. A file that cannot be read is a note and not the end.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxFile    = 128 << 20 // bytes of one file in an archive, which is held in memory
	maxListing = 2000
	window     = 64 << 20 // of a decompressor
)

// A member is a file of an archive.
type member struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// ZIP converts a ZIP archive.
func ZIP(ctx context.Context, src draft.Source, out *draft.Out) error {
	if err := draft.Deeper(src); err != nil {
		return err
	}
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	listed := listing{out: out}
	for _, f := range z.Files {
		if !strings.HasSuffix(f.Name, "/") {
			listed.add(f.Name, int64(f.UncompressedSize64))
		}
	}
	listed.write()
	for _, f := range z.Files {
		if strings.HasSuffix(f.Name, "/") || boring(f.Name) {
			continue
		}
		m := member{name: f.Name, size: int64(f.UncompressedSize64), open: func() (io.ReadCloser, error) { return z.OpenFile(f) }}
		if err := convert(ctx, src, m, out); err != nil {
			return err
		}
	}
	return out.Err()
}

// boring reports whether a file is only there for the program that packed it.
func boring(name string) bool {
	file := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || file == ".DS_Store" || file == "Thumbs.db" || strings.HasPrefix(file, "._")
}

// A listing tells what is in an archive before it is converted.
type listing struct {
	out   *draft.Out
	lines []string
	more  int
}

func (l *listing) add(name string, size int64) {
	if len(l.lines) >= maxListing {
		l.more++
		return
	}
	l.lines = append(l.lines, fmt.Sprintf("* %s (%d bytes)", draft.Line(draft.Clip(name, 300)), size))
}

func (l *listing) write() {
	l.out.Block(fmt.Sprintf("%d files:", len(l.lines)+l.more))
	for _, s := range l.lines {
		l.out.Item(s)
	}
	if l.more > 0 {
		l.out.Item(fmt.Sprintf("* and %d more", l.more))
	}
}

// convert converts a file of an archive. It returns only what ends all of it.
func convert(ctx context.Context, parent draft.Source, m member, out *draft.Out) error {
	if err := out.Err(); err != nil {
		return err
	}
	name := draft.Line(draft.Clip(m.name, 300))
	if err := out.Budget.Entry(); err != nil {
		return err
	}
	out.Heading(2, "File: "+name)
	body, err := read(m)
	sub := out.Sub(2)
	if err == nil {
		child := draft.Source{Name: path.Base(m.name), Data: bytes.NewReader(body), Size: int64(len(body)), Nested: parent.Nested + 1}
		err = out.Convert(ctx, child, sub)
	}
	out.Join(name, sub)
	if errors.Is(err, draft.ErrEnough) || ctx.Err() != nil {
		return err
	}
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*draft.Error](err)
	if ok && e.Reason == draft.Large {
		return draft.TooLarge("the file %q in the archive: %s", draft.Clip(name, 200), e.Text)
	}
	out.Block("(not converted: " + err.Error() + ")")
	out.Note("%s is left out: %v", name, err)
	return nil
}

func read(m member) ([]byte, error) {
	if m.size > maxFile {
		return nil, &draft.Error{Reason: draft.Unsupported, Text: fmt.Sprintf("it has %d MiB, and files in archives are read up to %d", m.size>>20, maxFile>>20)}
	}
	r, err := m.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, draft.Damage(err, "it cannot be unpacked")
	}
	if len(body) > maxFile {
		return nil, draft.TooLarge("it unpacks to more than %d MiB", maxFile>>20)
	}
	return body, nil
}

// Tar converts a tar archive.
func Tar(ctx context.Context, src draft.Source, out *draft.Out) error {
	return untar(ctx, src, src.Reader(), out)
}

func untar(ctx context.Context, src draft.Source, r io.Reader, out *draft.Out) error {
	if err := draft.Deeper(src); err != nil {
		return err
	}
	t := tar.NewReader(r)
	files := 0
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			out.Set("files", fmt.Sprint(files))
			return out.Err()
		}
		if err != nil {
			return draft.Damage(err, "the archive is cut off or damaged after %d files", files)
		}
		if h.Typeflag != tar.TypeReg || boring(h.Name) {
			if err := out.Budget.Entry(); err != nil {
				return err
			}
			continue
		}
		files++
		m := member{name: h.Name, size: h.Size, open: func() (io.ReadCloser, error) { return io.NopCloser(t), nil }}
		if err := convert(ctx, src, m, out); err != nil {
			return err
		}
	}
}

// Packed converts a single file that is packed, or the tar archive in it.
func Packed(ctx context.Context, src draft.Source, out *draft.Out) error {
	if err := draft.Deeper(src); err != nil {
		return err
	}
	r, end, err := unpacker(src)
	if err != nil {
		return draft.Damage(err, "the file cannot be unpacked")
	}
	defer end()
	r = out.Budget.Reader(r, src.Size)
	head := make([]byte, 512)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return draft.Damage(err, "the file cannot be unpacked: it is cut off or damaged")
	}
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if n > 262 && string(head[257:262]) == "ustar" {
		return untar(ctx, src, r, out)
	}
	m := member{open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
	body, err := read(m)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(path.Base(src.Name), path.Ext(src.Name))
	if strings.HasSuffix(strings.ToLower(src.Name), ".tgz") {
		name += ".tar"
	}
	child := draft.Source{Name: name, URL: src.URL, Data: bytes.NewReader(body), Size: int64(len(body)), Nested: src.Nested + 1}
	return out.Convert(ctx, child, out)
}

// unpacker returns a reader of what is packed, by its first bytes.
func unpacker(src draft.Source) (io.Reader, func(), error) {
	head := src.Head(6)
	nothing := func() {}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		r, err := gzip.NewReader(src.Reader())
		return r, nothing, err
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(src.Reader()), nothing, nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		r, err := xz.ReaderConfig{DictCap: window}.NewReader(src.Reader())
		return r, nothing, err
	default:
		r, err := zstd.NewReader(src.Reader(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(window), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, nothing, err
		}
		return r, r.Close, nil
	}
}

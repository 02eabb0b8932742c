package draft

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"
)

// Bounds on what is unpacked of one document, with all that lie in it.
const (
	maxUnpacked = 2 << 30 // bytes
	maxEntries  = 20_000
	maxNested   = 4
	freeRatio   = 32 << 20 // bytes of one entry of which no ratio is asked
	maxRatio    = 200
)

// A Budget bounds what is unpacked of a document, and what it holds before it is written.
type Budget struct{ bytes, entries, held, charts atomic.Int64 }

// NewBudget returns a budget of which nothing is spent.
func NewBudget() *Budget { return &Budget{} }

// Entry spends one entry.
func (b *Budget) Entry() error {
	if b.entries.Add(1) > maxEntries {
		return TooLarge("it holds more than %d files", maxEntries)
	}
	return nil
}

// Deeper returns an error where a document lies too deep in others.
func Deeper(src Source) error {
	if src.Nested >= maxNested {
		return &Error{Reason: Unsupported, Text: fmt.Sprintf("it lies in %d others, and no deeper ones are read", src.Nested)}
	}
	return nil
}

// Reader bounds r, which unpacks so many bytes.
func (b *Budget) Reader(r io.Reader, packed int64) io.Reader {
	return &bounded{r: r, budget: b, packed: max(packed, 1)}
}

type bounded struct {
	r      io.Reader
	budget *Budget
	packed int64
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if b.n > freeRatio && b.n/b.packed > maxRatio {
		return n, TooLarge("one of its parts unpacks to more than %d times its size: a decompression bomb", maxRatio)
	}
	if b.budget.bytes.Add(int64(n)) > maxUnpacked {
		return n, TooLarge("it unpacks to more than %d GiB", maxUnpacked>>30)
	}
	return n, err
}

// A Zip is a container whose parts are named, such as a DOCX.
type Zip struct {
	Files  []*zip.File
	byName map[string]*zip.File
	budget *Budget
}

// OpenZip opens a container.
func OpenZip(src Source, budget *Budget) (*Zip, error) {
	r, err := zip.NewReader(src.Data, src.Size)
	if err != nil {
		return nil, Damage(err, "the file is no complete ZIP container: it is cut off or damaged")
	}
	if len(r.File) > maxEntries {
		return nil, TooLarge("it holds %d files, and no more than %d are read", len(r.File), maxEntries)
	}
	z := &Zip{Files: r.File, byName: make(map[string]*zip.File, len(r.File)), budget: budget}
	for _, f := range r.File {
		z.byName[Part(f.Name)] = f
	}
	return z, nil
}

// Part returns the name of a part as all names are compared.
func Part(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

// Has reports whether there is a part.
func (z *Zip) Has(name string) bool { return z.byName[Part(name)] != nil }

// Size returns the size that a part claims, unpacked.
func (z *Zip) Size(name string) int64 {
	if f := z.byName[Part(name)]; f != nil {
		return int64(f.UncompressedSize64)
	}
	return 0
}

// Open opens a part. A part that is missing is a *Error.
func (z *Zip) Open(name string) (io.ReadCloser, error) {
	f := z.byName[Part(name)]
	if f == nil {
		return nil, Damage(nil, "the part %q is missing in the file", Clip(name, 200))
	}
	return z.OpenFile(f)
}

// OpenFile opens an entry.
func (z *Zip) OpenFile(f *zip.File) (io.ReadCloser, error) {
	if f.Flags&1 != 0 {
		return nil, Locked("file")
	}
	r, err := f.Open()
	if err != nil {
		if errors.Is(err, zip.ErrAlgorithm) {
			return nil, &Error{Unsupported, "it is packed by a method that is not known", err}
		}
		return nil, Damage(err, "the part %q cannot be unpacked", Clip(f.Name, 200))
	}
	return struct {
		io.Reader
		io.Closer
	}{z.budget.Reader(r, int64(f.CompressedSize64)), r}, nil
}

// Read returns a part as a whole, at most so many bytes of it.
func (z *Zip) Read(name string, most int64) ([]byte, error) {
	r, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, Damage(err, "the part %q cannot be unpacked", Clip(name, 200))
	}
	if int64(len(b)) > most {
		return nil, TooLarge("its part %q has more than %d MiB", Clip(name, 200), most>>20)
	}
	return b, nil
}

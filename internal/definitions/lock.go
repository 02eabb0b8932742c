package definitions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// layout is the version of the file. A later one is never misread.
const layout = "1"

const (
	maxLock      = 128 << 20 // bytes of the file
	maxLockNodes = 4_000_000
)

// about tells whoever finds the file what it is.
const about = "Tool definitions that were accepted. Written by tenon lock, checked by tenon verify: review changes as you do code."

// A Lock holds the accepted definitions. The zero value holds none. It is not safe
// for concurrent change.
type Lock struct {
	servers []Server
	sum     string // of the text that it was read from
}

// Sum returns the hash of the text that the lock was read from, or "".
func (l *Lock) Sum() string { return l.sum }

// Servers returns the names of all servers, sorted.
func (l *Lock) Servers() []string {
	names := make([]string, len(l.servers))
	for i := range l.servers {
		names[i] = l.servers[i].Name
	}
	return names
}

func (l *Lock) place(name string) (int, bool) {
	return slices.BinarySearchFunc(l.servers, name, func(s Server, name string) int { return strings.Compare(s.Name, name) })
}

// Server returns what was accepted of a server, or nil.
func (l *Lock) Server(name string) *Server {
	if l == nil {
		return nil
	}
	if i, ok := l.place(name); ok {
		return &l.servers[i]
	}
	return nil
}

// Accept takes a server in place of what was accepted of it before.
func (l *Lock) Accept(s *Server) {
	i, ok := l.place(s.Name)
	if !ok {
		l.servers = slices.Insert(l.servers, i, *s)
	}
	l.servers[i] = *s
	l.servers[i].Tools = slices.SortedFunc(slices.Values(s.Tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
}

// Remove takes a server out.
func (l *Lock) Remove(name string) {
	if i, ok := l.place(name); ok {
		l.servers = slices.Delete(l.servers, i, i+1)
	}
}

func textNode(s string) *node { return &node{kind: text, text: s} }

func (n *node) add(key string, value *node) {
	n.keys, n.items = append(n.keys, key), append(n.items, value)
}

// Bytes returns the file: JSON, with one member a line, sorted, so that a change of
// one thing changes few lines. The same lock gives the same bytes.
func (l *Lock) Bytes() []byte {
	servers := &node{kind: object}
	for i := range l.servers {
		servers.add(l.servers[i].Name, l.servers[i].file())
	}
	root := &node{kind: object}
	root.add("about", textNode(about))
	root.add("servers", servers)
	root.add("version", &node{kind: number, text: layout})
	return append(root.pretty(nil, ""), '\n')
}

// file returns the server as it stands in the file.
func (s *Server) file() *node {
	n, source, tools := &node{kind: object}, &node{kind: object}, &node{kind: object}
	for _, f := range s.Source.fields() {
		if *f.value != "" {
			source.add(f.name, textNode(*f.value))
		}
	}
	for i := range s.Tools {
		tools.add(s.Tools[i].Name, s.Tools[i].file())
	}
	if s.Instructions != "" {
		n.add("instructions", lines(s.Instructions))
	}
	n.add("source", source)
	n.add("tools", tools)
	return n
}

// file returns the tool as it stands in the file. Its description stands by its
// lines, apart from the rest.
func (t *Tool) file() *node {
	n := &node{kind: object}
	if t.body != nil {
		rest := t.body
		if at := t.description(); at >= 0 {
			n.add("description", lines(rest.items[at].text))
			rest = &node{kind: object, keys: slices.Delete(slices.Clone(rest.keys), at, at+1), items: slices.Delete(slices.Clone(rest.items), at, at+1)}
		}
		n.add("definition", rest)
	}
	if len(t.Found) > 0 {
		found := &node{kind: list}
		for _, rule := range t.Found {
			found.items = append(found.items, textNode(rule))
		}
		n.add("found", found)
	}
	n.add("hash", textNode(t.Hash))
	return n
}

// description returns the place of the description, or -1 where there is not just
// one, or where it is no text.
func (t *Tool) description() int {
	at := slices.Index(t.body.keys, "description")
	if at < 0 || t.body.items[at].kind != text || slices.Contains(t.body.keys[at+1:], "description") {
		return -1
	}
	return at
}

// Read reads a file that Write wrote. One that is not there is an error that is
// fs.ErrNotExist. Anything that Write would not have written is an error too: a file
// that was mended by hand, or merged, accepts nothing.
func Read(path string) (*Lock, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxLock+1))
	if err != nil {
		return nil, err
	}
	l, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return l, nil
}

// Parse reads the text of a file: see Read.
func Parse(b []byte) (*Lock, error) {
	if len(b) > maxLock {
		return nil, errors.New("it is too large")
	}
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) // as Git may check it out on Windows
	root, err := parse(b, maxLockNodes, nil)
	if err != nil {
		return nil, err
	}
	if v := root.member("version"); v == nil || v.text != layout {
		return nil, errors.New("it is not of a version that this program knows")
	}
	l := &Lock{sum: hashOf(b)}
	servers := root.member("servers")
	if servers == nil || servers.kind != object {
		return nil, errors.New("it has no servers")
	}
	for i, name := range servers.keys {
		s, err := readServer(name, servers.items[i])
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", Show(name, false), err)
		}
		if l.Server(name) != nil {
			return nil, fmt.Errorf("server %s stands twice", Show(name, false))
		}
		l.Accept(s)
	}
	if string(l.Bytes()) != string(b) {
		return nil, errors.New("it is not as tenon lock writes it: it was changed by hand, or merged")
	}
	return l, nil
}

func readServer(name string, n *node) (*Server, error) {
	s := &Server{Name: name}
	source, tools := n.member("source"), n.member("tools")
	if source == nil || tools == nil || tools.kind != object {
		return nil, errors.New("it has no source or no tools")
	}
	for _, f := range s.Source.fields() {
		*f.value = source.member(f.name).str()
	}
	if n := n.member("instructions"); n != nil {
		s.Instructions, _ = n.joined()
	}
	for i, name := range tools.keys {
		t := Tool{Name: name, Hash: tools.items[i].member("hash").str()}
		if rest := tools.items[i].member("definition"); rest != nil && rest.kind == object {
			t.body = rest
			if d := tools.items[i].member("description"); d != nil {
				if text, ok := d.joined(); ok {
					t.body.add("description", textNode(text))
				}
			}
			if t.body.hash() != t.Hash {
				return nil, fmt.Errorf("tool %s: its hash is not that of its definition", Show(name, false))
			}
		}
		if found := tools.items[i].member("found"); found != nil {
			for _, rule := range found.items {
				t.Found = append(t.Found, rule.str())
			}
		}
		s.Tools = append(s.Tools, t)
	}
	return s, nil
}

// Write writes the file, whole or not at all.
func (l *Lock) Write(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tenon-lock-*")
	if err != nil {
		return err
	}
	_, err = f.Write(l.Bytes())
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Package text converts what is text already: plain text in any charset, Markdown,
// source code, CSV and TSV, JSON, XML, feeds and notebooks.
package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const sample = 64 << 10 // bytes by which an encoding is told

// Decode returns a text in UTF-8, and the name of the encoding that it was in. What may
// be another one, it notes.
func Decode(src draft.Source, out *draft.Out) (io.Reader, string) {
	head := src.Head(sample)
	e, name, other := detect(head, src.MIME)
	if other != "" {
		out.Note("nothing says how the text is encoded: it was read as %s, which fits best, but may be %s. Where words make no sense, get it in UTF-8", name, other)
	}
	if e == nil {
		r := src.Reader()
		if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
			_, _ = r.Seek(3, io.SeekStart) // within the source
		}
		return r, name
	}
	return e.NewDecoder().Reader(src.Reader()), name
}

// detect returns the encoding of a text, nil for UTF-8: by its mark, by what was
// declared, by being valid, and last by its letters, where another one may fit as well.
func detect(head []byte, declared string) (e encoding.Encoding, name, other string) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return nil, "utf-8", ""
	case bytes.HasPrefix(head, []byte("\xff\xfe")), looksWide(head, 1):
		e, name = charset.Lookup("utf-16le")
		return e, name, ""
	case bytes.HasPrefix(head, []byte("\xfe\xff")), looksWide(head, 0):
		e, name = charset.Lookup("utf-16be")
		return e, name, ""
	case valid(head):
		return nil, "utf-8", ""
	}
	if _, params, err := mime.ParseMediaType(declared); err == nil && params["charset"] != "" {
		if e, name := charset.Lookup(label(params["charset"])); e != nil && name != "utf-8" {
			return e, name, ""
		}
	}
	if beyond(head) <= few {
		if all := guesses(head); len(all) > 0 {
			if len(all) > 1 && all[0].score-all[1].score < narrow {
				other = all[1].name
			}
			return all[0].e, all[0].name, other
		}
	}
	results, err := chardet.NewTextDetector().DetectAll(head)
	if err != nil {
		results = nil
	}
	// The detector gives equal guesses in any order.
	slices.SortStableFunc(results, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(rank(a.Charset), rank(b.Charset)), cmp.Compare(a.Charset, b.Charset))
	})
	for _, r := range results {
		e, name := charset.Lookup(label(r.Charset))
		if e == nil || name == "utf-8" || r.Confidence < 10 {
			continue
		}
		// A guess that cannot read the text is none.
		if text, err := e.NewDecoder().Bytes(head); err == nil && fits(text, name) {
			return e, name, ""
		}
	}
	e, name = charset.Lookup("windows-1252")
	return e, name, ""
}

// label returns the name of an encoding as the web has it.
func label(name string) string {
	switch name = strings.ToLower(name); name {
	case "gb-18030":
		return "gb18030"
	case "cp932", "mskanji", "ms932":
		return "shift_jis"
	case "cp936":
		return "gbk"
	case "cp949":
		return "euc-kr"
	case "cp950":
		return "big5"
	}
	return name
}

// rank orders guesses that are equally good: first those that fit few texts.
func rank(name string) int {
	if i := slices.Index([]string{"shift_jis", "euc-jp", "euc-kr", "big5", "gb18030"}, label(name)); i >= 0 {
		return i
	}
	return 10
}

// fits reports whether a text looks as it should after it was decoded.
func fits(text []byte, name string) bool {
	if bytes.Count(text, []byte("\uFFFD"))*200 > len(text) {
		return false
	}
	if name != "shift_jis" {
		return true
	}
	letters, narrow := 0, 0 // narrow kana are what other encodings look like
	for _, r := range string(text) {
		if r >= 0x80 {
			letters++
		}
		if r >= 0xff61 && r <= 0xff9f {
			narrow++
		}
	}
	return narrow*4 <= letters
}

// valid reports whether a text is UTF-8; its last letter may be cut.
func valid(head []byte) bool {
	for range utf8.UTFMax {
		if utf8.Valid(head) {
			return true
		}
		if len(head) < sample || len(head) == 0 {
			return false
		}
		head = head[:len(head)-1]
	}
	return false
}

// Wide reports whether a text has two bytes for each letter, though nothing says so.
func Wide(head []byte) bool { return looksWide(head, 0) || looksWide(head, 1) }

// looksWide reports whether every other byte of a text is zero, from that position.
func looksWide(head []byte, zero int) bool {
	if len(head) < 8 {
		return false
	}
	n, other := 0, 0
	for i := zero; i < min(len(head), 1000); i += 2 {
		if head[i] == 0 {
			n++
		}
		if j := i ^ 1; j < len(head) && head[j] == 0 {
			other++
		}
	}
	return n > min(len(head), 1000)*2/5 && other < n/4
}

// Plain converts a text to itself, without white space at the ends of its lines.
func Plain(_ context.Context, src draft.Source, out *draft.Out) error {
	r, name := Decode(src, out)
	if name != "utf-8" {
		out.Set("charset", name)
	}
	return lines(r, out, func(line string) string { return strings.TrimRight(line, " \t\r\f") })
}

// lines writes a text line by line. Long lines come in pieces.
func lines(r io.Reader, out *draft.Out, edit func(string) string) error {
	b := bufio.NewReaderSize(r, 64<<10)
	empty := 0
	for {
		piece, err := b.ReadSlice('\n')
		text := edit(strings.TrimSuffix(string(piece), "\n"))
		switch {
		case len(piece) == 0:
		case errors.Is(err, bufio.ErrBufferFull):
			out.Raw(strings.TrimSuffix(string(piece), "\n"))
		case text == "":
			if empty++; empty < 3 {
				out.Raw("\n")
			}
		default:
			empty = 0
			out.Raw(text + "\n")
		}
		if errors.Is(err, io.EOF) {
			return out.Err()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return draft.Damage(err, "the text cannot be read")
		}
		if err := out.Err(); err != nil {
			return err
		}
	}
}

// Markdown hands Markdown on, with its headings in the outline.
func Markdown(_ context.Context, src draft.Source, out *draft.Out) error {
	r, _ := Decode(src, out)
	fenced := false
	b := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := b.ReadSlice('\n')
		text := strings.TrimRight(string(line), "\r\n")
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			fenced = !fenced
		}
		level := len(text) - len(strings.TrimLeft(text, "#"))
		if !fenced && level > 0 && level <= 6 && len(text) > level && text[level] == ' ' && len(line) < 1000 {
			out.HeadingLine(level, unclosed(text[level:]))
		} else if text != "" || len(line) > 0 {
			out.Raw(text + "\n")
		}
		if errors.Is(err, io.EOF) {
			return out.Err()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return draft.Damage(err, "the text cannot be read")
		}
		if err := out.Err(); err != nil {
			return err
		}
	}
}

// unclosed returns the text of a heading without the marks that may close it, which
// stand behind a space.
func unclosed(s string) string {
	s = strings.TrimSpace(s)
	if bare := strings.TrimRight(s, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		return strings.TrimSpace(bare)
	}
	return s
}

// Language returns the language of source code by the name of its file, or "".
func Language(name string) string {
	file := strings.ToLower(path.Base(name))
	if l := languages[file]; l != "" {
		return l
	}
	return languages[path.Ext(file)]
}

var languages = map[string]string{
	".go": "go", ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "jsx",
	".ts": "typescript", ".tsx": "tsx", ".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".groovy": "groovy", ".c": "c", ".h": "c",
	".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".cs": "csharp", ".fs": "fsharp", ".vb": "vb", ".rs": "rust", ".rb": "ruby",
	".php": "php", ".pl": "perl", ".pm": "perl", ".lua": "lua", ".r": "r", ".jl": "julia", ".swift": "swift", ".m": "objective-c", ".mm": "objective-c",
	".dart": "dart", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang", ".hs": "haskell", ".ml": "ocaml", ".clj": "clojure", ".lisp": "lisp", ".el": "lisp",
	".scm": "scheme", ".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".fish": "fish", ".ps1": "powershell", ".bat": "bat", ".cmd": "bat", ".sql": "sql",
	".css": "css", ".scss": "scss", ".less": "less", ".vue": "vue", ".svelte": "svelte", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".ini": "ini", ".cfg": "ini",
	".conf": "conf", ".properties": "properties", ".env": "sh", ".tf": "hcl", ".hcl": "hcl", ".proto": "proto", ".graphql": "graphql", ".gql": "graphql", ".tex": "tex",
	".bib": "bibtex", ".asm": "asm", ".s": "asm", ".v": "verilog", ".vhd": "vhdl", ".zig": "zig", ".nim": "nim", ".d": "d", ".pas": "pascal", ".f90": "fortran", ".for": "fortran",
	".cob": "cobol", ".diff": "diff", ".patch": "diff", ".cmake": "cmake", ".gradle": "groovy", ".nix": "nix", ".sol": "solidity", ".awk": "awk", ".vim": "vim",
	"makefile": "make", "dockerfile": "dockerfile", "cmakelists.txt": "cmake", "gemfile": "ruby", "rakefile": "ruby", "jenkinsfile": "groovy",
}

// Code converts source code: it is fenced with its language.
func Code(_ context.Context, src draft.Source, out *draft.Out) error {
	language := Language(src.Name)
	out.Set("language", language)
	return fenced(src, out, language)
}

// fenced writes a text as it is between fences that it cannot close.
func fenced(src draft.Source, out *draft.Out, language string) error {
	fence := "```"
	if bytes.Contains(src.Head(1<<20), []byte("```")) {
		fence = "````````"
	}
	r, _ := Decode(src, out)
	out.Block(fence + language)
	// Block wants an empty line behind it; a fence wants none.
	out.Tight()
	if err := lines(r, out, func(line string) string { return strings.TrimRight(line, "\r") }); err != nil {
		return err
	}
	out.Raw(fence)
	return out.Err()
}

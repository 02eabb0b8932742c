package hostlog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/hostlog/journal"
	text "github.com/tenon-mcp/tenon/servers/hostlog/plain"
	"github.com/tenon-mcp/tenon/servers/hostlog/unpack"
)

const (
	maxSources = 300
	maxUnits   = 40
)

type sourcesInput struct {
	Contains string `json:"contains,omitempty" jsonschema:"only sources whose path contains this text"`
}

type sourcesOutput struct {
	Sources []sourceValue `json:"sources" jsonschema:"what can be given as source, written last first"`
	Paths   []string      `json:"paths" jsonschema:"directories and files that this server may read"`
	Notes   []string      `json:"notes" jsonschema:"what was left out"`
}

type sourceValue struct {
	Source   string   `json:"source"`
	Kind     string   `json:"kind"` // journal, text, unified
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	First    string   `json:"first,omitempty"`
	Last     string   `json:"last,omitempty"`
	Machine  string   `json:"machine,omitempty"`
	Units    []string `json:"units,omitempty"`
	Readable bool     `json:"readable"`
	Problem  string   `json:"problem,omitempty"`
}

func (s *server) addSources(srv *mcp.Server) {
	add(s, srv, spec{
		name: "list_log_sources", title: "List log sources",
		description: "Returns the logs of this machine that query_host_log and its sister tools can read: the systemd journal and log files with their rotated files, " +
			"each with size, time span, and units of a journal; for those that cannot be read, why, and how to give the right.",
	}, s.sources)
}

func (s *server) sources(ctx context.Context, in sourcesInput) (string, sourcesOutput, error) {
	if len(in.Contains) > 500 {
		return "", sourcesOutput{}, errors.New("contains is longer than 500 characters")
	}
	out := sourcesOutput{Sources: []sourceValue{}, Paths: []string{}, Notes: []string{}}
	rs, missing := s.places.look()
	for _, r := range rs {
		out.Paths = append(out.Paths, filepath.Join(r.dir, r.only))
	}
	l := &lister{s, rs}
	there := rs.files(ctx)
	var names []string
	groups := map[string][]file{}
	for _, f := range there.files {
		name := f.base
		if f.journal {
			name = filepath.Dir(f.path)
		}
		if !strings.Contains(strings.ToLower(name), strings.ToLower(in.Contains)) {
			continue
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], f)
	}
	if runtime.GOOS == "darwin" {
		out.Sources = append(out.Sources, sourceValue{Source: sourceUnified, Kind: "unified", Readable: true})
	}
	for i, name := range names {
		if ctx.Err() != nil || len(out.Sources) >= maxSources {
			out.Notes = append(out.Notes, fmt.Sprintf("%d more sources were not looked into; use contains", len(names)-i))
			break
		}
		if v, ok := l.describe(ctx, name, groups[name]); ok {
			out.Sources = append(out.Sources, v)
		}
	}
	out.Sources = append(out.Sources, l.closed(ctx)...)
	if there.more {
		out.Notes = append(out.Notes, "there are more files than are looked into")
	}
	if len(missing) > 0 {
		out.Notes = append(out.Notes, absent(missing)+". They are looked for again at each call")
	}
	if len(out.Paths) == 0 && len(missing) == 0 {
		out.Notes = append(out.Notes, "there are no logs in the usual places of this system; an operator names others with the option paths of the server hostlog")
	}
	return sourcesText(&out, rs), out, ended(ctx)
}

func sourcesText(out *sourcesOutput, rs roots) string {
	var b strings.Builder
	b.WriteString("## Log sources\n\n| source | kind | files | size | first | last | |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	left := sourcesChars - 700 - runes(strings.Join(out.Paths, ", "))
	for i, v := range out.Sources {
		about := v.Problem
		if len(v.Units) > 0 {
			about = "units: " + strings.Join(v.Units, ", ")
		}
		if !v.Readable {
			about = "not readable: " + v.Problem
		}
		row := fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s |\n", cell(v.Source), v.Kind, v.Files, size(v.Bytes), v.First, v.Last, cell(cut(about, 600)))
		if left -= runes(row); left < 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%d more sources were left out of this table; use contains", len(out.Sources)-i))
			break
		}
		b.WriteString(row)
	}
	fmt.Fprintf(&b, "\nMay be read: %s\n", cut(plain(rs.where(), 2000), 600))
	b.WriteString(notes(out.Notes))
	return cut(b.String(), sourcesChars)
}

// A lister looks into the files of sources.
type lister struct {
	s     *server
	roots roots
}

// describe looks into the files of one source.
func (l *lister) describe(ctx context.Context, name string, files []file) (sourceValue, bool) {
	v := sourceValue{Source: plain(name, 300), Kind: "text", Files: len(files)}
	if files[0].journal {
		v.Kind = "journal"
	}
	var first, last time.Time
	units := map[string]bool{}
	isLog := false
	for _, f := range files {
		v.Bytes += f.size
		a, b, ok, err := l.span(ctx, f, &v, units)
		if err != nil {
			v.Problem = remedy(f.path, err)
			continue
		}
		if !ok {
			continue
		}
		isLog, v.Readable = true, true
		if first.IsZero() || !a.IsZero() && a.Before(first) {
			first = a
		}
		if b.After(last) {
			last = b
		}
	}
	v.First, v.Last = l.s.stamp(first), l.s.stamp(last)
	for u := range units {
		v.Units = append(v.Units, plain(u, 80))
	}
	slices.Sort(v.Units)
	if len(v.Units) > maxUnits {
		v.Units = append(v.Units[:maxUnits], "…")
	}
	return v, isLog || v.Problem != ""
}

// span returns the times of the first and the last entry of a file. It reports false
// where the file is no log.
func (l *lister) span(ctx context.Context, f file, v *sourceValue, units map[string]bool) (first, last time.Time, ok bool, err error) {
	opened, info, err := l.roots.open(f.path)
	if err != nil {
		return first, last, false, err
	}
	defer opened.Close()
	if f.journal {
		j, err := journal.Open(&patientAt{ctx, opened}, info.Size())
		if err != nil {
			return first, last, false, err
		}
		i := j.Info()
		v.Kind, v.Machine = "journal", hex.EncodeToString(i.MachineID[:])
		if len(units) <= maxUnits {
			for _, u := range j.Values("_SYSTEMD_UNIT", maxUnits+1) {
				units[u] = true
			}
		}
		return i.First, i.Last, true, nil
	}
	p := text.Parser{Zone: l.s.zone, Ref: info.ModTime()}
	r, err := unpack.Open(f.path, &patient{ctx, opened})
	if err != nil {
		return first, last, false, err
	}
	defer r.Close()
	head := make([]byte, sampled)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return first, last, false, err
	}
	err = nil // the file is short
	first, dated, isText := p.Sample(head[:n])
	last = info.ModTime()
	if dated && !unpack.Packed(f.path) {
		err = p.Backward(&patientAt{ctx, opened}, info.Size(), true, func(r text.Record) bool { last = r.Time; return false })
	}
	return first, last, isText, err
}

// remedy says why a file cannot be read and, where it is a matter of rights, how to
// give them.
func remedy(path string, err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return reason(err)
	}
	info, e := os.Lstat(path)
	if e == nil {
		if g := groupOf(info); g != "" {
			return fmt.Sprintf("permission denied. Members of the group %s may read it: usermod -aG %s USER, then start the server anew", g, g)
		}
	}
	return "permission denied. An operator can give the right with: setfacl -R -m u:USER:rX " + plain(strconv.Quote(filepath.Dir(path)), 200)
}

// closed returns the directories that cannot be listed.
func (l *lister) closed(ctx context.Context) (list []sourceValue) {
	for _, r := range l.roots {
		if r.only != "" {
			continue
		}
		seen := 0
		_ = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			if seen++; ctx.Err() != nil || seen > maxSeen || len(list) >= 20 {
				return fs.SkipAll
			}
			if err != nil && d != nil && d.IsDir() {
				list = append(list, sourceValue{Source: plain(path, 300), Kind: "directory", Problem: remedy(path, err)})
			}
			return nil
		})
	}
	return list
}

func itoa(n int) string { return strconv.Itoa(n) }

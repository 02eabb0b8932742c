package hostlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/servers/hostlog/journal"
	text "github.com/tenon-mcp/tenon/servers/hostlog/plain"
	"github.com/tenon-mcp/tenon/servers/hostlog/unpack"
)

const (
	// late is how many entries in a row must be too old before a file is left: the
	// clock of a machine is set back now and then, and writers overtake each other.
	late = 200

	sampled     = 64 << 10 // bytes by which a file is known
	maxUnpacked = 4 << 30  // bytes of a packed file
	maxNotes    = 8
)

// A visitor is shown the entries of the time asked for, of one file after the other.
// While newest is set they come newest first, else (from packed files) oldest first.
// It returns false when it has enough of this file.
type visitor func(e *entry, newest bool) bool

// A walk goes through the files that a query is about.
type walk struct {
	s       *server
	roots   roots
	q       query
	visit   visitor
	all     bool // the visitor wants entries that do not match too
	floor   func() time.Time
	fresh   func() // is told of each file before it is read
	files   int    // that were read
	entries int    // that were looked at
	notes   []string
	lead    []string // what could not be read for want of a right, or is not there
	denied  []closed
	dropped int // notes that found no place
	there   contents
	skipped bool // there was something in the time asked for that the floor is above
}

func (w *walk) note(format string, args ...any) {
	if len(w.notes) >= maxNotes {
		w.dropped++
		return
	}
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// run reads all files of the query and returns what is to be said of it.
func (w *walk) run(ctx context.Context) (name string, err error) {
	if w.q.source == sourceUnified {
		return sourceUnified, w.unified(ctx)
	}
	var missing []string
	w.roots, missing = w.s.places.look()
	if len(w.roots) == 0 && len(missing) > 0 {
		return "", errors.New("there is nothing to read: " + absent(missing) + ". The operator looks at the option paths of the server hostlog")
	}
	list, name, in, err := w.roots.choose(ctx, w.q.source)
	if err != nil {
		if len(missing) > 0 {
			err = fmt.Errorf("%w. And %s", err, absent(missing))
		}
		return "", err
	}
	w.denied = in.closed
	w.readAll(ctx, list, in.more)
	if name == sourceJournal && w.q.source == "" && w.files == 0 && len(w.denied) > 0 {
		name = sourceAll // the journal is not for this user, other logs may be
		w.readAll(ctx, slices.DeleteFunc(in.files, func(f file) bool { return f.journal }), false)
	}
	if w.dropped > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%d more files could not be read whole", w.dropped))
	}
	if len(w.denied) > 0 && w.files == 0 && ctx.Err() == nil {
		return "", errors.New("nothing could be read. " + shut(w.denied))
	}
	if len(w.denied) > 0 {
		w.lead = append(w.lead, "not all could be read. "+shut(w.denied))
	}
	if len(missing) > 0 {
		w.lead = append(w.lead, absent(missing))
	}
	return name, ended(ctx)
}

// said returns all notes of a walk, those that stand at the head of a text first.
func (w *walk) said() []string { return append(append([]string{}, w.lead...), w.notes...) }

// readAll reads files, as far as time allows.
func (w *walk) readAll(ctx context.Context, list []file, more bool) {
	switch {
	case ctx.Err() != nil:
		w.note("the time for one call was over while looking for files. Name one as source")
	case more:
		w.note("there are more log files than are looked into; name one as source")
	}
	for _, f := range list {
		if ctx.Err() != nil {
			w.note("the time for one call was over before %s and what is older was read. Ask about a shorter time, or one source", plain(f.path, 200))
			break
		}
		if w.fresh != nil {
			w.fresh()
		}
		if f.mtime.Before(w.from()) {
			w.skipped = w.skipped || !f.mtime.Before(w.q.start)
			w.there.spans(time.Time{}, f.mtime)
			continue // nothing in it is newer than its last change
		}
		switch err := w.file(ctx, f); {
		case errors.Is(err, fs.ErrPermission):
			w.denied = append(w.denied, closed{f.path, err})
		case err != nil:
			w.note("%s: %s", plain(f.path, 200), reason(err))
		}
	}
}

// shut names what may not be read, and how to give the right.
func shut(list []closed) string {
	const most = 3
	var said []string
	last := ""
	for i, c := range list {
		if len(said) == most {
			said = append(said, fmt.Sprintf("And %d more, which list_log_sources names", len(list)-i))
			break
		}
		if how := remedy(c.path, c.err); how != last { // the files of a directory have the same
			said, last = append(said, plain(c.path, 200)+": "+how), how
		}
	}
	return strings.Join(said, ". ")
}

// from returns the time before which nothing is wanted any more.
func (w *walk) from() time.Time {
	if w.floor != nil {
		if f := w.floor(); f.After(w.q.start) {
			return f
		}
	}
	return w.q.start
}

func (w *walk) file(ctx context.Context, f file) error {
	opened, info, err := w.roots.open(f.path)
	if err != nil {
		return err
	}
	defer opened.Close()
	at := &patientAt{ctx, opened}
	switch {
	case f.journal:
		return w.journal(ctx, f, at, info.Size())
	case unpack.Packed(f.path):
		return w.packed(ctx, f, opened, info.ModTime())
	}
	p := text.Parser{Zone: w.s.zone, Ref: info.ModTime()}
	head := make([]byte, min(sampled, info.Size()))
	n, err := at.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first, dated, isText := p.Sample(head[:n])
	if !isText {
		if w.q.source != "" && w.q.source != sourceAll {
			return errors.New("this is no text")
		}
		return nil
	}
	w.files++
	w.there.spans(first, info.ModTime())
	size := info.Size()
	if dated && w.q.end.Before(w.s.now()) {
		size = p.Seek(at, size, w.q.end)
	}
	pass := w.passer(ctx, f, true)
	if err := p.Backward(at, size, dated, pass.record); err != nil && ctx.Err() == nil {
		if errors.Is(err, text.ErrEndless) && w.entries > 0 {
			return fmt.Errorf("what is older than the entries in the answer was not read: %w", err)
		}
		return err
	}
	return pass.stopped()
}

// packed reads a packed file from its beginning, for there is no other way.
func (w *walk) packed(ctx context.Context, f file, opened *os.File, mtime time.Time) error {
	r, err := unpack.Open(f.path, &patient{ctx, opened})
	if err != nil {
		return err
	}
	defer r.Close()
	w.files++
	p := text.Parser{Zone: w.s.zone, Ref: mtime}
	pass := w.passer(ctx, f, false)
	if err := p.Forward(io.LimitReader(&patient{ctx, r}, maxUnpacked), pass.record); err != nil {
		return fmt.Errorf("unpacking it ended early, what came before is in the answer: %w", err)
	}
	return pass.stopped()
}

// A patient reader stops reading when its call is over.
type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// A patientAt is a patient reader at offsets.
type patientAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (p *patientAt) ReadAt(b []byte, at int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.ReadAt(b, at)
}

// A passer gives the entries of one file to the visitor, those in the time asked for,
// and knows when to stop.
type passer struct {
	w      *walk
	ctx    context.Context
	f      file
	newest bool
	beyond int       // entries in a row that are beyond the time
	last   time.Time // of the entry that was seen last
	over   bool      // the time for the call was over
}

func (w *walk) passer(ctx context.Context, f file, newest bool) *passer {
	return &passer{w: w, ctx: ctx, f: f, newest: newest}
}

func (p *passer) stopped() error {
	switch {
	case !p.over && p.ctx.Err() == nil:
	case p.last.IsZero():
		return errors.New("the time for one call was over while it was read; ask about another source")
	default:
		return fmt.Errorf("the time for one call was over at entries of %s; ask about a shorter time", p.w.s.stamp(p.last))
	}
	return nil
}

func (p *passer) record(r text.Record) bool {
	return p.entry(r.Time, func() *entry {
		return &entry{at: r.Time, level: r.Level, host: r.Host, program: r.Program, pid: r.PID, text: r.Text, cut: r.Cut, source: p.f.path}
	})
}

// entry passes one entry, which is made only where its time is right.
func (p *passer) entry(at time.Time, build func() *entry) bool {
	w := p.w
	if w.entries++; p.ctx.Err() != nil { // each time, for one may take long to match
		p.over = true
		return false
	}
	if at.IsZero() {
		return true // what is left of an entry that is in another file
	}
	p.last = at
	from, tooLate := w.from(), at.After(w.q.end)
	// Of entries of one time, as those without any, the first ones are the newest.
	early := at.Before(from) || from.After(w.q.start) && !at.After(from)
	if early || tooLate {
		w.skipped = w.skipped || early && !at.Before(w.q.start)
		if early == p.newest { // the way that we go leads away from the time
			p.beyond++
		}
		return p.beyond < late
	}
	p.beyond = 0
	e := build()
	if w.q.unit != "" {
		w.there.wrote(e.who())
	}
	if !w.all && !w.q.matches(e) {
		return true
	}
	return w.visit(e, p.newest)
}

// journal reads a file of the systemd journal.
func (w *walk) journal(ctx context.Context, f file, r io.ReaderAt, size int64) error {
	j, err := journal.Open(r, size)
	if err != nil {
		return err
	}
	w.files++
	info := j.Info()
	w.there.spans(info.First, info.Last)
	if info.State != journal.Online && !info.Last.IsZero() && info.Last.Before(w.from()) || info.First.After(w.q.end) {
		return nil
	}
	chain := w.chain(j)
	if w.q.end.Before(w.s.now()) {
		chain.Seek(w.q.end)
	}
	pass, before := w.passer(ctx, f, true), w.entries
	for {
		e, ok := chain.Prev()
		if !ok || !pass.entry(e.Time, func() *entry { return fromJournal(e, f.path) }) {
			break
		}
	}
	if w.q.unit != "" && w.entries == before { // its index has nobody of that name
		for _, unit := range j.Values("_SYSTEMD_UNIT", mostWriters) {
			w.there.wrote(unit)
		}
	}
	if d := j.Damage(); d.Any() {
		w.note("%s is damaged: %s", plain(f.path, 200), damage(d))
	}
	return pass.stopped()
}

func damage(d journal.Damage) string {
	var parts []string
	if d.Chain != "" {
		parts = append(parts, plain(d.Chain, 200))
	}
	if d.Entries > 0 {
		parts = append(parts, fmt.Sprintf("%d entries could not be read", d.Entries))
	}
	if d.Fields > 0 {
		parts = append(parts, fmt.Sprintf("%d fields could not be read", d.Fields))
	}
	return strings.Join(parts, "; ") + ". The rest is in the answer"
}

// chained is the entries of a journal, or those that an index leads to.
type chained interface {
	Seek(t time.Time)
	Prev() (*journal.Entry, bool)
}

// Fields by which a unit or a program is found.
var (
	unitFields    = []string{"_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT"}
	programFields = []string{"SYSLOG_IDENTIFIER", "_COMM"}
)

// chain returns the entries to look at: all of them, or where a unit or a level is
// asked for those that the hash tables of the file lead to.
func (w *walk) chain(j *journal.File) chained {
	var chains []*journal.Chain
	switch {
	case w.all:
		return j.Entries()
	case w.q.unit != "":
		for _, name := range append(slices.Clone(unitFields), programFields...) {
			for _, value := range j.Values(name, 4000) {
				if w.q.from(&entry{unit: value}) {
					chains = append(chains, j.Matching(name, value))
				}
			}
		}
	case w.q.level < 6:
		for level := range w.q.level + 1 {
			chains = append(chains, j.Matching("PRIORITY", string(rune('0'+level))))
		}
	default:
		return j.Entries()
	}
	return journal.Join(chains...)
}

func fromJournal(j *journal.Entry, path string) *entry {
	f := j.Fields
	first := func(names ...string) string {
		for _, n := range names {
			if f[n] != "" {
				return f[n]
			}
		}
		return ""
	}
	e := &entry{
		at: j.Time, level: text.Unknown, host: f["_HOSTNAME"], unit: first("_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT"),
		about: first("UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT"), program: first("SYSLOG_IDENTIFIER", "_COMM"),
		pid: first("_PID", "SYSLOG_PID"), text: f["MESSAGE"], cut: j.Cut, source: path,
	}
	if p := f["PRIORITY"]; len(p) == 1 && p[0] >= '0' && p[0] <= '7' {
		e.level = int(p[0] - '0')
	}
	return e
}

// shortSource is the name of a file within its directory, for lines of an answer.
func shortSource(path string) string {
	return filepath.Base(path)
}

package winlog

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// late is how much earlier than its record an event may be and is still looked for:
// clocks of machines that forward events go wrong.
const late = 24 * time.Hour

// scan visits the events of a log, each file from its newest on.
func (f *folder) scan(ctx context.Context, log string, flt *filter, visit func(found) bool) (scanned, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return scanned{}, err
	}
	defer root.Close()
	files, err := f.resolve(ctx, root, log)
	if err != nil {
		return scanned{}, err
	}
	var out scanned
	for _, l := range files {
		out.files = append(out.files, l.name)
		if ctx.Err() != nil {
			out.cut = true
			continue
		}
		src, r, err := open(root, l.name)
		if err != nil {
			out.damages = append(out.damages, unread(l.name, err))
			continue
		}
		one := fileScan{out: &out, reader: r, filter: flt, name: l.name, visit: visit}
		one.run(ctx)
		src.Close()
		if d, ok := damageOf(l.name, r.Report()); ok {
			out.damages = append(out.damages, d)
		}
	}
	return out, nil
}

// A fileScan is the scan of one file.
type fileScan struct {
	out    *scanned
	reader *evtx.Reader
	filter *filter
	name   string
	visit  func(found) bool
}

func (s *fileScan) run(ctx context.Context) {
	chunks, err := s.reader.Chunks(ctx)
	if err != nil {
		s.out.cut = true
		return
	}
	if s.filter.record != 0 {
		chunks = s.around(chunks)
	}
	var buf evtx.Chunk
	for _, info := range slices.Backward(chunks) {
		if ctx.Err() != nil {
			s.out.cut = true
			return
		}
		if s.reader.Load(info, &buf) != nil {
			return
		}
		if !s.chunk(ctx, &buf) {
			return
		}
	}
}

// around returns the chunks in which a record of the number that is asked for may be:
// that which has it, and all where events have other numbers than their records, as
// in logs that were exported or forwarded.
func (s *fileScan) around(chunks []evtx.ChunkInfo) []evtx.ChunkInfo {
	if len(chunks) == 0 {
		return nil
	}
	var buf evtx.Chunk
	for _, info := range chunks {
		if s.reader.Load(info, &buf) != nil || len(buf.Records()) == 0 {
			continue
		}
		if e, err := buf.Records()[0].Event(); err != nil || e.System.RecordID != e.RecordID {
			return chunks
		}
		break
	}
	var some []evtx.ChunkInfo
	for _, info := range chunks {
		if info.LastID == 0 || s.filter.record >= info.FirstID && s.filter.record <= info.LastID+evtx.MaxInChunk {
			some = append(some, info)
		}
	}
	return some
}

// chunk visits the events of a chunk. It returns false where no more are wanted.
func (s *fileScan) chunk(ctx context.Context, c *evtx.Chunk) bool {
	records := c.Records()
	young := len(records) == 0 // one of them is not too old
	for i, record := range slices.Backward(records) {
		s.out.see(record.Written)
		if !s.filter.from.IsZero() && record.Written.Before(s.filter.from.Add(-late)) {
			continue
		}
		young = true
		if i%64 == 0 && ctx.Err() != nil {
			s.out.cut = true
			return false
		}
		if !s.record(record) {
			return false
		}
	}
	return young
}

// record visits the event of a record, if it is meant. It returns false where no more
// are wanted.
func (s *fileScan) record(record evtx.Record) bool {
	s.out.looked++
	var system evtx.System
	ok := false
	if s.filter.brief || s.filter.picks() { // reading the head pays where the rest is then left
		system, ok = record.System()
	}
	if ok && !s.meant(&system, record.ID) {
		return true
	}
	if ok && s.filter.brief {
		return s.visit(found{event: &evtx.Event{RecordID: record.ID, System: system}, file: s.name})
	}
	e, err := record.Event()
	if err != nil && e.System.EventID == 0 && e.System.Provider.Name == "" {
		return true // nothing of it is known; the report counts it
	}
	if !ok && !s.meant(&e.System, record.ID) || !s.filter.hasText(e, "") {
		return true
	}
	return s.visit(found{event: e, file: s.name})
}

// meant reports whether an event is one that is asked for, but for its text.
func (s *fileScan) meant(system *evtx.System, id uint64) bool {
	if s.filter.record != 0 && s.filter.record != system.RecordID && s.filter.record != id {
		return false
	}
	if s.filter.matches(system) {
		return true
	}
	if isAudit(system) && s.filter.anyLevel().matches(system) {
		s.out.audits++
	}
	return false
}

// see takes notice of the time of a record.
func (s *scanned) see(t time.Time) {
	if t.Year() <= 1601 {
		return
	}
	if s.newest.IsZero() || t.After(s.newest) {
		s.newest = t
	}
	if s.oldest.IsZero() || t.Before(s.oldest) {
		s.oldest = t
	}
}

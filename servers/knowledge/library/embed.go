package library

import (
	"context"

	"github.com/tenon-mcp/tenon/servers/knowledge/chunk"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
	"github.com/tenon-mcp/tenon/servers/knowledge/meaning"
)

// Passages are what is compared by meaning.
const (
	passageChars   = 300
	passageOverlap = 50
	embedAtOnce    = 64 // texts of one request
	pendingAtOnce  = 16 // sections
)

const embedFailed = "sections are not found by their meaning: "

// An embedder asks a model what sections mean.
type embedder struct {
	model  *meaning.Model
	index  *index.Index
	status *statusBoard
}

// all asks for the vectors of all sections that have none. Where the model does not
// answer, the rest waits for the next look.
func (e *embedder) all(ctx context.Context) {
	defer e.status.set(func(s *Status) { s.Meanings = 0 })
	for ctx.Err() == nil {
		pending, err := e.index.Pending(ctx, 10_000)
		if err != nil || len(pending) == 0 {
			return
		}
		e.status.set(func(s *Status) { s.Meanings = len(pending) })
		for len(pending) > 0 {
			n := min(len(pending), pendingAtOnce)
			if err := e.some(ctx, pending[:n]); err != nil {
				if ctx.Err() == nil {
					e.status.unnote(embedFailed)
					e.status.note(embedFailed + err.Error())
				}
				return
			}
			pending = pending[n:]
			e.status.set(func(s *Status) { s.Meanings = len(pending) })
		}
		e.status.unnote(embedFailed)
	}
}

func (e *embedder) some(ctx context.Context, sections []index.Found) error {
	bySection := make(map[int64][][]int8, len(sections))
	var texts []string
	var of []int64
	for _, s := range sections {
		bySection[s.ID] = nil
		for _, p := range chunk.Passages(s.Text, passageChars, passageOverlap) {
			texts, of = append(texts, s.Heading+"\n"+clipBytes(p, 8000)), append(of, s.ID)
		}
	}
	for len(texts) > 0 {
		n := min(len(texts), embedAtOnce)
		vectors, err := e.model.Embed(ctx, texts[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			if q := index.Quantize(v); q != nil {
				bySection[of[i]] = append(bySection[of[i]], q)
			}
		}
		texts, of = texts[n:], of[n:]
	}
	return e.index.PutVectors(ctx, bySection)
}

func clipBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

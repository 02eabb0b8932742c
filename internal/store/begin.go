package store

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Begin writes down that a call is about to be sent that may change something, and
// returns once that is on the disk, so that the death of the process leaves a trace of
// it. F needs no result. Without a place, or while the database cannot be written and
// calls go on all the same, it returns at once. The error says that the call must not
// be sent.
func (s *Store) Begin(ctx context.Context, p Place, f Finished) error {
	if !p {
		return nil // Add counts it
	}
	f.trim()
	done := make(chan struct{})
	f.begun = done
	s.queue.put(f)
	for {
		gone := s.state.gone.Load()
		switch {
		case gone != nil && s.o.StopGone:
			s.state.refused.Add(1)
			return s.refusal(gone.err)
		case gone != nil:
			return nil
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closing:
			return &tool.Error{Kind: tool.Unavailable, Err: errClosed, Text: "The gateway is stopping. The call was not carried out."}
		case <-time.After(flushAfter / 5): // the database may be found gone meanwhile
		}
	}
}

// refusal is the error of a call that may not go on without the record.
func (s *Store) refusal(why error) *tool.Error {
	return &tool.Error{
		Kind: tool.Unavailable, Err: why,
		Text: "The record of calls cannot be written, and the operator allows no call without it. This call was not carried out. " +
			"Tell the operator: " + s.remedy(why) + ". Calls go on by themselves once it can be written.",
	}
}

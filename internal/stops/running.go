package stops

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A Running is a call that runs.
type Running interface {
	Key() string // spreads the calls, and tells most of them apart
	ToolID() tool.ID
	Cancel(why *tool.Error)
}

// running are some of the calls that run, by their keys.
type running struct {
	mu    sync.Mutex
	calls map[Running]struct{}
}

func (s *Stops) shard(c Running) *running {
	n, key := 0, c.Key()
	if key != "" {
		n = int(key[len(key)-1])
	}
	return &s.running[n%len(s.running)]
}

// Enter is told of a call that goes on, until Leave. It looks for stops once the
// call can be found, so that none slips between; the error is of kind denied.
func (s *Stops) Enter(c Running) *tool.Error {
	sh := s.shard(c)
	sh.mu.Lock()
	if sh.calls == nil {
		sh.calls = map[Running]struct{}{}
	}
	sh.calls[c] = struct{}{}
	sh.mu.Unlock()
	if why := s.Why(c.ToolID()); why != "" {
		s.Leave(c)
		return Refusal(why)
	}
	return nil
}

// Leave is told that a call has ended.
func (s *Stops) Leave(c Running) {
	sh := s.shard(c)
	sh.mu.Lock()
	delete(sh.calls, c)
	sh.mu.Unlock()
}

// Refusal is the error of a call that is stopped, for this reason.
func Refusal(why string) *tool.Error {
	return &tool.Error{Kind: tool.Denied, Text: why + " The call was not carried out, or was ended on its way. Do not call it again; say that it was stopped."}
}

// end ends the calls that run and that a stop is for.
func (s *Stops) end(stop *Stop) {
	for i := range s.running {
		sh := &s.running[i]
		sh.mu.Lock()
		for c := range sh.calls {
			if glob.MatchID(stop.id(), c.ToolID()) {
				c.Cancel(Refusal(stop.text()))
			}
		}
		sh.mu.Unlock()
	}
}

package call

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/tool"
)

// A Spending is what models have taken for one call, with all that was tried for it. It
// counts against the limits of the call at once, not when the call ends: a long one must
// not go on for hours with what is used up. It is safe for concurrent use; nil counts
// nothing.
type Spending struct {
	mu    sync.Mutex
	usage tool.Usage
	taken quota.Taken
}

// Spend adds what a model has taken.
func (s *Spending) Spend(u tool.Usage) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.usage.Add(u)
	taken := s.taken
	s.mu.Unlock()
	taken.Spend(u.Tokens(), u.Price())
}

// Broke returns why no further model may be asked for this call: a limit of tokens or
// money is used up. Nil is that one may.
func (s *Spending) Broke() *tool.Error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if over := taken.Over(); over != nil {
		return refusal(over)
	}
	return nil
}

// Spent returns what models have taken so far, or nil where none was asked.
func (s *Spending) Spent() *tool.Usage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage.Requests+s.usage.Input+s.usage.Output == 0 {
		return nil
	}
	u := s.usage
	return &u
}

// against says which limits the call counts against now.
func (s *Spending) against(t quota.Taken) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = t
}

// refusal is the error for a limit that is used up.
func refusal(over *quota.Exceeded) *tool.Error {
	return &tool.Error{Kind: over.Kind(), Text: over.Text()}
}

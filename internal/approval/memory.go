package approval

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// maxKept bounds a Memory.
const maxKept = 1000

// A Memory keeps the last approvals for as long as the process runs. The zero value is
// ready.
type Memory struct {
	mu  sync.Mutex
	all []tool.Approval // the oldest first
}

var _ Store = (*Memory)(nil)

// InsertApproval implements Store. The oldest that is not open makes room.
func (m *Memory) InsertApproval(_ context.Context, a tool.Approval) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= maxKept {
		i := slices.IndexFunc(m.all, func(a tool.Approval) bool { return a.Status != tool.ApprovalPending })
		if i >= 0 {
			m.all = slices.Delete(m.all, i, i+1)
		}
	}
	m.all = append(m.all, a)
	return nil
}

// SettleApproval implements Store.
func (m *Memory) SettleApproval(_ context.Context, a tool.Approval) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.find(a.ID)
	switch {
	case old == nil:
		return false, errGone
	case old.Status != tool.ApprovalPending:
		return false, nil
	}
	*old = a
	return true, nil
}

// UseApproval implements Store.
func (m *Memory) UseApproval(_ context.Context, id, call string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.find(id)
	switch {
	case a == nil:
		return false, errGone
	case a.UsedBy != "" || a.Status != tool.ApprovalApproved:
		return false, nil
	}
	a.UsedBy = call
	return true, nil
}

func (m *Memory) find(id string) *tool.Approval {
	for i := range m.all {
		if m.all[i].ID == id {
			return &m.all[i]
		}
	}
	return nil
}

// OpenApprovals implements Store.
func (m *Memory) OpenApprovals(_ context.Context, now time.Time) ([]tool.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []tool.Approval
	for _, a := range m.all {
		unused := a.Status == tool.ApprovalApproved && a.Scope == tool.ScopeOnce && a.UsedBy == ""
		if (unused || a.Status == tool.ApprovalPending) && now.Before(a.ExpiresAt) {
			out = append(out, a)
		}
	}
	return out, nil
}

// Approval implements Store.
func (m *Memory) Approval(_ context.Context, id string) (tool.Approval, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.find(id); a != nil {
		return *a, true, nil
	}
	return tool.Approval{}, false, nil
}

// Approvals implements Store.
func (m *Memory) Approvals(_ context.Context, limit int) ([]tool.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.all[max(0, len(m.all)-limit):])
	slices.Reverse(out)
	return out, nil
}

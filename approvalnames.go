package tenon

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/store"
	"github.com/tenon-mcp/tenon/tool"
)

// approvalStore returns where approvals are kept.
func (g *Gateway) approvalStore() approval.Store {
	if g.record.store != nil {
		return maskedApprovals{store.Approvals{Store: g.record.store}, g.secrets}
	}
	return maskedApprovals{new(approval.Memory), g.secrets}
}

// maskedApprovals keep approvals without the secrets that callers wrote in the place of
// names. The broker has the names as they are: they say whose question it is.
type maskedApprovals struct {
	approval.Store

	secrets *redact.Redactor
}

// InsertApproval implements [approval.Store].
func (s maskedApprovals) InsertApproval(ctx context.Context, a tool.Approval) error {
	return s.Store.InsertApproval(ctx, maskNames(s.secrets, a))
}

// SettleApproval implements [approval.Store].
func (s maskedApprovals) SettleApproval(ctx context.Context, a tool.Approval) (bool, error) {
	return s.Store.SettleApproval(ctx, maskNames(s.secrets, a))
}

// shown returns approvals as they are shown.
func (a *Approvals) shown(all []tool.Approval) []tool.Approval {
	for i := range all {
		all[i] = maskNames(a.g.secrets, all[i])
	}
	return all
}

// maskNames returns an approval without secrets in the words that came with it, and
// without what would be read as something else than a name. Its arguments are masked
// before.
func maskNames(secrets *redact.Redactor, a tool.Approval) tool.Approval {
	for _, text := range []*string{
		&a.Caller.Name, &a.Session, &a.Task, &a.Skill, &a.Server, &a.Tool, &a.Reason, &a.Impact, &a.DecidedBy, &a.Why,
	} {
		*text = secrets.Text(*text)
	}
	// The name of the caller stays: by it the one who decides is told from the one who asks.
	for _, name := range []*string{&a.Session, &a.Task, &a.Skill, &a.Server, &a.Tool, &a.DecidedBy} {
		*name = approval.Visible(*name)
	}
	if len(a.Pattern) > 0 {
		a.Pattern = secrets.JSON(a.Pattern)
	}
	return a
}

// ShownApproval returns an approval for people to see: its caller too has no name that is
// read as something else. Who compares names takes the approval as it is.
func ShownApproval(a tool.Approval) tool.Approval {
	a.Caller.Name = approval.Visible(a.Caller.Name)
	return a
}

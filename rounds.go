package tenon

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// A round is one time that a call of a modern client comes: with the input that its
// server wants it comes again, and a person who has approved it is not asked again. What
// was approved is bound to the state that the client comes again with, which is good for
// one call, and to all that was asked: whose call, of what, with which arguments, and why
// a person had to say.
type round struct {
	client *relay.Client // nil where calls are over the first time
	server string
	asked  string
}

func newRound(r *call.Request, d *tool.Decision) round {
	client, ok := r.Origin.(*relay.Client)
	if !ok {
		return round{}
	}
	asked, err := json.Marshal([]string{
		ownerOf(r.Caller), r.SessionName(), r.Task, r.Skill, r.Target.Server, r.Target.Name, d.ReasonType, d.Reason, approval.HashOf(r.Arguments),
	})
	if err != nil {
		return round{} // cannot happen: they are texts
	}
	return round{client, r.Target.Server, string(asked)}
}

// allowed returns the approval that holds for this round.
func (r round) allowed() (id string, ok bool) {
	if r.client == nil {
		return "", false
	}
	return r.client.Allowed(r.server, r.asked)
}

// allow notes what was approved for the rounds to come.
func (r round) allow(id string) {
	if r.client != nil {
		r.client.Allow(r.asked, id)
	}
}

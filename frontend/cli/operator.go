package cli

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// usualGateway is where `tenon serve` listens unless it is told otherwise.
const usualGateway = "http://127.0.0.1:8400"

// operator returns a client of the running gateway that has the approver's
// credential: that of --token-file or $TENON_TOKEN where there is one, else that of
// $TENON_APPROVER_TOKEN, else the one that the gateway keeps for this user.
func (a *app) operator() (*rest.Client, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	if token.Reveal() == "" {
		if token, err = tenon.ApproverToken(a.options(a.logger(quiet))); err != nil {
			return nil, &problem{
				kind: tool.Invalid, err: err, text: "the approver's token of this user cannot be read: " + err.Error(),
				hint: "give the one of the gateway in $TENON_APPROVER_TOKEN",
			}
		}
	}
	return rest.NewClient(cmp.Or(a.gateway(), usualGateway), token)
}

// isServed reports whether some gateway can be reached: one that is named counts as
// one that runs.
func (a *app) isServed(ctx context.Context) bool {
	if a.gateway() != "" {
		return true
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(usualGateway, "http://"))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

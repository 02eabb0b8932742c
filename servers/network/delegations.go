package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network/dnstrace"
)

type lookupStep struct {
	Zone      string  `json:"zone" jsonschema:"zone whose server was asked"`
	Server    string  `json:"server" jsonschema:"name of that server"`
	Address   string  `json:"address,omitempty" jsonschema:"its address, where it was asked"`
	Says      string  `json:"says" jsonschema:"what it said, or why it did not"`
	ElapsedMS float64 `json:"elapsed_ms" jsonschema:"how long it took"`
	Failed    bool    `json:"failed,omitempty" jsonschema:"it was of no use, and another server of the zone was asked"`
}

type lookupTrace struct {
	Steps []lookupStep `json:"steps" jsonschema:"the questions, from the root down"`
	End   string       `json:"end" jsonschema:"what it comes to, a sentence"`
}

const internalServer = "refused: its address is an internal one"

// trace goes down to the name from the root.
func (s *server) trace(ctx context.Context, in lookupInput, h egress.Host, qtype uint16, out *lookupOutput) error {
	if in.Server != "" || in.DNSSEC {
		return errors.New("trace asks the servers of each zone by itself: leave server and dnssec out, or ask for them in a call of its own")
	}
	name, err := s.question(ctx, h, qtype, true)
	if err != nil {
		return err
	}
	direct := upstreams{dial: s.guard.DialContext}
	t := dnstrace.Tracer{
		Ask: func(ctx context.Context, q *dns.Msg, at netip.Addr) (*dns.Msg, error) {
			return direct.plain(ctx, q, net.JoinHostPort(at.String(), "53"))
		},
		Resolve: func(ctx context.Context, name string) ([]netip.Addr, error) {
			t, err := s.guard.Resolve(ctx, name, 53)
			return t.Addrs, err
		},
		Why: whySilent,
	}
	way := t.Trace(ctx, dns.Fqdn(name), qtype)
	if ctx.Err() != nil && len(way.Steps) == 0 {
		return ctx.Err()
	}
	out.Trace = &lookupTrace{Steps: []lookupStep{}, End: plain(way.End, 400)}
	for _, step := range way.Steps {
		shown := lookupStep{plain(step.Zone, 255), plain(step.Server.Name, 255), step.Server.Address, plain(step.Says, 200), millis(step.Elapsed), step.Failed}
		if step.Says == internalServer {
			shown.Address = ""
		}
		out.Trace.Steps = append(out.Trace.Steps, shown)
	}
	if way.Answer == nil {
		return nil
	}
	if err := s.leads(ctx, way.Answer, h); err != nil {
		return err
	}
	out.Server, out.Records = way.Steps[len(way.Steps)-1].Server.Address, recordsIn(way.Answer, qtype)
	return nil
}

// whySilent says why a name server gave no answer.
func whySilent(err error) string {
	if _, ok := errors.AsType[*egress.Refusal](err); ok {
		return internalServer
	}
	if l, ok := errors.AsType[*egress.LookupError](err); ok {
		if d, ok := errors.AsType[*net.DNSError](l); ok && d.IsNotFound {
			return "this name server does not exist"
		}
		return "its address cannot be found by this machine"
	}
	if isTimeout(err) {
		return "no answer in time"
	}
	return "cannot be asked: " + err.Error()
}

// text prints a trace within a bound.
func (t *lookupTrace) text(limit int) string {
	var b strings.Builder
	used := 0
	for i, s := range t.Steps {
		at := ""
		if s.Address != "" {
			at = " (" + s.Address + ")"
		}
		l := fmt.Sprintf("%d. %s at %s%s: %s, %.1f ms\n", i+1, plain(s.Zone, 60), plain(s.Server, 60), at, plain(s.Says, 120), s.ElapsedMS)
		if used += utf8.RuneCountInString(l); used > limit {
			fmt.Fprintf(&b, "%d more steps are in the structured answer\n", len(t.Steps)-i)
			break
		}
		b.WriteString(l)
	}
	return b.String()
}

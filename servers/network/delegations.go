package network

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network/dnstrace"
)

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
	out.Trace = &dnstrace.Report{Steps: []dnstrace.Told{}, End: plain(way.End, 400)}
	for _, step := range way.Steps {
		shown := dnstrace.Told{
			Zone: plain(step.Zone, 255), Server: plain(step.Server.Name, 255), Address: step.Server.Address,
			Says: plain(step.Says, 200), ElapsedMS: millis(step.Elapsed), Failed: step.Failed,
		}
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

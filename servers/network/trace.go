package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const traceChars = 3500

// Timing of a trace: all hops are probed side by side, in rounds, each round for
// those that have not answered.
const (
	traceRounds  = 3
	traceWait    = 2 * time.Second
	traceSpacing = 20 * time.Millisecond // routers answer only so many packets a second
)

type traceInput struct {
	Host    string `json:"host" jsonschema:"name or address of the host"`
	MaxHops int    `json:"max_hops,omitempty" jsonschema:"how far to look, 1 to 30; a number outside is brought to the nearest"`
}

func (s *server) addTrace(srv *mcp.Server) {
	add(srv, spec{
		Name: "traceroute", Title: "Traceroute",
		Description: "Returns the routers on the way to a host with their round-trip times, up to 30 hops, in at most ten seconds. Shows where packets get lost or slow. Addresses of internal routers are not shown. Internal hosts are refused unless the operator opened them.",
		Defaults:    map[string]any{"max_hops": 30},
		Bounds:      map[string][2]int{"max_hops": {1, 30}},
	}, s.traceroute)
}

type traceOutput struct {
	Address string     `json:"address" jsonschema:"address of the host"`
	By      string     `json:"by" jsonschema:"what was sent: ICMP or UDP"`
	Reached bool       `json:"reached" jsonschema:"whether the host itself answered"`
	Hops    []traceHop `json:"hops" jsonschema:"up to the last that answered"`
}

type traceHop struct {
	Hop     int     `json:"hop" jsonschema:"number of the hop, from 1"`
	Address string  `json:"address,omitempty" jsonschema:"missing where nobody answered, or the router is internal"`
	RTTMS   float64 `json:"rtt_ms,omitempty" jsonschema:"round trip"`
	Note    string  `json:"note,omitempty" jsonschema:"no answer, internal router, reached, or says unreachable"`
}

// A reply is what came back for the packet that was to live for so many hops.
type reply struct {
	from netip.Addr
	rtt  time.Duration
	what string // empty: a router on the way; else what ends the trace
}

func (s *server) traceroute(ctx context.Context, in traceInput) (string, traceOutput, error) {
	hops := clamp(in.MaxHops, 1, 30)
	t, err := s.guard.Resolve(ctx, in.Host, 0)
	if err != nil {
		return "", traceOutput{}, err
	}
	tr, err := newTrace(ctx, t.Addrs[0], hops, s.traceByUDP)
	if isPermission(err) {
		return "", traceOutput{}, errors.New(mayNotPing("traceroute"))
	}
	if err != nil {
		return "", traceOutput{}, fmt.Errorf("traceroute to %s: %s", t.Name, plain(err.Error(), 200))
	}
	if err := tr.run(ctx); err != nil {
		return "", traceOutput{}, fmt.Errorf("traceroute to %s: %s. check_port may tell more", t.Name, plain(err.Error(), 200))
	}
	out := s.traceOutput(t, tr)
	return traceText(t, tr, out), out, nil
}

// traceOutput returns the hops without the addresses of internal routers.
func (s *server) traceOutput(t egress.Target, tr *trace) traceOutput {
	out := traceOutput{Address: t.Addrs[0].String(), By: tr.by, Hops: []traceHop{}}
	for ttl := 1; ttl <= tr.lastHop(); ttl++ {
		h := traceHop{Hop: ttl, Note: "no answer"}
		if r, ok := tr.replies[ttl]; ok {
			h.RTTMS, h.Note = millis(r.rtt), r.what
			if r.from != t.Addrs[0] && s.guard.Refuses(r.from, "", 0) != "" {
				h.Note = strings.TrimSpace("internal router " + r.what)
			} else {
				h.Address = r.from.String()
			}
			out.Reached = out.Reached || r.what == reached
		}
		out.Hops = append(out.Hops, h)
	}
	return out
}

// reached is said of the hop that is the host itself.
const reached = "reached"

func traceText(t egress.Target, tr *trace, out traceOutput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Traceroute to %s (%s)\n\n```\n", t.Name, out.Address)
	for _, h := range out.Hops {
		switch {
		case h.Note == "no answer":
			fmt.Fprintf(&b, "%2d  no answer\n", h.Hop)
		case h.Address == "":
			fmt.Fprintf(&b, "%2d  (internal router)  %.1f ms  %s\n", h.Hop, h.RTTMS, strings.TrimPrefix(h.Note, "internal router"))
		default:
			fmt.Fprintf(&b, "%2d  %s  %.1f ms  %s\n", h.Hop, h.Address, h.RTTMS, h.Note)
		}
	}
	b.WriteString("```\n")
	switch last := len(out.Hops); {
	case last == 0:
		b.WriteString("No router answered. A firewall near this machine may drop the packets.\n")
	case out.Reached:
		fmt.Fprintf(&b, "Reached after %d hops.\n", last)
	default:
		fmt.Fprintf(&b, "Not reached within %d hops; the last answer is of hop %d. What lies behind may not answer such packets: try check_port.\n", tr.hops, last)
	}
	if tr.by == "UDP" {
		b.WriteString("Traced with UDP: this program may not send ICMP here. Hosts that drop UDP seem further than they are.\n")
	}
	return b.String()
}

// A prober sends packets that live for so many hops, and takes in what routers
// say of them.
type prober interface {
	send(ttl int) error
	// receive calls note for each reply, until the prober is closed.
	receive(note func(ttl int, from netip.Addr, what string, now time.Time))
	Close() error
}

// A trace is one run.
type trace struct {
	prober prober
	by     string // what is sent
	to     netip.Addr
	hops   int

	mu      sync.Mutex
	sent    map[int]time.Time
	replies map[int]reply
}

// newTrace opens what the system lets this process send: ICMP, else UDP where
// the system tells what routers say of that.
func newTrace(ctx context.Context, to netip.Addr, hops int, udp bool) (*trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tr := &trace{to: to, hops: hops, by: "ICMP", sent: map[int]time.Time{}, replies: map[int]reply{}}
	var err error
	if !udp {
		tr.prober, err = newICMP(to)
		if !isPermission(err) {
			return tr, err
		}
	}
	other, e := newUDP(to)
	if e != nil {
		if err == nil {
			err = e
		}
		return nil, err // the right that is missing is that for ICMP
	}
	tr.prober, tr.by = other, "UDP"
	return tr, nil
}

// run sends and receives, and closes the connection.
func (tr *trace) run(ctx context.Context) error {
	var receiving sync.WaitGroup
	receiving.Go(func() { tr.prober.receive(tr.note) })
	defer receiving.Wait()
	defer tr.prober.Close()
	for range traceRounds {
		if err := tr.sendRound(ctx); err != nil {
			return err
		}
		if err := tr.wait(ctx); err != nil {
			return err
		}
		if tr.complete() {
			return nil
		}
	}
	return nil
}

// sendRound sends a packet for each hop that is missing, up to the target.
func (tr *trace) sendRound(ctx context.Context) error {
	for ttl := 1; ttl <= tr.hops; ttl++ {
		if !tr.missing(ttl) {
			continue
		}
		if err := tr.send(ttl); err != nil {
			return err
		}
		if err := sleep(ctx, traceSpacing); err != nil {
			return err
		}
	}
	return nil
}

// wait gives the last packets of a round their time, or less where all came back.
func (tr *trace) wait(ctx context.Context) error {
	for end := time.Now().Add(traceWait); time.Now().Before(end) && !tr.complete(); {
		if err := sleep(ctx, traceSpacing); err != nil {
			return err
		}
	}
	return nil
}

func (tr *trace) missing(ttl int) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	_, have := tr.replies[ttl]
	return !have && ttl <= tr.end()
}

// end returns the first hop that ended the trace, else the number of hops.
// The caller holds mu.
func (tr *trace) end() int {
	end := tr.hops
	for ttl, r := range tr.replies {
		if r.what != "" {
			end = min(end, ttl)
		}
	}
	return end
}

func (tr *trace) complete() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for ttl := 1; ttl <= tr.end(); ttl++ {
		if _, ok := tr.replies[ttl]; !ok {
			return false
		}
	}
	return true
}

// lastHop returns the last hop that is worth showing.
func (tr *trace) lastHop() int {
	last := 0
	for ttl := range tr.replies {
		last = max(last, ttl)
	}
	return min(last, tr.end())
}

func (tr *trace) send(ttl int) error {
	tr.mu.Lock()
	tr.sent[ttl] = time.Now()
	tr.mu.Unlock()
	return tr.prober.send(ttl)
}

func (tr *trace) note(ttl int, from netip.Addr, what string, now time.Time) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	sent, was := tr.sent[ttl]
	if _, have := tr.replies[ttl]; was && !have {
		tr.replies[ttl] = reply{from, now.Sub(sent), what}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return errors.New("canceled")
	case <-t.C:
		return nil
	}
}

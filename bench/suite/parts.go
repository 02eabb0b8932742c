package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/load"
	"github.com/tenon-mcp/tenon/bench/usage"
)

// toolsOfOne is how many tools one of the benchmark's servers has by itself.
const toolsOfOne = 2

// list measures tools/list of many tools.
func (b *bench) list(ctx context.Context) error {
	command := append(slices.Clip(b.Upstream), "-tools", strconv.Itoa(b.Plan.ListTools))
	config, err := configuration(server{command: command})
	if err != nil {
		return err
	}
	want := b.Plan.ListTools + toolsOfOne
	b.tell("list: %d tools", want)
	g, err := b.startGateway(ctx, config)
	if err != nil {
		return err
	}
	defer g.stop()
	s, err := g.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	listing, err := g.listing(ctx, s, want)
	if err != nil {
		return err
	}
	caller := load.Caller{Session: s}
	row := &ListRow{Tools: len(listing.Names), Pages: len(listing.Pages)}
	for _, params := range listing.Pages {
		page, err := s.Ask("tools/list", params)
		if err != nil {
			return err
		}
		row.Bytes += len(page)
		caller.Requests = append(caller.Requests, s.Prepare("tools/list", params))
	}
	var p50, cpu []time.Duration
	for range b.Plan.Rounds {
		r, err := load.Run(ctx, load.Options{Callers: []load.Caller{caller}, Count: b.Plan.Lists, Watch: []usage.Process{g.Process}})
		if err != nil {
			return err
		}
		if r.Err != nil {
			return r.Err
		}
		p50 = append(p50, r.P50)
		if used, ok := r.CPUPerCall(0); ok {
			cpu = append(cpu, used)
		}
	}
	row.P50 = milli(median(p50))
	if len(cpu) > 0 {
		row.CPU = new(milli(median(cpu)))
	}
	b.report.List = row
	return nil
}

// ready measures how long it takes until all tools of some servers are listed,
// beyond what the same servers take when they are started side by side alone.
func (b *bench) ready(ctx context.Context) error {
	for _, n := range b.Plan.Ready {
		b.tell("ready: %s", plural(n, "server"))
		var own, through, over []time.Duration
		var ratio []float64
		for range b.Plan.ReadyRounds {
			alone, err := b.startAlone(ctx, n)
			if err != nil {
				return fmt.Errorf("%d servers alone: %w", n, err)
			}
			behind, err := b.startBehind(ctx, n)
			if err != nil {
				return fmt.Errorf("%d servers: %w", n, err)
			}
			own, through = append(own, alone), append(through, behind)
			over, ratio = append(over, behind-alone), append(ratio, float64(behind)/float64(alone))
		}
		b.report.Ready = append(b.report.Ready, ReadyRow{
			Servers: n, Alone: milli(median(own)), Gateway: milli(median(through)), Over: milli(median(over)), Ratio: median(ratio),
		})
	}
	return nil
}

// startAlone starts n servers side by side, and returns how long it took until
// the last had listed its tools.
func (b *bench) startAlone(ctx context.Context, n int) (time.Duration, error) {
	sessions, failed := make([]*client.Session, n), make([]error, n)
	start := time.Now()
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() {
			s, err := client.StartStdio(ctx, b.Upstream)
			if sessions[i] = s; err == nil {
				_, err = s.List()
			}
			failed[i] = err
		})
	}
	starting.Wait()
	took := time.Since(start)
	var ending sync.WaitGroup
	for i, s := range sessions {
		if s != nil {
			ending.Go(func() { failed[i] = errors.Join(failed[i], s.Close()) })
		}
	}
	ending.Wait()
	return took, errors.Join(failed...)
}

// startBehind starts a gateway with n servers, and returns how long it took
// until it listed the tools of all of them.
func (b *bench) startBehind(ctx context.Context, n int) (time.Duration, error) {
	servers := make([]server, n)
	for i := range servers {
		servers[i] = server{command: b.Upstream}
	}
	config, err := configuration(servers...)
	if err != nil {
		return 0, err
	}
	g, err := b.startGateway(ctx, config)
	if err != nil {
		return 0, err
	}
	defer g.stop()
	s, err := g.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	_, err = g.listing(ctx, s, n*toolsOfOne)
	return time.Since(g.start), err
}

// builtin measures a start without any configuration.
func (b *bench) builtin(ctx context.Context) error {
	b.tell("builtin: start without a configuration")
	var readyz, listed []time.Duration
	row := &BuiltinRow{}
	for range b.Plan.ReadyRounds {
		g, err := b.startGateway(ctx, "")
		if err != nil {
			return err
		}
		err = func() error {
			defer g.stop()
			if err := g.until(ctx, g.readyz); err != nil {
				return err
			}
			readyz = append(readyz, time.Since(g.start))
			s, err := g.dial(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			l, err := g.listing(ctx, s, 1)
			listed = append(listed, time.Since(g.start))
			row.Tools = len(l.Names)
			return err
		}()
		if err != nil {
			return err
		}
	}
	row.Readyz, row.Listed = milli(median(readyz)), milli(median(listed))
	b.report.Builtin = row
	return nil
}

// readyz asks the gateway whether it is ready.
func (g *gateway) readyz(ctx context.Context) error {
	status, err := client.Status(ctx, g.base+"/readyz")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("/readyz answers with status %d", status)
	}
	return err
}

// sessions measures what legacy sessions on one shared server cost in memory.
// Each has its own connection, as each client has, and has made one call.
func (b *bench) sessions(ctx context.Context) (err error) {
	// settle lets the gateway finish what it does behind an answer.
	const settle = 500 * time.Millisecond
	b.tell("sessions: %d", b.Plan.Sessions)
	config, err := configuration(server{command: b.Upstream})
	if err != nil {
		return err
	}
	g, err := b.startGateway(ctx, config)
	if err != nil {
		return err
	}
	defer g.stop()
	w := way{path: GatewayStdio, open: g.dial, gateway: g}
	first := &trial{way: w}
	defer func() { err = errors.Join(err, first.close()) }()
	if err := first.connect(ctx, Small, 1); err != nil {
		return err
	}
	if _, err := load.Run(ctx, load.Options{Callers: first.callers, Count: 200}); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := g.RSS()
	if err != nil {
		return err
	}
	all := &trial{way: w}
	defer func() { err = errors.Join(err, all.close()) }()
	if err := all.connect(ctx, Small, b.Plan.Sessions); err != nil {
		return err
	}
	r, err := load.Run(ctx, load.Options{Callers: all.callers, Count: 1})
	if err != nil {
		return err
	}
	if r.Err != nil {
		return r.Err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	after, err := g.RSS()
	if err != nil {
		return err
	}
	grown := after - before
	b.report.Sessions = &SessionsRow{
		Sessions: b.Plan.Sessions, BeforeMiB: mib(before), GrownMiB: mib(grown), EachKiB: float64(grown) / float64(b.Plan.Sessions) / (1 << 10),
	}
	return nil
}

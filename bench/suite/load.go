package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/load"
	"github.com/tenon-mcp/tenon/bench/upstream"
	"github.com/tenon-mcp/tenon/bench/usage"
)

const (
	// manyBytes is where calls become so long that they are counted, not timed,
	// and where the tool makes the text, since requests have their limits.
	manyBytes = 1 << 20
	// needed is what a caller of manyBytes may cost all processes together,
	// as a multiple of the answer's size.
	needed = 6
)

// A way is how calls reach the server: past the gateway or through it.
type way struct {
	path    Path
	open    func(context.Context) (*client.Session, error)
	server  *usage.Process // that the client speaks to; nil where it is not known
	gateway *gateway       // nil: past it
}

// A trial is one way with one number of callers and one size of answers.
type trial struct {
	way
	callers []load.Caller
	rounds  []*load.Result
	peak    int64 // resident memory of the gateway in bytes; 0: not measured
}

// load measures calls: sizes by callers by ways.
func (b *bench) load(ctx context.Context) error {
	direct, err := b.startUpstream(ctx)
	if err != nil {
		return err
	}
	defer direct.stop()
	for _, size := range b.Plan.Sizes {
		if err := b.loadSize(ctx, direct, size); err != nil {
			return err
		}
	}
	return nil
}

// loadSize measures calls of one size. Each size has gateways of its own, so
// that none inherits the memory of the last.
func (b *bench) loadSize(ctx context.Context, direct *upstreamHTTP, size int) error {
	ways := []way{
		{
			path: UpstreamHTTP, server: new(usage.Of(direct.cmd.Process.Pid)),
			open: func(ctx context.Context) (*client.Session, error) { return client.DialHTTP(ctx, direct.url) },
		},
		{path: UpstreamStdio, open: func(ctx context.Context) (*client.Session, error) { return client.StartStdio(ctx, b.Upstream) }},
	}
	for _, behind := range []struct {
		path  Path
		entry server
	}{{GatewayStdio, server{command: b.Upstream}}, {GatewayHTTP, server{url: direct.url}}} {
		config, err := configuration(behind.entry)
		if err != nil {
			return err
		}
		g, err := b.startGateway(ctx, config)
		if err != nil {
			return err
		}
		defer g.stop()
		ways = append(ways, way{path: behind.path, open: g.dial, server: &g.Process, gateway: g})
	}
	counts := b.Plan.Callers
	if size >= manyBytes {
		counts = b.Plan.LargeCallers
	}
	for _, callers := range counts {
		b.tell("load: %s, %s at a time", bytesText(int64(size)), plural(callers, "caller"))
		if free, err := usage.Available(); err == nil && size >= manyBytes && free < int64(callers*size*needed) {
			b.problem("load: %s at %d callers left out: %s of memory is free", bytesText(int64(size)), callers, bytesText(free))
			continue
		}
		if err := b.loadCallers(ctx, ways, size, callers); err != nil {
			return fmt.Errorf("%s at %d callers: %w", bytesText(int64(size)), callers, err)
		}
	}
	return nil
}

// loadCallers measures the ways in turns, each round beginning with another, and
// adds a row for each to the report.
func (b *bench) loadCallers(ctx context.Context, ways []way, size, callers int) (err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.close())
		}
	}()
	for _, w := range ways {
		if w.path == UpstreamStdio && callers > 1 {
			continue // one connection: there is nothing to compare callers on
		}
		t := &trial{way: w}
		trials = append(trials, t)
		if err := t.connect(ctx, size, callers); err != nil {
			return fmt.Errorf("%s: %w", w.path, err)
		}
	}
	for round := range b.Plan.Rounds {
		for i := range trials {
			t := trials[(i+round)%len(trials)]
			if err := b.round(ctx, t, size); err != nil {
				return fmt.Errorf("%s: %w", t.path, err)
			}
		}
	}
	base := trials[slices.IndexFunc(trials, func(t *trial) bool { return t.path == UpstreamHTTP })]
	for _, t := range trials {
		b.report.Load = append(b.report.Load, t.row(base, size))
	}
	return nil
}

// connect opens a session for each caller, and makes sure that the answer to
// the call is the right one to its last byte.
func (t *trial) connect(ctx context.Context, size, callers int) error {
	var params string
	for range callers {
		s, err := t.open(ctx)
		if err != nil {
			return err
		}
		t.callers = append(t.callers, load.Caller{Session: s, Want: int64(size)})
		if params == "" {
			if params, err = t.check(ctx, s, size); err != nil {
				return err
			}
		}
		t.callers[len(t.callers)-1].Requests = []*client.Request{s.Prepare("tools/call", params)}
	}
	return nil
}

// check makes the call once, and returns its params.
func (t *trial) check(ctx context.Context, s *client.Session, size int) (string, error) {
	list, err := s.List()
	if t.gateway != nil {
		list, err = t.gateway.listing(ctx, s, 1)
	}
	if err != nil {
		return "", err
	}
	name, arguments := "echo", fmt.Sprintf(`{"text":"%s"}`, upstream.Text(size))
	if size >= manyBytes {
		name, arguments = "payload", fmt.Sprintf(`{"size":%d}`, size)
	}
	if name, err = tool(list.Names, name); err != nil {
		return "", err
	}
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
	raw, err := s.Ask("tools/call", params)
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	if len(result.Content) != 1 || result.Content[0].Text != string(upstream.Text(size)) {
		return "", fmt.Errorf("%s answers with something else than the text: %.300s", name, raw)
	}
	return params, nil
}

// tool returns the listed name of the server's tool: gateways put the server's
// name before it.
func tool(names []string, want string) (string, error) {
	for _, name := range names {
		if strings.HasSuffix(name, want) {
			return name, nil
		}
	}
	return "", fmt.Errorf("no tool %s among %d", want, len(names))
}

// round measures one round of a trial.
func (b *bench) round(ctx context.Context, t *trial, size int) error {
	o := load.Options{Callers: t.callers, Duration: b.Plan.Round, Warm: b.Plan.Warm, Watch: []usage.Process{b.self}}
	if size >= manyBytes {
		o.Count = max(1, b.Plan.LargeCalls/len(t.callers))
	}
	if t.server != nil {
		o.Watch = append(o.Watch, *t.server)
	}
	resettable := t.gateway != nil && t.gateway.ResetPeak() == nil
	r, err := load.Run(ctx, o)
	if err != nil {
		return err
	}
	t.rounds = append(t.rounds, r)
	if resettable {
		peak, err := t.gateway.PeakRSS()
		if err != nil {
			return err
		}
		t.peak = max(t.peak, peak)
	}
	return nil
}

// close ends the sessions. That a server does not end well is an error: it may
// have died under the load.
func (t *trial) close() error {
	var err error
	for _, c := range t.callers {
		err = errors.Join(err, c.Session.Close())
	}
	return err
}

// row sums up the rounds. Comparisons are made within a round, and the median
// of them is taken: the machine may be slower in one round than in another.
func (t *trial) row(base *trial, size int) Row {
	var rate, ratio []float64
	var p50, p99, over50, over99, own, server []time.Duration
	r := Row{Size: size, Callers: len(t.callers), Path: t.path}
	for i, round := range t.rounds {
		with := base.rounds[i]
		r.Calls += round.Calls
		r.Errors += round.Errors
		if r.Error == "" && round.Err != nil {
			r.Error = round.Err.Error()
		}
		rate = append(rate, round.Rate())
		p50, p99 = append(p50, round.P50), append(p99, round.P99)
		over50, over99 = append(over50, round.P50-with.P50), append(over99, round.P99-with.P99)
		if with.Calls > 0 {
			ratio = append(ratio, round.Rate()/with.Rate())
		}
		if used, ok := round.CPUPerCall(0); ok {
			own = append(own, used)
		}
		if used, ok := round.CPUPerCall(1); ok {
			server = append(server, used)
		}
	}
	r.Rate, r.P50, r.P99 = median(rate), micro(median(p50)), micro(median(p99))
	r.OwnCPU, r.CPU = microOf(own), microOf(server)
	if t != base {
		r.Ratio, r.AddedP50, r.AddedP99 = median(ratio), new(micro(median(over50))), new(micro(median(over99)))
	}
	if t.peak > 0 {
		r.PeakMiB = new(mib(t.peak))
	}
	return r
}

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// probeGrace is how long a server on a stream may leave server/discover without
// an answer before initialize is sent as well. Both then count: whichever the
// server understands answers.
const probeGrace = 2 * time.Second

// A peer is what a handshake found out about the other side.
type peer struct {
	era          era.Era
	version      string
	capabilities json.RawMessage
	meta         []jsonrpc.Field // what each request must say of this side; nil for a legacy peer
	asked        *asked          // the calls that it may ask; nil where it may not
}

// hello is the result of initialize, and what this side reads of server/discover.
type hello struct {
	Version      string          `json:"protocolVersion"`
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions string          `json:"instructions"`
	Info         struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
}

// An About is what a server said of itself in its last handshake.
type About struct {
	Name, Version string
	Instructions  string // for models
	// Raw is the whole answer to initialize or to server/discover.
	Raw json.RawMessage
	Era era.Era
}

// About returns what the server said of itself in its last handshake. It is empty
// before the first one.
func (s *Server) About() About {
	if a := s.dialer.about.Load(); a != nil {
		return *a
	}
	return About{}
}

func (d *dialer) met(h *hello, raw tool.Bytes) {
	spoken := era.Legacy
	if h.Version == "" {
		spoken = era.Modern
	}
	d.about.Store(&About{h.Info.Name, h.Info.Version, h.Instructions, raw.Join(), spoken})
}

// versioned is a client whose transport says the version with each request.
type versioned interface{ SetVersion(v string) }

// shake finds out the server's era and greets it. A server whose era is known is
// greeted so, and asked anew only where that fails. next is the hint for a new
// connection, should this one fail: a server that does not survive
// server/discover is greeted the old way.
func (d *dialer) shake(ctx context.Context, c wire.Client, o opening, grace time.Duration) (p peer, next era.Era, err error) {
	if o.hint == era.Legacy {
		p, err = d.initialize(ctx, c, o.greeting)
		return p, era.Unknown, err
	}
	type outcome struct {
		result tool.Bytes
		err    error
	}
	discovered := make(chan outcome, 1)
	d.tasks.Go(func() {
		result, err := d.discover(ctx, c)
		discovered <- outcome{result, err}
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	greeted := make(chan struct{})
	var legacy peer
	var legacyErr error
	greet := func() {
		d.tasks.Go(func() {
			legacy, legacyErr = d.initialize(ctx, c, o.greeting)
			close(greeted)
		})
	}
	select {
	case got := <-discovered:
		return d.discovered(ctx, c, o, got.result, got.err)
	case <-timer.C:
		greet()
	case <-c.Done():
		return p, era.Legacy, c.Err()
	}
	select {
	case got := <-discovered:
		if got.err == nil && era.Supports(got.result.Join()) {
			return d.discovered(ctx, c, o, got.result, nil)
		}
		<-greeted
	case <-greeted:
	}
	return legacy, era.Legacy, legacyErr
}

func (d *dialer) discover(ctx context.Context, c wire.Client) (tool.Bytes, error) {
	if v, ok := c.(versioned); ok {
		v.SetVersion(era.ModernFirst)
	}
	return c.Call(ctx, &wire.Request{Method: "server/discover", Meta: d.clientMeta()})
}

func (d *dialer) clientMeta() []jsonrpc.Field {
	return era.ClientMeta(d.o.ClientName, d.o.ClientVersion)
}

// discovered goes on with the answer to server/discover.
func (d *dialer) discovered(ctx context.Context, c wire.Client, o opening, result tool.Bytes, err error) (peer, era.Era, error) {
	if err == nil && era.Supports(result.Join()) {
		var h hello
		if err := json.Unmarshal(result.Join(), &h); err != nil {
			return peer{}, era.Legacy, fmt.Errorf("answer to server/discover: %w", err)
		}
		if v, ok := c.(versioned); ok {
			v.SetVersion(era.ModernFirst) // initialize may have been sent meanwhile
		}
		d.met(&h, result)
		return peer{
			era: era.Modern, version: era.ModernFirst, capabilities: h.Capabilities, meta: d.clientMeta(),
		}, era.Modern, nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && era.IsModernError(e) && !era.OffersLegacy(e) {
		if era.Offers(e) {
			if result, err = d.discover(ctx, c); err == nil && era.Supports(result.Join()) {
				return d.discovered(ctx, c, o, result, nil)
			}
		}
		return peer{}, era.Unknown, fmt.Errorf("server/discover: %w", err)
	}
	if _, ours := errors.AsType[*tool.Error](err); ours {
		return peer{}, era.Unknown, err // it wants a login first, in whatever era
	}
	if ctx.Err() != nil {
		return peer{}, era.Legacy, context.Cause(ctx)
	}
	select {
	case <-c.Done():
		return peer{}, era.Legacy, c.Err()
	default:
	}
	p, err := d.initialize(ctx, c, o.greeting)
	if neverSent(err) {
		return p, era.Unknown, err // nobody was there: that says nothing of the era
	}
	return p, era.Legacy, err
}

// initialize greets a legacy server, in the name of a client where g says of one.
func (d *dialer) initialize(ctx context.Context, c wire.Client, g *Greeting) (peer, error) {
	v, isVersioned := c.(versioned)
	if isVersioned {
		v.SetVersion("") // not known yet
	}
	capabilities, info := g.say(infoIn(d.clientMeta()))
	params := append([]byte(`{"protocolVersion":"`+era.LatestLegacy+`","capabilities":`), capabilities...)
	params = append(append(params, `,"clientInfo":`...), info...)
	result, err := c.Call(ctx, &wire.Request{Method: "initialize", Params: append(params, '}')})
	if err != nil {
		return peer{}, fmt.Errorf("initialize: %w", err)
	}
	var h hello
	if err := json.Unmarshal(result.Join(), &h); err != nil || h.Version == "" {
		return peer{}, errors.New("initialize: the answer names no protocol version")
	}
	if isVersioned {
		v.SetVersion(h.Version)
	}
	if err := c.Notify(ctx, "notifications/initialized", nil); err != nil {
		return peer{}, fmt.Errorf("notifications/initialized: %w", err)
	}
	if g == nil || g.self {
		d.met(&h, result)
	}
	return peer{era: era.Legacy, version: h.Version, capabilities: h.Capabilities}, nil
}

// infoIn returns the name of this program as its requests say it.
func infoIn(meta []jsonrpc.Field) []byte {
	for _, f := range meta {
		if f.Key == era.MetaClientInfo {
			return f.Value
		}
	}
	return nil
}

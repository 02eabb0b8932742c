package call

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Catalog is the pool as somebody sees it: what they must not see is not there.
// Its methods are called concurrently.
type Catalog interface {
	// HasServer reports whether the server is configured.
	HasServer(server string) bool
	// Declaration says how a server that is not there is declared; "" where that is unknown.
	Declaration(server string) string
	// Await waits until the tools of the server are known; the error says why
	// they will not be. An empty name waits for all servers, for as long as a
	// correction may take, and fails for none of them.
	Await(ctx context.Context, server string) error
	// Find returns the tool of this name, or the decision that keeps it from whoever
	// looks; neither where there is none.
	Find(id tool.ID) (*tool.Tool, *tool.Decision)
	// WithName returns the tools of this name on all servers.
	WithName(name string) []*tool.Tool
	// Near returns the names that are most like those of a call that has no target.
	Near(server, name string) (servers []string, tools []tool.ID)
}

// resolve finds the tool that is meant. A name that leaves one reading is put
// right, with a note; else the error says what there is.
func resolve(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if r.Tool == "" {
			return r.fail(tool.Invalid, "The call names no tool. Name a server and a tool.")
		}
		r.flat = o.Flat
		if res := r.find(ctx); res != nil {
			return res
		}
		r.clock.lower(r.Target.Meta.Timeout)
		res := next(ctx, r)
		if !saysUnknown(res, r.Target.Name) {
			return res
		}
		return r.elsewhere(ctx, next, res)
	}
}

// find sets the target. It returns the error where there is none.
func (r *Request) find(ctx context.Context) *tool.Result {
	c := r.View
	id := tool.ID{Server: r.Server, Name: r.Tool}
	known := c.HasServer(r.Server)
	if known {
		if found, res := r.take(id); found { // the usual case
			return res
		}
		if err := c.Await(ctx, r.Server); err != nil {
			return failedServer(r, err)
		}
		if found, res := r.take(id); found {
			return res
		}
	}
	if !known && r.Server != "" {
		// A name that is only misspelt does not lead around a refusal to a tool that
		// was not meant.
		near, _ := c.Near(r.Server, r.Tool)
		for _, server := range near {
			meant := tool.ID{Server: server, Name: r.Tool}
			if _, d := c.Find(meant); d != nil {
				return r.denied(meant, d)
			}
		}
	}
	if err := c.Await(ctx, ""); err != nil {
		return failed(r, err)
	}
	there := c.WithName(r.Tool)
	if len(there) == 1 {
		r.Target = there[0]
		switch {
		case r.Server == "":
			r.Note("resolve", "no server was named: %s is only on server %q", r.Tool, r.Target.Server)
		case known:
			r.Note("resolve", "server %q has no tool %s: corrected to server %q, the only one that has it", r.Server, r.Tool, r.Target.Server)
		default:
			r.Note("resolve", "there is no server %q: corrected to %q, the only one that has %s", r.Server, r.Target.Server, r.Tool)
		}
		return nil
	}
	if len(there) == 0 {
		if found, res := r.respelt(); found {
			return res
		}
	}
	return r.notFound(c, known, there)
}

// take makes the tool of this name the target, if there is one. It reports whether
// there is, and returns the refusal where the caller must not see it.
func (r *Request) take(id tool.ID) (found bool, refused *tool.Result) {
	t, d := r.View.Find(id)
	if d != nil {
		return true, r.denied(id, d)
	}
	r.Target = t
	return t != nil, nil
}

// A brokenError is an error of Await that no time puts right.
type brokenError interface {
	error
	Broken() bool
}

// failedServer answers for a server that is configured and cannot be had.
func failedServer(r *Request, err error) *tool.Result {
	res := r.fail(tool.Unavailable, "")
	res.Err = err
	if cause, ok := errors.AsType[*tool.Error](err); ok {
		res.Kind = cause.Kind
		res.Message = sentence(cause.Text)
	} else if errors.Is(err, context.Canceled) {
		res.Kind, res.Message = tool.Canceled, "The call was canceled before its server was ready."
	} else {
		res.Message = fmt.Sprintf("Server %s is unavailable: %s", r.Server, sentence(tool.Flatten(err)))
	}
	if res.Kind != tool.Unavailable {
		return res
	}
	if e, ok := errors.AsType[brokenError](err); ok && e.Broken() {
		res.Message += " Use another tool: this server cannot be used before its operator has put that right."
		return res
	}
	later := "later"
	if e, ok := errors.AsType[heldBack](err); ok {
		if wait := time.Until(e.HeldUntil()); wait > 0 {
			later = fmt.Sprintf("in %d s, when it is started again", int(math.Ceil(wait.Seconds())))
		}
	}
	res.Message += " Use another tool, or try again " + later + "."
	return res
}

// notFound says what there is in place of what was asked for.
func (r *Request) notFound(c Catalog, known bool, there []*tool.Tool) *tool.Result {
	var b strings.Builder
	switch {
	case r.Server == "":
		fmt.Fprintf(&b, "There is no tool %s.", r.Tool)
	case known:
		fmt.Fprintf(&b, "Server %s has no tool %s.", r.Server, r.Tool)
	default:
		fmt.Fprintf(&b, "There is no server %s.", r.Server)
	}
	if len(there) > 1 {
		names := make([]string, len(there))
		for i, t := range there {
			names[i] = t.Server
		}
		fmt.Fprintf(&b, " These servers have a tool %s: %s. Call it on one of them.", r.Tool, strings.Join(names, ", "))
		return r.fail(tool.NotFound, "%s", b.String())
	}
	nearServers, nearTools := c.Near(r.Server, r.Tool)
	if how := c.Declaration(r.Server); how != "" && !known {
		b.WriteString(" " + how)
	} else if meant := swapped(c, r); meant != nil {
		b.WriteString(" Server and tool are mixed up.")
		nearServers, nearTools = nil, meant
	} else if c.HasServer(r.Tool) || !known && r.Server != "" {
		b.WriteString(" Server and tool may have been mixed up: check both names against the list of tools.")
	}
	if len(nearTools) > 0 {
		names := make([]string, len(nearTools))
		for i, id := range nearTools {
			names[i] = calledBy(r, id)
		}
		fmt.Fprintf(&b, " The nearest tools are: %s.", strings.Join(names, ", "))
	}
	if !known && len(nearServers) > 0 {
		fmt.Fprintf(&b, " The nearest servers are: %s.", strings.Join(nearServers, ", "))
	}
	return r.fail(tool.NotFound, "%s", b.String())
}

// swapped returns the tool that is meant where a call has the name of a server for its
// tool, and the name of a tool for its server; and those of that name on other servers
// where that one has none.
func swapped(c Catalog, r *Request) []tool.ID {
	const most = 5
	if r.Server == "" || !c.HasServer(r.Tool) {
		return nil
	}
	if t, _ := c.Find(tool.ID{Server: r.Tool, Name: r.Server}); t != nil {
		return []tool.ID{t.ID}
	}
	var out []tool.ID
	for _, there := range c.WithName(r.Server) {
		if t, _ := c.Find(there.ID); t != nil && len(out) < most {
			out = append(out, t.ID)
		}
	}
	return out
}

// elsewhere sends a call that its server does not know to the only other one
// that does. Nothing has run so far, so that is safe.
func (r *Request) elsewhere(ctx context.Context, next Handler, res *tool.Result) *tool.Result {
	c := r.View
	if err := c.Await(ctx, ""); err != nil {
		return res
	}
	here := r.Target
	var other *tool.Tool
	for _, t := range c.WithName(here.Name) {
		switch {
		case t.Server == here.Server:
		case other != nil:
			return res // several: the server's own words say it all
		default:
			other = t
		}
	}
	if other == nil {
		res.Kind = tool.NotFound
		return res
	}
	r.Target = other
	r.Note("resolve", "server %q does not know its tool %s any more: corrected to server %q, the only other one that has it", here.Server, here.Name, other.Server)
	if res = next(ctx, r); saysUnknown(res, other.Name) {
		res.Kind = tool.NotFound
	}
	return res
}

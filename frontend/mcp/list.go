package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A list is the answer to tools/list for one offer, made once and handed out
// until the offer changes.
type list struct {
	offer          tenon.Offer
	server         string // the only one, under its own names; empty is all
	can            string // the client's capabilities that tools may need
	hints          tenon.Hints
	legacy, modern tool.Bytes
}

// lists are the lists that were made last: callers who may do different things
// have lists of their own.
type lists struct {
	mu   sync.Mutex
	made []*list
}

// maxLists bounds how many are kept.
const maxLists = 32

// of returns the list of an offer, or of one server in it.
func (l *lists) of(offer tenon.Offer, server, can string, hints tenon.Hints) *list {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.made, func(m *list) bool { return m.offer == offer && m.server == server && m.can == can && m.hints == hints }); i >= 0 {
		return l.made[i]
	}
	if len(l.made) == maxLists {
		l.made = slices.Delete(l.made, 0, 1)
	}
	l.made = append(l.made, render(offer, server, can, hints))
	return l.made[len(l.made)-1]
}

func (h *handler) tools(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message, modern bool) (tool.Bytes, *jsonrpc.Error) {
	who := h.viewer(x, m.Params)
	who.Lazy = lazyOf(x, m.Params)
	can := h.can(ctx, x, m, modern)
	offer, err := h.gw.Offer(ctx, who)
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return nil, invalid(modern, "%s", e.Text)
	}
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "canceled")
	}
	switch {
	case h.server != "":
		offer = offer.Direct() // it is this server that the client wants, as it is
	case h.name != "":
		offer = offer.Steady(&h.form)
	}
	hints := h.shows.Hints(who)
	if can != "" || offer.Lazy() {
		hints.Public = false // it is for this client
	}
	l := h.lists.of(offer, h.server, can, hints)
	if modern {
		return l.modern, nil
	}
	return l.legacy, nil
}

// lazyOf returns what a request says of the form of its list.
func lazyOf(x *wire.Exchange, params tool.Bytes) tenon.LazyMode {
	asked := header(x.Header, "X-Tenon-Lazy")
	var span [1]jsonrpc.Span
	if len(params) > 0 && jsonrpc.Members(params, []string{"_meta"}, span[:]) == nil && span[0].Found() {
		meta := span[0].In(params)
		span = [1]jsonrpc.Span{}
		if jsonrpc.Members(meta, []string{"tenon/lazy"}, span[:]) == nil && span[0].Found() {
			if said, ok := jsonrpc.String(span[0].In(meta).Join()); ok {
				asked = said
			}
		}
	}
	return tenon.LazyMode(asked)
}

// can returns the capabilities of the client that tools may need, once it is known
// which do.
func (h *handler) can(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message, modern bool) string {
	session := h.session.Load()
	if modern {
		meta := era.MetaOf(m.Params)
		if !tenon.CapabilitiesCount(meta.Capabilities) {
			return ""
		}
		session = h.gw.NewSession(h.modernOptions(x, meta, m.Method, m.Params))
	}
	if session == nil {
		return ""
	}
	session.Learn(ctx)
	return session.Can()
}

// render makes the list: each tool as its server sent it, but for its name.
func render(offer tenon.Offer, server, can string, hints tenon.Hints) *list {
	size := 64
	for name, t := range offer.All {
		size += len(t.Raw) + len(name) + 1
	}
	body := make([]byte, 0, size)
	if names := offer.Remembered(); len(names) > 0 {
		said, err := json.Marshal(names)
		if err == nil {
			body = append(append(append(body, `"_meta":{"tenon/remembered":`...), said...), "},"...)
		}
	}
	body = append(body, `"tools":[`...)
	for name, t := range offer.All {
		if !tenon.Meets(can, t.Needs) {
			continue
		}
		raw := []byte(t.Raw)
		if server == "" {
			var err error
			if raw, err = jsonrpc.Edit(raw, jsonrpc.Field{Key: "name", Value: jsonrpc.Quote(nil, name)}); err != nil {
				continue // the catalog holds only objects with one name
			}
		} else if t.Server != server {
			continue
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, raw...)
	}
	body = append(body, "]}"...)
	head := []byte(`{"resultType":"complete",`)
	for _, f := range hints.Fields() {
		head = append(append(jsonrpc.Quote(head, f.Key), ':'), f.Value...)
		head = append(head, ',')
	}
	return &list{
		hints:  hints,
		offer:  offer,
		server: server,
		can:    can,
		legacy: tool.Bytes{[]byte("{"), body},
		modern: tool.Bytes{head, body},
	}
}

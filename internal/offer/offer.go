// Package offer knows what the servers of the pool have beside their tools: prompts,
// resources and templates of resources. It keeps the list of each server until that
// says that it has changed, or for a short time, and makes one list of all of them.
//
//	lists := offer.New(fetch, name)
//	all := lists.All(ctx, offer.Prompts, servers)
//	at, ok := all.Find("files__summary")
//
// A prompt is called server__name, by the same rules as tools. The address of a
// resource stays what it is where only one server has it; where several do, those
// behind the first have theirs as tenon://server/ and the address. No server has addresses
// of that scheme by itself: one that it gives is shown with its name before it as well.
package offer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A Kind is what a list is of.
type Kind struct {
	Method string // that lists
	Member string // of the result, which holds them
	Key    string // what each is called by
}

// The kinds.
var (
	Prompts   = Kind{"prompts/list", "prompts", "name"}
	Resources = Kind{"resources/list", "resources", "uri"}
	Templates = Kind{"resources/templates/list", "resourceTemplates", "uriTemplate"}
)

// Bounds of one list of one server.
const (
	maxPages = 1000
	maxItems = 20_000
	fresh    = 10 * time.Second // a server may change its lists without a word
)

// A Fetch sends a request to a server and returns the result.
type Fetch func(ctx context.Context, server, method string, params []byte) (tool.Bytes, error)

// Lists are the lists of all servers. It is safe for concurrent use.
type Lists struct {
	fetch Fetch
	name  func(tool.ID) string

	mu    sync.Mutex
	parts map[place]*part
}

type place struct {
	server string
	kind   Kind
}

// A part is one list of one server.
type part struct {
	ready chan struct{} // closed when the rest is set
	at    time.Time
	items []Item
	hints era.Hints
	err   error
}

// now returns the hints of the part as they are by now: it was kept for a while.
func (p *part) now() era.Hints {
	left := p.hints
	left.TTL = max(left.TTL-time.Since(p.at).Milliseconds(), 0)
	return left
}

// An Item is one of a list, as its server sent it.
type Item struct {
	Key string // its name or address at the server
	Raw json.RawMessage
}

// New returns lists that nobody has asked for yet. name makes the flat name of a
// prompt.
func New(fetch Fetch, name func(tool.ID) string) *Lists {
	return &Lists{fetch: fetch, name: name, parts: map[place]*part{}}
}

// Forget drops the lists of a server that one of its notifications is about.
func (l *Lists) Forget(server, method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if method == "notifications/prompts/list_changed" {
		delete(l.parts, place{server, Prompts})
		return
	}
	delete(l.parts, place{server, Resources})
	delete(l.parts, place{server, Templates})
}

// Of returns a list of one server.
func (l *Lists) Of(ctx context.Context, kind Kind, server string) ([]Item, error) {
	p, err := l.part(ctx, kind, server)
	if err != nil {
		return nil, err
	}
	return p.items, nil
}

// part returns a list of one server with all that is known of it.
func (l *Lists) part(ctx context.Context, kind Kind, server string) (*part, error) {
	at := place{server, kind}
	for {
		l.mu.Lock()
		p := l.parts[at]
		mine := p == nil || p.stale()
		if mine {
			p = &part{ready: make(chan struct{})}
			l.parts[at] = p
		}
		l.mu.Unlock()
		if mine {
			p.items, p.hints, p.err = l.read(ctx, kind, server)
			p.at = time.Now()
			close(p.ready)
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if p.err != nil {
			l.mu.Lock()
			if l.parts[at] == p {
				delete(l.parts, at)
			}
			l.mu.Unlock()
			if !mine && errors.Is(p.err, context.Canceled) {
				continue // whoever asked gave up
			}
		}
		return p, p.err
	}
}

func (p *part) stale() bool {
	select {
	case <-p.ready:
		return time.Since(p.at) > fresh
	default:
		return false
	}
}

// unbounded are the hints of a list with nothing in it yet.
var unbounded = era.Hints{TTL: math.MaxInt64, Public: true}

// read reads all pages of a list.
func (l *Lists) read(ctx context.Context, kind Kind, server string) ([]Item, era.Hints, error) {
	var out []Item
	hints := unbounded
	seen := map[string]bool{}
	for cursor := ""; ; {
		var params []byte
		if cursor != "" {
			params = append(jsonrpc.Quote([]byte(`{"cursor":`), cursor), '}')
		}
		result, err := l.fetch(ctx, server, kind.Method, params)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && cursor == "" && e.Code == jsonrpc.CodeMethodNotFound {
			return nil, hints, nil // it has none
		}
		if err != nil {
			return nil, hints, err
		}
		items, next, err := jsonrpc.ReadPage(result, kind.Member)
		switch {
		case err != nil:
			return nil, hints, fmt.Errorf("%s of server %s: %w", kind.Method, server, err)
		case items == nil:
			return nil, hints, fmt.Errorf("%s of server %s has no %s", kind.Method, server, kind.Member)
		}
		hints = hints.And(era.HintsOf(result))
		for _, raw := range items {
			if key, ok := keyOf(raw, kind.Key); ok && !seen["\x00"+key] {
				seen["\x00"+key] = true
				out = append(out, Item{key, raw})
			}
		}
		if next == "" || seen[next] || len(seen) > maxPages+maxItems || len(out) > maxItems {
			return out, hints, nil
		}
		seen[next] = true
		cursor = next
	}
}

// keyOf returns what an item is called by. One without is left out, and so is one of which
// readers could differ about that: it stands twice, or in another case as well.
func keyOf(raw []byte, key string) (string, bool) {
	var span [1]jsonrpc.Span
	b := tool.OneOf(raw)
	if jsonrpc.OwnMembers(b, []string{key}, span[:]) != nil {
		return "", false
	}
	s, ok := jsonrpc.String(span[0].In(b).Join())
	return s, ok && s != ""
}

// An At is where something is: the server, and what that calls it.
type At struct{ Server, Key string }

// An All is one list of several servers.
type All struct {
	kind  Kind
	shown []string // what each is called, in order
	raw   [][]byte
	at    map[string]At
	hints era.Hints
}

// Hints say how long the list may be kept, and whether anybody may see it: as its parts
// say. One that is not to be had may be there at once.
func (a *All) Hints() era.Hints { return a.hints }

// All makes one list of those of the servers, in their order. A server whose list is
// not to be had has none.
func (l *Lists) All(ctx context.Context, kind Kind, servers []string) *All {
	return l.AllFor(ctx, kind, servers, func(string) Fetch { return nil })
}

// AllFor is All for a client that some servers tell more than all others: own returns how
// its list of one of them is fetched, or nil for that of all.
func (l *Lists) AllFor(ctx context.Context, kind Kind, servers []string, own func(server string) Fetch) *All {
	parts := make([]*part, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		from := l
		if fetch := own(server); fetch != nil {
			from = New(fetch, l.name)
		}
		wg.Go(func() { parts[i], _ = from.part(ctx, kind, server) }) // its state says what is wrong
	}
	wg.Wait()
	out := &All{kind: kind, at: map[string]At{}, hints: unbounded}
	for i, server := range servers {
		if parts[i] == nil || parts[i].err != nil {
			out.hints = out.hints.And(era.Hints{})
			continue
		}
		out.hints = out.hints.And(parts[i].now())
		for _, item := range parts[i].items {
			out.add(l.shownAs(kind, server, item.Key, out), server, item)
		}
	}
	return out
}

func (l *Lists) shownAs(kind Kind, server, key string, before *All) string {
	if kind.Key == "name" {
		return l.name(tool.ID{Server: server, Name: key})
	}
	if _, taken := before.at[key]; taken || IsWrapped(key) {
		return Wrap(server, key)
	}
	return key
}

func (a *All) add(shown, server string, item Item) {
	raw := []byte(item.Raw)
	if shown != item.Key {
		edited, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: a.kind.Key, Value: jsonrpc.Quote(nil, shown)})
		if err != nil {
			return // it has its name twice
		}
		raw = edited
	}
	if _, taken := a.at[shown]; taken {
		return
	}
	a.at[shown] = At{server, item.Key}
	a.shown, a.raw = append(a.shown, shown), append(a.raw, raw)
}

// Find returns where something is that is shown under a name or an address.
func (a *All) Find(shown string) (At, bool) {
	at, ok := a.at[shown]
	return at, ok
}

// Match returns where the template is that an address is most likely made from: the
// one that agrees with it the longest before its first variable.
func (a *All) Match(uri string) (At, bool) {
	best, found := "", false
	var at At
	for _, shown := range a.shown {
		head, _, variable := strings.Cut(shown, "{")
		if variable && head != "" && strings.HasPrefix(uri, head) && len(head) > len(best) {
			best, at, found = head, a.at[shown], true
		}
	}
	return at, found
}

// Result returns the list as a result.
func (a *All) Result() []byte {
	out := append(jsonrpc.Quote([]byte{'{'}, a.kind.Member), ':')
	return append(append(out, jsonrpc.Array(a.raw)...), '}')
}

// scheme begins an address that says its server.
const scheme = "tenon://"

// Wrap returns an address that says its server.
func Wrap(server, uri string) string { return scheme + server + "/" + uri }

// Unwrap undoes Wrap.
func Unwrap(uri string) (at At, ok bool) {
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return At{}, false
	}
	at.Server, at.Key, ok = strings.Cut(uri[len(scheme):], "/")
	return at, ok && at.Server != "" && at.Key != ""
}

// IsWrapped reports whether an address is of the scheme of those that say their server, or
// would be for a reader that drops blanks and control characters from addresses. Whatever
// a server gives that is so has to be wrapped: it could say another server.
func IsWrapped(uri string) bool {
	kept := strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, uri)
	return len(kept) >= len(scheme) && strings.EqualFold(kept[:len(scheme)], scheme)
}

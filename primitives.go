package tenon

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/offer"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// listsOf returns what the servers of a pool have beside their tools.
func listsOf(p *pool, flat func(tool.ID) string) *offer.Lists {
	return offer.New(func(ctx context.Context, server, method string, params []byte) (tool.Bytes, error) {
		ctx, cancel := context.WithTimeout(ctx, listingWait)
		defer cancel()
		return hop{m: p.byName[server]}.Send(ctx, &relay.Sending{Method: method, Params: params})
	}, flat)
}

// reachable returns the servers whose prompts and resources these callers may see.
func (s *scoped) reachable() []string {
	var out []string
	for _, m := range s.members {
		if m.entry != nil && m.meta == nil && s.mayReach(m) == nil {
			out = append(out, m.name)
		}
	}
	return out
}

// fromPool answers a request that is for all servers, or finds out for which.
func (s *Session) fromPool(ctx context.Context, sees *scoped, as Viewer, r relay.Request) (tool.Bytes, error) {
	lists := sees.primitives
	for _, kind := range []offer.Kind{offer.Prompts, offer.Resources, offer.Templates} {
		if kind.Method == r.Method {
			return s.allOf(sees.view, as, lists.AllFor(ctx, kind, sees.reachable(), ownFetch(s, sees))), nil
		}
	}
	switch r.Method {
	case "logging/setLevel":
		return s.setLevel(ctx, sees, r)
	case "tasks/list":
		if !s.o.Modern {
			return s.listTasks(ctx, sees)
		}
	case "completion/complete":
		return s.complete(ctx, sees, as, r)
	}
	if name := textOf(r.Params, "name"); name != "" {
		at, ok := sees.find(ctx, offer.Prompts, name)
		if !ok {
			at, ok = ownFind(ctx, s, sees, offer.Prompts, name)
		}
		if !ok {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no prompt %q", name)
		}
		result, err := s.passAs(ctx, sees, as, at, r, "name")
		if err != nil {
			return nil, err
		}
		return readdressed(ctx, sees, at.Server, result, "messages")
	}
	if uri := textOf(r.Params, "uri"); uri != "" {
		at, err := sees.resource(ctx, uri)
		if err != nil {
			var ok bool
			if at, ok = ownFind(ctx, s, sees, offer.Resources, uri); !ok {
				return nil, s.notFound(err, uri)
			}
		}
		return s.resource(ctx, sees, as, at, uri, r)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported here, where it may be for any server; see /mcp/s/ and the name of one", r.Method)
}

// ownFetch returns how the list of a server is fetched on the client's own connection to
// it, where it has one: what belongs to a session is in no other list.
func ownFetch(s *Session, sees *scoped) func(server string) offer.Fetch {
	return func(server string) offer.Fetch {
		m := sees.byName[server]
		if m.server == nil || !s.client.Holds(server) {
			return nil
		}
		return func(ctx context.Context, _, method string, params []byte) (tool.Bytes, error) {
			ctx, cancel := context.WithTimeout(ctx, listingWait)
			defer cancel()
			return s.pass(ctx, m, relay.Request{Method: method, Params: params})
		}
	}
}

// ownFind finds what only the client's own connections have.
func ownFind(ctx context.Context, s *Session, sees *scoped, kind offer.Kind, shown string) (offer.At, bool) {
	fetch := ownFetch(s, sees)
	var servers []string
	for _, name := range sees.reachable() {
		if fetch(name) != nil {
			servers = append(servers, name)
		}
	}
	if len(servers) == 0 {
		return offer.At{}, false
	}
	return sees.primitives.AllFor(ctx, kind, servers, fetch).Find(shown)
}

// notFound is the error for an address that no server has.
func (s *Session) notFound(e *jsonrpc.Error, uri string) error {
	out := *e
	if s.o.Modern {
		out.Code = jsonrpc.CodeInvalidParams
	}
	out.Data = append(jsonrpc.Quote([]byte(`{"uri":`), uri), '}')
	return &out
}

// find finds what is shown under a name or an address. An address that says its server is
// nobody else's, whatever is listed.
func (s *scoped) find(ctx context.Context, kind offer.Kind, shown string) (offer.At, bool) {
	servers := s.reachable()
	if kind != offer.Prompts && offer.IsWrapped(shown) {
		at, ok := offer.Unwrap(shown)
		return at, ok && slices.Contains(servers, at.Server)
	}
	return s.primitives.All(ctx, kind, servers).Find(shown)
}

// resource finds the server of an address: the one that it says, that lists it, whose
// template it fits, or the only one that has any.
func (s *scoped) resource(ctx context.Context, uri string) (offer.At, *jsonrpc.Error) {
	servers := s.reachable()
	if at, ok := s.find(ctx, offer.Resources, uri); ok {
		return at, nil
	}
	if offer.IsWrapped(uri) {
		return offer.At{}, jsonrpc.Errorf(jsonrpc.CodeResourceNotFound, "Resource not found: %q has to say a server after tenon:// that there is here", uri)
	}
	templates := s.primitives.All(ctx, offer.Templates, servers)
	if at, ok := templates.Match(uri); ok {
		return offer.At{Server: at.Server, Key: uri}, nil
	}
	var only []string
	for _, name := range servers {
		items, _ := s.primitives.Of(ctx, offer.Resources, name)
		made, _ := s.primitives.Of(ctx, offer.Templates, name)
		if len(items)+len(made) > 0 {
			only = append(only, name)
		}
	}
	if len(only) == 1 {
		return offer.At{Server: only[0], Key: uri}, nil
	}
	return offer.At{}, jsonrpc.Errorf(jsonrpc.CodeResourceNotFound, "Resource not found: no server lists %q, or has a template that it fits", uri)
}

// resource carries a request about a resource, and shows its address as the client
// knows it.
func (s *Session) resource(ctx context.Context, sees *scoped, as Viewer, at offer.At, uri string, r relay.Request) (tool.Bytes, error) {
	if at.Key != uri {
		s.client.Show(at.Server, at.Key, uri)
	}
	result, err := s.passAs(ctx, sees, as, at, r, "uri")
	if err != nil || at.Key == uri {
		return result, err
	}
	var span [1]jsonrpc.Span
	var contents []json.RawMessage
	raw := result.Join()
	if err := jsonrpc.OwnMembers(result, []string{"contents"}, span[:]); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s answered with something that is no result: %v", at.Server, err)
	}
	if json.Unmarshal(span[0].In(result).Join(), &contents) != nil || len(contents) == 0 {
		return result, nil
	}
	for i, c := range contents {
		if textOf(c, "uri") == at.Key {
			if edited, err := jsonrpc.Edit(c, jsonrpc.Field{Key: "uri", Value: jsonrpc.Quote(nil, uri)}); err == nil {
				contents[i] = edited
			}
		}
	}
	edited, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: "contents", Value: jsonrpc.Array(contents)})
	return tool.OneOf(edited), err
}

// passAs carries a request to the server of what it is about, under the name that the
// server knows.
func (s *Session) passAs(ctx context.Context, sees *scoped, as Viewer, at offer.At, r relay.Request, key string) (tool.Bytes, error) {
	params, err := jsonrpc.Edit(r.Params, jsonrpc.Field{Key: key, Value: jsonrpc.Quote(nil, at.Key)})
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params: %v", err)
	}
	r.Params = params
	return s.carry(ctx, sees, as, sees.byName[at.Server], r)
}

// setLevel sets the level of the logs of a session, at the servers that know it.
func (s *Session) setLevel(ctx context.Context, sees *scoped, r relay.Request) (tool.Bytes, error) {
	level := textOf(r.Params, "level")
	if !strings.Contains(" debug info notice warning error critical alert emergency ", " "+level+" ") {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no level %q", level)
	}
	result, err := s.client.SetLevel(ctx, nil, level, nil)
	for _, m := range sees.members {
		if m.server != nil {
			s.client.Level(ctx, m.way())
		}
	}
	return result, err
}

// complete carries a completion to the server of the prompt or the template that it is
// for.
func (s *Session) complete(ctx context.Context, sees *scoped, as Viewer, r relay.Request) (tool.Bytes, error) {
	var p struct {
		Ref json.RawMessage `json:"ref"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || len(p.Ref) == 0 {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of completion/complete lack ref")
	}
	key, shown := "name", textOf(p.Ref, "name")
	kinds := []offer.Kind{offer.Prompts}
	if uri := textOf(p.Ref, "uri"); uri != "" {
		key, shown, kinds = "uri", uri, []offer.Kind{offer.Templates, offer.Resources}
	}
	for _, kind := range kinds {
		at, ok := sees.find(ctx, kind, shown)
		if !ok {
			continue
		}
		ref, err := jsonrpc.Edit(p.Ref, jsonrpc.Field{Key: key, Value: jsonrpc.Quote(nil, at.Key)})
		if err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "ref: %v", err)
		}
		if r.Params, err = jsonrpc.Edit(r.Params, jsonrpc.Field{Key: "ref", Value: ref}); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params: %v", err)
		}
		return s.carry(ctx, sees, as, sees.byName[at.Server], r)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is nothing called %q to complete for", shown)
}

// Listen has tell hear of changes of the resources with these addresses, until stop is
// called.
func (s *Session) Listen(ctx context.Context, uris []string, tell func(method string, params []byte)) (stop func(), e *jsonrpc.Error) {
	if len(uris) == 0 {
		return func() {}, nil
	}
	o := s.o
	o.Modern, o.Capabilities = false, nil
	o.Notify = func(method string, params []byte) error {
		if method == "notifications/resources/updated" { // nothing else was asked for
			tell(method, params)
		}
		return nil
	}
	session := s.g.NewSession(o)
	for _, uri := range uris {
		params := append(jsonrpc.Quote([]byte(`{"uri":`), uri), '}')
		if _, e := session.Request(ctx, PeerRequest{Viewer: s.o.Viewer, Method: "resources/subscribe", Params: params}); e != nil {
			session.Close()
			return nil, e
		}
	}
	return session.Close, nil
}

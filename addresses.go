package tenon

import (
	"context"
	"slices"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/offer"
	"github.com/tenon-mcp/tenon/tool"
)

// NamesResources reports whether a result may hold addresses of resources, which most do
// not: see Window.Addresses.
func NamesResources(res *tool.Result) bool { return offer.NamesResources(res.Raw) }

// Addresses returns the result of a call, in which the server may name resources, as a
// client of the pool is to have it: an address that is another server's there, or that says
// a server, becomes the one under which that client finds this server's. All others stay as
// they are.
func (s Window) Addresses(ctx context.Context, o Viewer, server string, result tool.Bytes) tool.Bytes {
	p := s.g.enter()
	defer p.leave()
	sees, err := view{s.g, p}.as(o.subject())
	if err != nil {
		return result
	}
	own, _ := readdressed(ctx, sees, server, result, "content") // Call refuses what can be read in two ways
	return own
}

// readdressed changes the addresses of resources in a list of content blocks, or of
// messages that have one each.
func readdressed(ctx context.Context, sees *scoped, server string, result tool.Bytes, list string) (tool.Bytes, error) {
	if !offer.NamesResources(result) {
		return result, nil
	}
	servers := sees.reachable()
	var lists func() (resources, templates *offer.All)
	if slices.ContainsFunc(servers, func(name string) bool { return name != server }) {
		lists = func() (resources, templates *offer.All) {
			ctx, cancel := context.WithTimeout(ctx, listingWait)
			defer cancel()
			return sees.primitives.All(ctx, offer.Resources, servers), sees.primitives.All(ctx, offer.Templates, servers)
		}
	}
	out, err := offer.Readdress(result, list, server, lists)
	if err != nil {
		return result, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s answered with something that is no result: %v", server, err)
	}
	return out, nil
}

package tenon

import (
	"net/http"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// paramHeaders returns the arguments of a tool that go along as headers.
func (p *pool) paramHeaders(t *tool.Tool) []era.ParamHeader {
	if known, ok := p.headers.Load(t); ok {
		return known.([]era.ParamHeader) //nolint:forcetypeassert // there is nothing else in it
	}
	found, err := era.ParamHeaders(t.Schema)
	if err != nil {
		found = nil // such a tool is not offered
	}
	p.headers.Store(t, found)
	return found
}

// headersFor returns the headers that go along with a call, or nil.
func (p *pool) headersFor(t *tool.Tool, args []byte) http.Header {
	params := p.paramHeaders(t)
	if len(params) == 0 {
		return nil
	}
	out := http.Header{}
	for _, h := range params {
		if v, ok := h.Value(args); ok {
			out.Set(era.ParamPrefix+h.Name, wire.EncodeHeader(v))
		}
	}
	return out
}

// CheckParams says which header of a request does not say what an argument of the call
// says, of a tool whose definition wants that; empty is none.
func (s Window) CheckParams(server, name string, args []byte, header http.Header) string {
	p := s.g.pool.Load()
	t, ok := p.catalog.Snapshot().Find(tool.ID{Server: server, Name: name})
	if !ok {
		return ""
	}
	for _, h := range p.paramHeaders(t) {
		want, has := h.Value(args)
		said := header.Values(era.ParamPrefix + h.Name)
		if !has && len(said) == 0 {
			continue
		}
		if len(said) == 1 && has {
			if got, ok := wire.DecodeHeader(said[0]); ok && got == want {
				continue
			}
		}
		return era.ParamPrefix + h.Name
	}
	return ""
}

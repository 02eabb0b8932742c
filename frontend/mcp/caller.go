package mcp

import (
	"errors"
	"net/http"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// via returns a caller as it comes over this front end.
func via(c tool.Caller) tool.Caller {
	c.Via = "mcp"
	return c
}

// admit returns who sends a request, or answers with why nobody may. Who may not
// call tools has nothing to do here at all.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (tool.Caller, bool) {
	who := s.gw.Access()
	caller, err := who.Caller(r)
	if err == nil && caller.Grant != nil && !caller.Grant.Caller {
		err = who.Forbidden(r, "this credential decides on calls and makes none: use that of a caller")
	}
	if err == nil {
		return via(caller), true
	}
	status := http.StatusInternalServerError
	if refusal, ok := errors.AsType[*tenon.Refusal](err); ok {
		refusal.Tell(w.Header())
		status = refusal.Status
	}
	e := jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%v", err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := append(jsonrpc.AppendAnswerHead(nil, nil, true), e.JSON()...)
	_, _ = w.Write(append(body, '}')) // a client that is gone needs no answer
	return tool.Caller{}, false
}

// known reports whether who sent a request would still be let in.
func (s *Server) known(r *http.Request) bool {
	_, err := s.gw.Access().Caller(r)
	return err == nil
}

// MetadataPath is where ServeMetadata belongs, and all that is below.
const MetadataPath = tenon.MetadataPath

// ServeMetadata answers a client that wants to know which identity provider gives
// it a token, as RFC 9728 has it. It needs no credential: those who ask have none yet.
func (s *Server) ServeMetadata(w http.ResponseWriter, r *http.Request) {
	body, ok := s.gw.Access().Metadata(r)
	switch {
	case !ok:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

package mcp

import (
	"context"
	"encoding/json"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A list is the answer to tools/list for one offer, made once and handed out
// until the offer changes.
type list struct {
	offer          tenon.Offer
	legacy, modern tool.Bytes
}

// listTTL says in milliseconds how long a modern client may keep the list. It is
// short, since servers come and go.
const listTTL = "5000"

func (h *handler) tools(ctx context.Context, modern bool) (tool.Bytes, *jsonrpc.Error) {
	offer, err := h.gw.Offer(ctx)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "canceled")
	}
	l := h.list.Load()
	if l == nil || l.offer != offer {
		l = render(offer)
		h.list.Store(l)
	}
	if modern {
		return l.modern, nil
	}
	return l.legacy, nil
}

// render makes the list: each tool as its server sent it, but for its name.
func render(offer tenon.Offer) *list {
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
		raw, err := jsonrpc.Edit(t.Raw, jsonrpc.Field{Key: "name", Value: jsonrpc.Quote(nil, name)})
		if err != nil {
			continue // the catalog holds only objects with one name
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, raw...)
	}
	body = append(body, "]}"...)
	return &list{
		offer:  offer,
		legacy: tool.Bytes{[]byte("{"), body},
		modern: tool.Bytes{[]byte(`{"resultType":"complete","ttlMs":` + listTTL + `,"cacheScope":"private",`), body},
	}
}

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

func (h *handler) initialize(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	var p struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		ClientInfo   json.RawMessage `json:"clientInfo"`
	}
	err := json.Unmarshal(m.Params.Join(), &p)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of initialize: %s is of the wrong type: %s", cmp.Or(e.Field, "the whole"), e.Value)
	}
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of initialize: %v", err)
	}
	version := era.Negotiate(p.Version)
	h.elicits.Store(version >= firstElicitation && elicits(p.Capabilities))
	said := `"protocolVersion":"` + version + `"`
	if h.server != "" {
		about, err := h.shows.About(ctx, h.viewer(x, m.Params))
		if err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
		}
		h.begin(x, m.Params, p.Capabilities, p.ClientInfo)
		if about.Modern {
			return tool.OneOf(era.Initialized(about.Raw, version, about.Bridge)), nil
		}
		raw, err := jsonrpc.Edit(about.Raw, jsonrpc.Field{Key: "protocolVersion", Value: jsonrpc.Quote(nil, version)})
		if err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s: %v", h.server, err)
		}
		return tool.OneOf(raw), nil
	}
	h.begin(x, m.Params, p.Capabilities, p.ClientInfo)
	v := h.viewer(x, m.Params)
	return tool.OneOf(h.hello(said, withTasks(legacyCapabilities, legacyTasks, h.shows.HasTasks(v)), v, false)), nil
}

// What the pool can do, whichever servers are in it.
const (
	modernCapabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{}}`
	legacyCapabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}`
)

// What the pool can do besides, where one of its servers has tasks.
const (
	modernTasks = `"extensions":{"` + era.TasksExtension + `":{}}`
	legacyTasks = `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
)

func withTasks(capabilities, tasks string, has bool) string {
	if !has {
		return capabilities
	}
	return capabilities[:len(capabilities)-1] + "," + tasks + "}"
}

const discovered = `"resultType":"complete","supportedVersions":["` + era.ModernFirst + `"],"ttlMs":5000,"cacheScope":"private"`

func (h *handler) discover(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	if h.server == "" {
		v := h.viewer(x, m.Params)
		return tool.OneOf(h.hello(discovered, withTasks(modernCapabilities, modernTasks, h.shows.HasTasks(v)), v, true)), nil
	}
	about, err := h.shows.About(ctx, h.viewer(x, m.Params))
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
	}
	if !about.Modern {
		return tool.OneOf(era.Discovered(about.Raw, about.Bridge)), nil
	}
	fields := h.shows.SelfHints(h.viewer(x, m.Params), about.Raw).Fields()
	raw, err := jsonrpc.Edit(about.Raw, append(fields, jsonrpc.Field{Key: "supportedVersions", Value: []byte(`["` + era.ModernFirst + `"]`)})...)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s: %v", h.server, err)
	}
	return tool.OneOf(raw), nil
}

// hello returns what the gateway says of itself to a client of an era, after the given
// members.
func (h *handler) hello(members, capabilities string, v tenon.Viewer, modern bool) []byte {
	out := append([]byte("{"), members...)
	out = append(out, `,"capabilities":`+capabilities+`,"serverInfo":{"name":"tenon","title":"Tenon","version":`...)
	out = jsonrpc.Quote(out, cmp.Or(h.o.Version, "0"))
	out = append(out, `},"instructions":`...)
	return append(jsonrpc.Quote(out, h.instructions(v, modern)), '}')
}

// listen holds a stream open on which a modern client hears what it wants to.
func (h *handler) listen(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	var p struct {
		Notifications *struct {
			Tools     bool     `json:"toolsListChanged,omitempty"`
			Prompts   bool     `json:"promptsListChanged,omitempty"`
			Lists     bool     `json:"resourcesListChanged,omitempty"`
			Resources []string `json:"resourceSubscriptions,omitempty"`
			Tasks     []string `json:"taskIds,omitempty"`
		} `json:"notifications"`
	}
	if err := json.Unmarshal(m.Params.Join(), &p); err != nil || p.Notifications == nil {
		return nil, invalid(true, "params of subscriptions/listen lack notifications")
	}
	f := p.Notifications
	meta := append([]byte(`{"`+era.MetaSubscription+`":`), m.ID...)
	id := jsonrpc.Field{Key: era.MetaSubscription, Value: m.ID}
	meta = append(meta, '}')
	tell := func(method string, params []byte) {
		if own, err := jsonrpc.EditMeta(params, id); err == nil {
			_ = x.Notify(method, own.Join()) // a client that reads too slowly misses some
		}
	}
	session := h.gw.NewSession(h.modernOptions(x, era.MetaOf(m.Params), m.Method, m.Params))
	events := h.gw.Watch(ctx)
	told := &afterwards{tell: tell}
	stop, e := session.Listen(ctx, f.Resources, told.say)
	if e != nil {
		return nil, e
	}
	defer stop()
	var watch func(context.Context) func()
	f.Tasks, watch = session.WatchTasks(f.Tasks, tell)
	agreed, err := json.Marshal(map[string]any{"notifications": f})
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
	}
	tell("notifications/subscriptions/acknowledged", agreed)
	told.begin()
	defer watch(ctx)()
	wanted := map[tenon.EventKind]bool{tenon.ToolsChanged: f.Tools, tenon.PromptsChanged: f.Prompts, tenon.ResourcesChanged: f.Lists}
	for event := range events {
		if wanted[event.Kind] && h.sees(event) {
			tell(listChanged(event.Kind), nil)
		}
	}
	return tool.OneOf(append(append([]byte(`{"resultType":"complete","_meta":`), meta...), '}')), nil
}

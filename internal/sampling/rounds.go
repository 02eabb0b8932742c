package sampling

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Capable returns capabilities with that of sampling, and whether they had it.
func Capable(capabilities []byte) (with []byte, had bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(capabilities, &all) != nil || all == nil {
		all = map[string]json.RawMessage{}
	}
	if _, had = all["sampling"]; had {
		return capabilities, true
	}
	all["sampling"] = json.RawMessage("{}")
	with, err := json.Marshal(all)
	if err != nil {
		return capabilities, false
	}
	return with, false
}

// Inputs are what a modern server wants to know before it goes on with a call.
type Inputs struct {
	Type  string `json:"resultType"`
	Wants map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	State *string `json:"requestState"`
}

// Answered returns the params of a call with answers for its server.
func Answered(params []byte, state *string, answers map[string]json.RawMessage) ([]byte, error) {
	said, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	fields := []jsonrpc.Field{{Key: "inputResponses", Value: said}}
	if state != nil {
		fields = append(fields, jsonrpc.Field{Key: "requestState", Value: jsonrpc.Quote(nil, *state)})
	}
	return jsonrpc.Edit(params, fields...)
}

// keptPrefix begins a state that holds answers of the model.
const keptPrefix = "tenon-sampled:"

// kept are answers of the model while the client is asked for the rest. Whoever gives
// the state to a client signs it.
type kept struct {
	State   *string                    `json:"s"`
	Answers map[string]json.RawMessage `json:"a"`
}

// Withhold returns a result with what the client is asked for, and with the answers of
// the model in its state.
func Withhold(result []byte, in Inputs, answers map[string]json.RawMessage) ([]byte, error) {
	state, err := json.Marshal(kept{in.State, answers})
	if err != nil {
		return nil, err
	}
	wants, err := json.Marshal(in.Wants)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Edit(result,
		jsonrpc.Field{Key: "inputRequests", Value: wants},
		jsonrpc.Field{Key: "requestState", Value: jsonrpc.Quote(nil, keptPrefix+base64.RawURLEncoding.EncodeToString(state))})
}

// Restore returns the params of a call in which answers of the model that wait in the
// state stand beside those of the client. The error is a *jsonrpc.Error where the params
// are wrong.
func Restore(params []byte) ([]byte, error) {
	coded, ok := strings.CutPrefix(stateOf(params), keptPrefix)
	if !ok {
		return params, nil
	}
	var k kept
	b, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil || json.Unmarshal(b, &k) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "requestState is refused")
	}
	var said map[string]json.RawMessage
	if raw := Member(params, "inputResponses"); raw != nil && json.Unmarshal(raw, &said) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "inputResponses is no object")
	}
	if k.Answers == nil {
		k.Answers = map[string]json.RawMessage{}
	}
	for name, a := range said {
		if _, ours := k.Answers[name]; !ours {
			k.Answers[name] = a
		}
	}
	if params, err = Answered(params, k.State, k.Answers); err != nil {
		return nil, err
	}
	if k.State == nil { // the server gave none
		return without(params, "requestState")
	}
	return params, nil
}

func stateOf(params []byte) string {
	text, _ := jsonrpc.String(Member(params, "requestState"))
	return text
}

// Member returns the member of a member of an object, as it stands there, or nil.
func Member(obj []byte, keys ...string) []byte {
	b := tool.OneOf(obj)
	for _, key := range keys {
		var span [1]jsonrpc.Span
		if b.Len() == 0 || jsonrpc.Members(b, []string{key}, span[:]) != nil || !span[0].Found() {
			return nil
		}
		b = span[0].In(b)
	}
	return b.Join()
}

// without returns an object without a member.
func without(obj []byte, key string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(obj, &all); err != nil {
		return nil, err
	}
	delete(all, key)
	return json.Marshal(all)
}

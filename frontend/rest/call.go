package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// maxBatch bounds the calls of one batch.
const maxBatch = 1000

// keyHeader names the idempotency key of a call, or of a batch: then each of its
// calls has that key with its number behind.
const keyHeader = "Idempotency-Key"

func (a *api) call(r *http.Request, caller tool.Caller) (response, error) {
	body, err := readBody(r)
	if err != nil {
		return response{}, err
	}
	c, err := DecodeCall(body, "")
	if err != nil {
		return response{}, err
	}
	a.complete(&c, r, caller)
	c.IdempotencyKey = cmp.Or(c.IdempotencyKey, r.Header.Get(keyHeader))
	return resultOf(a.gw.Call(r.Context(), c))
}

// resultOf spares the hot path the second pass over the bytes that json.Marshal
// makes after MarshalJSON.
func resultOf(res *tool.Result) (response, error) {
	b, err := res.MarshalJSON()
	return response{contentType: typeJSON, body: b}, err
}

func (a *api) batch(r *http.Request, caller tool.Caller) (response, error) {
	body, err := readBody(r)
	if err != nil {
		return response{}, err
	}
	calls, err := DecodeBatch(body)
	if err != nil {
		return response{}, err
	}
	for i := range calls {
		a.complete(&calls[i], r, caller)
		if key := r.Header.Get(keyHeader); key != "" && calls[i].IdempotencyKey == "" {
			calls[i].IdempotencyKey = key + "/" + strconv.Itoa(i)
		}
	}
	results := a.gw.CallBatch(r.Context(), calls)
	return jsonOf(batchResults{results, tenon.BatchNotes(results)})
}

type batchResults struct {
	Results []*tool.Result `json:"results"`
	Notes   []tool.Note    `json:"notes,omitempty"` // on the batch as a whole
}

// complete adds what the request says of the call beside its body. The body goes
// first. A call without a server may use a flat name, as the tools have it in the
// formats of model APIs.
func (a *api) complete(c *tool.Call, r *http.Request, caller tool.Caller) {
	c.Caller = caller
	c.Session = cmp.Or(c.Session, r.Header.Get("X-Tenon-Session"))
	c.Task = cmp.Or(c.Task, r.Header.Get("X-Tenon-Task"))
	c.Skill = cmp.Or(c.Skill, r.Header.Get("X-Tenon-Skill"))
	if c.Server != "" {
		return
	}
	if id, ok := a.gw.Named(c.Tool); ok {
		c.Server, c.Tool = id.Server, id.Name
		return
	}
	// A server that has not been started yet offers nothing yet.
	if server, name, ok := strings.Cut(c.Tool, "__"); ok && server != "" && name != "" {
		c.Server, c.Tool = server, name
	}
}

// maxPrealloc bounds what is allocated on the word of a client.
const maxPrealloc = 1 << 20

func readBody(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), maxPrealloc)) + bytes.MinRead)
	_, err := b.ReadFrom(r.Body)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Text: "the body did not arrive in time, or not in whole", Kind: tool.Invalid, status: http.StatusRequestTimeout}
	}
	if !utf8.Valid(b.Bytes()) {
		return nil, &Error{Text: "the body is not UTF-8, as JSON has to be", Kind: tool.Invalid}
	}
	return b.Bytes(), nil
}

// DecodeCall reads the JSON of one call: an object with tool_name, and where
// wanted server_name, arguments, session, skill, task_id, idempotency_key and timeout. The error is an *Error
// of kind Invalid that names the place of the mistake, below the JSON pointer at.
// The arguments alias body.
func DecodeCall(body []byte, at string) (tool.Call, error) {
	var c tool.Call
	err := eachMember(body, at, func(key string, value json.RawMessage) error { return setMember(&c, key, value) })
	if err != nil {
		return tool.Call{}, err
	}
	if c.Tool == "" {
		return tool.Call{}, invalid(at+"/tool_name", errors.New("the name of a tool is missing"))
	}
	return c, nil
}

// eachMember reads body, which must be one JSON object, and hands over its members
// in their order. It ends with the first that is wrong, so that a body full of them
// costs nothing.
func eachMember(body []byte, at string, take func(key string, value json.RawMessage) error) error {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] != '{' && json.Valid(trimmed) {
		return invalid(at, fmt.Errorf("must be an object, not %s", typeName(body)))
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return noJSON(at, body, err)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return noJSON(at, body, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return noJSON(at, body, err)
		}
		if seen[key] {
			return invalid(at+"/"+pointerToken(key), errors.New("is given twice"))
		}
		seen[key] = true
		if err := take(key, value); err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				return e
			}
			return invalid(at+"/"+pointerToken(key), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return noJSON(at, body, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return noJSON(at, body, err)
	}
	return nil
}

// maxMembers bounds the members of an object that is read into a map.
const maxMembers = 64

// decodeObject reads body, which must be one JSON object, into its members.
func decodeObject(body []byte, members *map[string]json.RawMessage) error {
	*members = map[string]json.RawMessage{}
	return eachMember(body, "", func(key string, value json.RawMessage) error {
		if len(*members) == maxMembers {
			return errors.New("is one member too many")
		}
		(*members)[key] = value
		return nil
	})
}

// noJSON says where body is no JSON.
func noJSON(at string, body []byte, err error) *Error {
	var whole json.RawMessage
	if e, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &whole)); ok {
		return invalid(at, fmt.Errorf("the body is no JSON: %w, at byte %d", e, e.Offset))
	}
	return invalid(at, fmt.Errorf("the body is no JSON: %w", cmp.Or(err, io.ErrUnexpectedEOF)))
}

func setMember(c *tool.Call, key string, value json.RawMessage) error {
	switch key {
	case "server_name", "server":
		return setName(&c.Server, value)
	case "tool_name", "tool":
		return setName(&c.Tool, value)
	case "session":
		return setString(&c.Session, value)
	case "skill":
		return setString(&c.Skill, value)
	case "task_id":
		return setString(&c.Task, value)
	case "mode":
		return setString((*string)(&c.Mode), value)
	case "idempotency_key":
		return setString(&c.IdempotencyKey, value)
	case "arguments":
		return setArguments(c, value)
	case "timeout":
		return setTimeout(c, value)
	}
	return errors.New("is no member of a call; known: server_name, tool_name (or server and tool), arguments, session, skill, task_id, mode, idempotency_key, timeout")
}

// setName takes a name that a call may give in two ways: as answers and records have it,
// and short.
func setName(s *string, value json.RawMessage) error {
	if *s != "" {
		return errors.New("is given twice, by both of its names")
	}
	return setString(s, value)
}

func setString(s *string, value json.RawMessage) error {
	if json.Unmarshal(value, s) != nil {
		return fmt.Errorf("must be a string, not %s", typeName(value))
	}
	return nil
}

func setArguments(c *tool.Call, value json.RawMessage) error {
	switch value[0] {
	case '{':
		c.Arguments = value
		return nil
	case 'n':
		return nil
	case '"':
		return errors.New("must be an object, not a string; where a model wrote the arguments as text, parse that text first")
	}
	return fmt.Errorf("must be an object, not %s", typeName(value))
}

// setTimeout takes a duration such as "30s", or a number of seconds.
func setTimeout(c *tool.Call, value json.RawMessage) error {
	var text string
	switch {
	case value[0] == 'n':
		return nil
	case value[0] == '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
	case typeName(value) == "a number":
		text = string(value) + "s"
	default:
		return fmt.Errorf(`must be a duration such as "30s", or a number of seconds, not %s`, typeName(value))
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf(`must be a duration above zero such as "30s", or a number of seconds, not %s`, value)
	}
	c.Timeout = d
	return nil
}

// DecodeBatch reads the JSON of a batch: {"calls": […]}. Its errors are those of
// DecodeCall. One call that is none makes the whole no batch: then nothing runs.
func DecodeBatch(body []byte) ([]tool.Call, error) {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		return nil, invalid("", errors.New(`must be an object, not an array: write {"calls": […]}`))
	}
	var calls []tool.Call
	err := eachMember(body, "", func(key string, value json.RawMessage) (err error) {
		if key != "calls" {
			return errors.New("is no member of a batch; known: calls")
		}
		calls, err = decodeCalls(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	if calls == nil {
		return nil, invalid("/calls", errors.New("is missing"))
	}
	return calls, nil
}

// decodeCalls reads an array of calls, and stops where it holds too many.
func decodeCalls(list json.RawMessage) ([]tool.Call, error) {
	if list[0] != '[' {
		return nil, invalid("/calls", fmt.Errorf("must be an array, not %s", typeName(list)))
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	calls := []tool.Call{}
	for d.More() {
		if len(calls) == maxBatch {
			return nil, invalid("/calls", fmt.Errorf("holds too many calls; a batch holds at most %d", maxBatch))
		}
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		c, err := DecodeCall(one, "/calls/"+strconv.Itoa(len(calls)))
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func invalid(where string, err error) *Error {
	return &Error{Text: err.Error(), Kind: tool.Invalid, Where: where}
}

// pointerToken escapes a key for a JSON pointer.
func pointerToken(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// typeName names the type of a JSON value for a person.
func typeName(value []byte) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

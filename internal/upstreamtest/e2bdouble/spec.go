package e2bdouble

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// published is what E2B says of its interfaces.
//
//go:embed testdata/openapi.json testdata/process.proto testdata/filesystem.proto
var published embed.FS

// A spec is what was published, to check by.
type spec struct {
	paths   map[string]map[string]operation
	methods map[string]protoreflect.MethodDescriptor // by the path of the procedure

	mu       sync.Mutex // held to compile: a compiler keeps what it has read
	compiler *jsonschema.Compiler
}

type operation struct {
	Body      *content            `json:"requestBody"`
	Responses map[string]*content `json:"responses"`
}

type content struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

func newSpec() (*spec, error) {
	s := &spec{compiler: jsonschema.NewCompiler(), methods: map[string]protoreflect.MethodDescriptor{}}
	b, err := published.ReadFile("testdata/openapi.json")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	s.paths = doc.Paths
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if err := s.compiler.AddResource("openapi.json", nullable(v)); err != nil {
		return nil, err
	}
	files, err := (&protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: func(path string) (io.ReadCloser, error) { return published.Open("testdata/" + path) },
	})}).Compile(context.Background(), "process.proto", "filesystem.proto")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		for i := range f.Services().Len() {
			service := f.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				s.methods["/"+string(service.FullName())+"/"+string(m.Name())] = m
			}
		}
	}
	return s, nil
}

// nullable makes a type of what version 3.0 of OpenAPI calls so.
func nullable(v any) any {
	switch v := v.(type) {
	case object:
		if kind, ok := v["type"].(string); ok && v["nullable"] == true {
			v["type"] = []any{kind, "null"}
		}
		for name, w := range v {
			v[name] = nullable(w)
		}
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	}
	return v
}

// operation finds what is described for a path, and its parameter.
func (s *spec) operation(method, path string) (pattern string, op operation, ok bool) {
	for pattern, methods := range s.paths {
		before, after, param := strings.Cut(pattern, "{sandboxID}")
		matches := pattern == path
		if param && strings.HasPrefix(path, before) && strings.HasSuffix(path, after) {
			id := strings.TrimSuffix(strings.TrimPrefix(path, before), after)
			matches = idName.MatchString(id)
		}
		if op, found := methods[strings.ToLower(method)]; matches && found {
			return pattern, op, true
		}
	}
	return "", operation{}, false
}

// check checks JSON by what an operation says of a request (status 0) or an answer.
func (s *spec) check(method, path string, status int, body []byte) error {
	pattern, op, ok := s.operation(method, path)
	if !ok {
		return fmt.Errorf("%s %s is not described", method, path)
	}
	at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(pattern) + "/" + strings.ToLower(method)
	c := op.Body
	if status != 0 {
		if c = op.Responses[fmt.Sprint(status)]; c == nil {
			if status >= 400 {
				return nil // of the edge
			}
			return fmt.Errorf("%s %s: the status %d is not described", method, path, status)
		}
		at += fmt.Sprint("/responses/", status)
		if c.Ref != "" {
			at = "/components/schemas/Error"
		}
	} else {
		at += "/requestBody"
	}
	if c == nil || c.Ref == "" && c.Content == nil {
		if len(body) > 0 {
			return fmt.Errorf("%s %s: a body where none is described: %s", method, path, body)
		}
		return nil
	}
	if c.Ref == "" {
		at += "/content/application~1json/schema"
	}
	schema, err := s.compile("openapi.json#" + at)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", method, path, err, body)
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("%s %s: %w: %s", method, path, err, body)
	}
	return nil
}

// compile makes a schema ready that stands at a place of the description.
func (s *spec) compile(at string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compiler.Compile(at)
}

// strict is the JSON of protobuf, in which nothing unknown is passed over.
type strict struct{}

// Name is the one in the type of the content.
func (strict) Name() string { return "json" }

// Marshal writes a message.
func (strict) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return protojson.Marshal(m)
}

// Unmarshal reads a message.
func (strict) Unmarshal(b []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	if len(b) == 0 {
		b = []byte("{}")
	}
	return protojson.Unmarshal(b, m)
}

// asMessage makes a message of a description; what the description has and the message
// has not is an error.
func asMessage(desc protoreflect.MessageDescriptor, v object) (*dynamicpb.Message, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(desc)
	return m, protojson.Unmarshal(b, m)
}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

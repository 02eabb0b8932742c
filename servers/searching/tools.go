package searching

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// The most that answers of tools have, in characters.
const (
	searchChars  = 16_000
	wikiChars    = 16_000
	archiveChars = 16_000
	scrapeChars  = 100_000
)

// limits are what a schema says of a property beside its type.
type limits struct {
	usual    any // default
	min, max float64
	longest  int // characters of a string
	pattern  string
	enum     []any
}

func (l limits) set(p *jsonschema.Schema) {
	if l.usual != nil {
		b, err := json.Marshal(l.usual)
		if err != nil {
			panic(err)
		}
		p.Default = b
	}
	if l.max != 0 {
		p.Minimum, p.Maximum = &l.min, &l.max
	}
	if l.longest != 0 {
		p.MaxLength = &l.longest
	}
	p.Pattern, p.Enum = l.pattern, l.enum
}

// maxArguments bounds what a model writes for one call.
const maxArguments = 64 << 10

// spec is the part of a tool's definition that differs between the tools here.
type spec struct {
	name, title, description string
	input                    map[string]limits // of input properties
	// output is the schema of an answer that may hold more than it tells; nil where
	// the type of the answer says all.
	output  func(*jsonschema.ForOptions) (*jsonschema.Schema, error)
	timeout time.Duration // where it is another one than that of the server
}

// add registers a tool, each call of which has one deadline.
func add[In, Out any](s *server, srv *mcp.Server, sp spec, answer func(context.Context, In) (string, Out, error)) {
	no, yes := false, true
	typed.Add(srv, typed.Spec{
		Name: sp.name, Title: sp.title, Description: sp.description, MaxArguments: maxArguments, Shape: sp.shape,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &yes},
	}, func(ctx context.Context, in In) (string, Out, error) {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(sp.timeout, s.timeout))
		defer cancel()
		text, out, err := answer(ctx, in)
		if err != nil {
			err = s.told(ctx, err)
		}
		return text, out, err
	})
}

// shape says in the schemas what the types do not.
func (sp spec) shape(in, out *jsonschema.Schema) {
	for name, l := range sp.input {
		l.set(in.Properties[name])
	}
	if sp.output == nil {
		return
	}
	open, err := sp.output(nil)
	if err != nil {
		panic(err)
	}
	open.AdditionalProperties = nil
	*out = *open
}

// told returns an error as a model may read it.
func (s *server) told(ctx context.Context, err error) error {
	text := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text += ". The time for one call is over: try again later, or ask for less"
	}
	return typed.Reword(err, egress.Cut(s.sieve.hide(clean(text)), 4000))
}

// clean returns foreign text without what is not seen but may be read, and without the
// marks of what could not be decoded.
func clean(s string) string {
	s, _ = answer.Seen(s)
	return strings.ReplaceAll(s, "\uFFFD", "")
}

// cut returns at most limit characters of s, ending at the end of a line where one
// is near, and how many there are in all.
func cut(s string, limit int) (string, int) {
	r := []rune(s)
	if len(r) <= limit {
		return s, len(r)
	}
	head := string(r[:limit])
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i]
	}
	return strings.TrimSpace(head), len(r)
}

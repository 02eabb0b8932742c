package sandbox

import "context"

// A Progress is how far something is that takes long before a sandbox is there.
type Progress struct {
	Done, Total int64 // bytes; a total of 0 is not known
	Doing       string
}

type tellKey struct{}

// Telling returns a context whose Check and Create tell how far they are, about once a
// second at most, where that takes long. Tell must not wait.
func Telling(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, tellKey{}, tell)
}

// Tell tells whoever wants to know.
func Tell(ctx context.Context, p Progress) {
	if tell, ok := ctx.Value(tellKey{}).(func(Progress)); ok {
		tell(p)
	}
}

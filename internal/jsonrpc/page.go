package jsonrpc

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/tool"
)

// ReadPage reads a page of a list, whose entries stand in the member of that name, and what
// names the next page. A page without the member has nil entries, one in which it is null
// or empty has none.
//
// Only the names count that the protocol has, letter for letter: one that stands twice or
// in another case is a mistake, for readers differ in which of two they take.
func ReadPage(result tool.Bytes, member string) (entries []json.RawMessage, next string, err error) {
	var spans [2]Span
	if err := OwnMembers(result, []string{member, "nextCursor"}, spans[:]); err != nil {
		return nil, "", err
	}
	if in := spans[0].In(result); in != nil {
		entries = []json.RawMessage{}
		if err := json.Unmarshal(in.Join(), &entries); err != nil {
			return nil, "", fmt.Errorf("%s: %w", member, err)
		}
		if entries == nil {
			entries = []json.RawMessage{}
		}
	}
	if in := spans[1].In(result); in != nil {
		if err := json.Unmarshal(in.Join(), &next); err != nil {
			return nil, "", fmt.Errorf("nextCursor: %w", err)
		}
	}
	return entries, next, nil
}

// Array returns entries as the array that ReadPage reads, each with the bytes it has.
func Array[E ~[]byte](entries []E) []byte {
	n := 2
	for _, e := range entries {
		n += len(e) + 1
	}
	out := append(make([]byte, 0, n), '[')
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

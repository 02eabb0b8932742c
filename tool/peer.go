package tool

import "context"

// A Peer is the way back to a client beside the answer to its request. It must not be
// used after the request was answered.
type Peer interface {
	// Ask sends a request to the client and waits for its answer.
	Ask(ctx context.Context, method string, params []byte) (Bytes, error)
	// Notify sends a notification that belongs to the request.
	Notify(method string, params []byte) error
}

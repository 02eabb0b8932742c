package docker

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// streams are what an engine passes on of a container: its output and errors, mixed.
type streams struct {
	conn client.HijackedResponse
	errs *sandbox.Clip
	left int // of the piece of output that is being read
}

func newStreams(conn client.HijackedResponse) *streams {
	return &streams{conn: conn, errs: sandbox.NewClip(4000)}
}

// Read returns output, and keeps the errors.
func (s *streams) Read(p []byte) (int, error) {
	for s.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(s.conn.Reader, head[:]); err != nil {
			return 0, err
		}
		n := int64(binary.BigEndian.Uint32(head[4:]))
		switch head[0] {
		case 1:
			s.left = int(n)
		case 2:
			if _, err := io.CopyN(s.errs, s.conn.Reader, n); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("the engine sends a stream of kind %d, which nobody knows", head[0])
		}
	}
	n, err := s.conn.Reader.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// Close ends both directions.
func (s *streams) Close() error { return s.conn.Conn.Close() }

// in is the way to the container.
func (s *streams) in() io.WriteCloser { return s.conn.Conn }

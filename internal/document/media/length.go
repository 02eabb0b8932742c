package media

import (
	"bytes"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// Length returns how long a sound lasts by what its file says of itself, and 0 where
// that is not known.
func Length(sound []byte) time.Duration {
	p := measure(draft.Source{Data: bytes.NewReader(sound), Size: int64(len(sound))})
	if !(p.seconds > 0 && p.seconds < 1e7) {
		return 0
	}
	return time.Duration(p.seconds * float64(time.Second))
}

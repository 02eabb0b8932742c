package sound

import (
	"encoding/binary"
	"errors"
	"io"
	"time"
)

const (
	window  = Rate / 50 // samples whose loudness is taken together
	pause   = 15        // windows that a pause has: 0.3 s
	silence = 64        // loudest sample of what holds nothing at all
)

// A Splitter cuts PCM into pieces, each where it is quietest near its end.
type Splitter struct {
	r     io.Reader
	most  int // bytes of a piece
	buf   []byte
	piece []byte
	start int64 // byte at which the piece begins
	end   int64
	err   error
	over  bool
}

// NewSplitter returns a Splitter into pieces of at most so long.
func NewSplitter(r io.Reader, most time.Duration) *Splitter {
	n := max(int(most.Seconds()*Rate), 4*window*pause) * 2
	return &Splitter{r: r, most: n}
}

// Next goes to the next piece.
func (s *Splitter) Next() bool {
	s.buf = append(s.buf[:0], s.buf[len(s.piece):]...)
	s.start = s.end
	s.piece = nil
	if !s.over {
		at := len(s.buf)
		if cap(s.buf) < s.most {
			s.buf = append(make([]byte, 0, s.most), s.buf...)
		}
		n, err := io.ReadFull(s.r, s.buf[at:s.most])
		s.buf = s.buf[:at+n]
		if err != nil {
			s.over = true
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				s.err = err
			}
		}
	}
	s.buf = s.buf[:len(s.buf)&^1]
	if len(s.buf) == 0 {
		return false
	}
	s.piece = s.buf
	if !s.over {
		s.piece = s.buf[:quietest(s.buf)]
	}
	s.end = s.start + int64(len(s.piece))
	return true
}

// PCM returns the piece, which is good until Next.
func (s *Splitter) PCM() []byte { return s.piece }

// Start returns where the piece begins, and End where it ends.
func (s *Splitter) Start() time.Duration { return length(s.start) }

// End returns where the piece ends.
func (s *Splitter) End() time.Duration { return length(s.end) }

// Last reports whether no piece follows this one.
func (s *Splitter) Last() bool { return s.over }

// Err returns what kept the sound from being read to its end.
func (s *Splitter) Err() error { return s.err }

// Length returns how long PCM lasts.
func Length(pcm []byte) time.Duration { return length(int64(len(pcm))) }

func length(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / second * float64(time.Second))
}

// quietest returns the place in the last quarter of PCM, but at most in its last minute,
// at which it is quietest.
func quietest(pcm []byte) int {
	from := max(len(pcm)-60*second, len(pcm)*3/4) / (2 * window)
	windows := len(pcm) / (2 * window)
	loud := make([]float64, 0, windows-from)
	for i := from; i < windows; i++ {
		sum := 0.0
		for k := range window {
			v := float64(int16(binary.LittleEndian.Uint16(pcm[(i*window+k)*2:])))
			sum += v * v
		}
		loud = append(loud, sum)
	}
	best, at, sum := -1.0, len(loud), 0.0
	for i, v := range loud {
		sum += v
		if i >= pause {
			sum -= loud[i-pause]
		}
		if i >= pause-1 && (best < 0 || sum <= best) {
			best, at = max(sum, 0), i-pause/2
		}
	}
	return (from + at) * 2 * window
}

// Silent reports whether PCM holds nothing at all.
func Silent(pcm []byte) bool {
	for i := 0; i+2 <= len(pcm); i += 2 {
		if v := int16(binary.LittleEndian.Uint16(pcm[i:])); v > silence || v < -silence {
			return false
		}
	}
	return true
}

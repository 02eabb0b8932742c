package sound

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// waveform is the sound in a WAV file.
type waveform struct {
	kind, channels, bits int
	rate                 int
	data                 []byte
}

func parseWAV(b []byte) (waveform, error) {
	var w waveform
	le := binary.LittleEndian
	for at := 12; at+8 <= len(b); {
		n := int(le.Uint32(b[at+4:]))
		body := b[at+8:]
		switch string(b[at : at+4]) {
		case "fmt ":
			if len(body) < 16 {
				return w, errDamaged
			}
			w.kind, w.channels = int(le.Uint16(body)), int(le.Uint16(body[2:]))
			w.rate, w.bits = int(le.Uint32(body[4:])), int(le.Uint16(body[14:]))
			if w.kind == 0xfffe && len(body) >= 26 { // the kind is in what extends it
				w.kind = int(le.Uint16(body[24:]))
			}
		case "data": // one that was streamed does not say how much there is
			w.data = body[:min(n, len(body))]
			return w, w.check()
		}
		at += 8 + n + n&1
	}
	return w, errDamaged
}

var errDamaged = errors.New("the WAV file is damaged: it holds no sound")

func (w waveform) check() error {
	known := map[[2]int]bool{
		{1, 8}: true, {1, 16}: true, {1, 24}: true, {1, 32}: true, {3, 32}: true, {3, 64}: true, {6, 8}: true, {7, 8}: true,
	}
	switch {
	case w.rate < 1000 || w.rate > 768_000 || w.channels < 1 || w.channels > 64:
		return errDamaged
	case !known[[2]int{w.kind, w.bits}]:
		return fmt.Errorf("the WAV file holds sound of kind %d with %d bits, which is not known here", w.kind, w.bits)
	}
	return nil
}

func (w waveform) frames() int { return len(w.data) / (w.channels * w.bits / 8) }

// LengthOfWAV returns how long a WAV file lasts, and 0 where it does not tell.
func LengthOfWAV(b []byte) time.Duration {
	w, err := parseWAV(b)
	if err != nil {
		return 0
	}
	return time.Duration(float64(w.frames()) / float64(w.rate) * float64(time.Second))
}

// sample returns a sample, from -1 to 1.
func (w waveform) sample(b []byte) float64 {
	le := binary.LittleEndian
	switch {
	case w.kind == 6:
		return alaw(b[0])
	case w.kind == 7:
		return mulaw(b[0])
	case w.kind == 3 && w.bits == 32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case w.kind == 3:
		return math.Float64frombits(le.Uint64(b))
	case w.bits == 8:
		return (float64(b[0]) - 128) / 128
	case w.bits == 16:
		return float64(int16(le.Uint16(b))) / (1 << 15)
	case w.bits == 24:
		return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
	}
	return float64(int32(le.Uint32(b))) / (1 << 31)
}

// mulaw and alaw decode what telephones send (ITU-T G.711).
func mulaw(v byte) float64 {
	v = ^v
	x := float64((int(v&15)<<3+132)<<(v>>4&7) - 132)
	if v&128 != 0 {
		x = -x
	}
	return x / (1 << 15)
}

func alaw(v byte) float64 {
	v ^= 0x55
	x := int(v&15)<<4 + 8
	if e := v >> 4 & 7; e > 0 {
		x = (x + 256) << (e - 1)
	}
	if v&128 == 0 {
		x = -x
	}
	return float64(x) / (1 << 15)
}

// frame returns the mean of the channels.
func (w waveform) frame(i int) float64 {
	size := w.bits / 8
	at, sum := i*w.channels*size, 0.0
	for c := range w.channels {
		sum += w.sample(w.data[at+c*size:])
	}
	return sum / float64(w.channels)
}

// FromWAV returns the PCM of a WAV file.
func FromWAV(b []byte) (io.Reader, error) {
	w, err := parseWAV(b)
	if err != nil {
		return nil, err
	}
	if w.frames() == 0 {
		return nil, errDamaged
	}
	return &resampler{w: w, step: float64(w.rate) / Rate}, nil
}

// resampler gives PCM of a waveform: the mean of what a sample covers, and between two
// samples what lies on the line.
type resampler struct {
	w    waveform
	step float64 // frames for one sample
	next int     // sample
}

// Read implements [io.Reader].
func (r *resampler) Read(p []byte) (int, error) {
	n := 0
	for ; n+2 <= len(p); n += 2 {
		v, ok := r.at(r.next)
		if !ok {
			break
		}
		r.next++
		binary.LittleEndian.PutUint16(p[n:], uint16(int16(v*(1<<15-1))))
	}
	if n == 0 && len(p) >= 2 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *resampler) at(i int) (float64, bool) {
	from := float64(i) * r.step
	first, frames := int(from), r.w.frames()
	if first >= frames {
		return 0, false
	}
	v := r.w.frame(first)
	switch last := min(int(from+r.step), frames); {
	case r.step < 1:
		if first+1 < frames {
			v += (r.w.frame(first+1) - v) * (from - float64(first))
		}
	case last-first > 1:
		for k := first + 1; k < last; k++ {
			v += r.w.frame(k)
		}
		v /= float64(last - first)
	}
	if math.IsNaN(v) {
		v = 0
	}
	return max(-1, min(1, v)), true
}

package sound_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tenon-mcp/tenon/servers/audio/sound"
)

// tone returns PCM of a tone with pauses of half a second.
func tone(seconds float64, pauses ...float64) []byte {
	b := make([]byte, int(seconds*sound.Rate)*2)
	for i := range len(b) / 2 {
		at, v := float64(i)/sound.Rate, 9000.0*math.Sin(float64(i))
		for _, p := range pauses {
			if at >= p && at < p+0.5 {
				v = 0
			}
		}
		binary.LittleEndian.PutUint16(b[2*i:], uint16(int16(v)))
	}
	return b
}

func TestSplit(t *testing.T) {
	pcm := tone(25, 8, 17)
	cuts := sound.NewSplitter(iotest.HalfReader(bytes.NewReader(pcm)), 10*time.Second)
	var all []byte
	var ends []float64
	for cuts.Next() {
		if got := sound.Length(all); got != cuts.Start() {
			t.Errorf("starts at %v, not %v", cuts.Start(), got)
		}
		all = append(all, cuts.PCM()...)
		ends = append(ends, cuts.End().Seconds())
	}
	if !bytes.Equal(all, pcm) || len(ends) != 3 || math.Abs(ends[0]-8.25) > 0.2 || math.Abs(ends[1]-17.25) > 0.2 || ends[2] != 25 || cuts.Err() != nil || !cuts.Last() {
		t.Errorf("%d of %d bytes, cut at %v, %v", len(all), len(pcm), ends, cuts.Err())
	}
	broken := errors.New("broken")
	cuts = sound.NewSplitter(io.MultiReader(bytes.NewReader(pcm), iotest.ErrReader(broken)), time.Minute)
	if !cuts.Next() || cuts.Next() || !errors.Is(cuts.Err(), broken) {
		t.Error(cuts.Err())
	}
	if cuts := sound.NewSplitter(bytes.NewReader(nil), time.Minute); cuts.Next() || cuts.Err() != nil {
		t.Error("there is nothing to cut")
	}
	if !sound.Silent(make([]byte, 1000)) || sound.Silent(pcm) {
		t.Error("what is silent?")
	}
}

// encode returns a WAV file of samples from -1 to 1, the same on each channel.
func encode(kind, bits, channels, rate int, samples []float64) []byte {
	var data bytes.Buffer
	for _, v := range samples {
		for range channels {
			le := func(v any) { _ = binary.Write(&data, binary.LittleEndian, v) }
			switch {
			case kind == 3 && bits == 32:
				le(float32(v))
			case kind == 3:
				le(v)
			case bits == 8:
				le(uint8(128 + v*127))
			case bits == 16:
				le(int16(v * 32767))
			case bits == 24:
				n := uint32(int32(v * (1<<23 - 1)))
				data.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
			case bits == 32:
				le(int32(v * (1<<31 - 1)))
			}
		}
	}
	return file(kind, bits, channels, rate, data.Bytes())
}

func file(kind, bits, channels, rate int, data []byte) []byte {
	var b bytes.Buffer
	le := func(list ...any) {
		for _, v := range list {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	b.WriteString("RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00fmt ") // something before it, of odd length
	le(uint32(16), uint16(kind), uint16(channels), uint32(rate), uint32(rate*channels*bits/8), uint16(channels*bits/8), uint16(bits))
	b.WriteString("data")
	le(uint32(0xffffffff)) // as a stream that does not know its end
	b.Write(data)
	return b.Bytes()
}

func TestWAV(t *testing.T) {
	for _, c := range []struct{ kind, bits, channels, rate int }{
		{1, 8, 1, 8000}, {1, 16, 2, 44_100}, {1, 24, 1, 48_000}, {1, 32, 6, 96_000}, {3, 32, 2, 16_000}, {3, 64, 1, 11_025},
	} {
		samples := make([]float64, c.rate)
		for i := range samples {
			samples[i] = 0.5 * math.Sin(2*math.Pi*200*float64(i)/float64(c.rate))
		}
		b := encode(c.kind, c.bits, c.channels, c.rate, samples)
		if got := sound.LengthOfWAV(b); got != time.Second {
			t.Errorf("%+v: %v", c, got)
		}
		r, err := sound.FromWAV(b)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		pcm, err := io.ReadAll(r)
		if err != nil || len(pcm) < 2*sound.Rate-4 || len(pcm) > 2*sound.Rate+4 {
			t.Fatalf("%+v: %d bytes, %v", c, len(pcm), err)
		}
		worst := 0.0
		for i := range len(pcm)/2 - 10 {
			got := float64(int16(binary.LittleEndian.Uint16(pcm[2*i:]))) / 32767
			worst = max(worst, math.Abs(got-0.5*math.Sin(2*math.Pi*200*float64(i)/sound.Rate)))
		}
		if worst > 0.06 { // the mean lies a little behind
			t.Errorf("%+v: off by %.3f", c, worst)
		}
	}
}

// TestTelephone decodes the values that the recommendation G.711 names.
func TestTelephone(t *testing.T) {
	for _, c := range []struct {
		kind int
		code byte
		want float64
	}{
		{7, 0xff, 0}, {7, 0x80, 32124}, {7, 0x00, -32124}, {7, 0xf0, 120}, {6, 0xd5, 8}, {6, 0x55, -8}, {6, 0xaa, 32256}, {6, 0x2a, -32256},
	} {
		r, err := sound.FromWAV(file(c.kind, 8, 1, sound.Rate, []byte{c.code}))
		if err != nil {
			t.Fatal(err)
		}
		pcm, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(int16(binary.LittleEndian.Uint16(pcm))); math.Abs(got-c.want) > 2 {
			t.Errorf("%d %x: %v, not %v", c.kind, c.code, got, c.want)
		}
	}
}

func TestDamagedWAV(t *testing.T) {
	good := encode(1, 16, 1, 8000, []float64{0, 1})
	for n := range len(good) - 2 {
		if r, err := sound.FromWAV(good[:n]); err == nil {
			t.Fatalf("%d bytes: %v", n, r)
		}
	}
	for _, bad := range [][]byte{file(1, 16, 0, 8000, good), file(1, 16, 1, 0, good), file(2, 4, 1, 8000, good), file(1, 16, 1, 8000, nil), file(1, 16, 65, 8000, good)} {
		if r, err := sound.FromWAV(bad); err == nil {
			t.Errorf("%v", r)
		}
	}
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]string{
		"RIFF1234WAVE": "WAV", "fLaC": "FLAC", "OggS": "Ogg", "ID3\x04": "MP3", "\xff\xfb\x90\x00": "MP3", "\xff\xf1\x50\x80": "AAC", "\x00\x00\x00\x18ftypM4A ": "M4A",
		"\x00\x00\x00\x18ftypisom": "MP4", "\x00\x00\x00\x18ftypqt  ": "QuickTime", "\x1aE\xdf\xa3": "WebM", "FORM1234AIFF": "AIFF", "#!AMR": "AMR",
		"#EXTM3U": "", "\x00\x00\x00\x18ftypavif": "", "<html>": "", "\xff\xff\xff\xff": "",
	} {
		f, ok := sound.Sniff(append([]byte(head), make([]byte, 20)...))
		if f.Name != want || ok != (want != "") {
			t.Errorf("%q is taken for %q, not %q", head, f.Name, want)
		}
	}
	if wav := sound.WAV(tone(1)); sound.LengthOfWAV(wav) != time.Second {
		t.Error("what WAV writes is no second")
	}
}

func FuzzFromWAV(f *testing.F) {
	f.Add(encode(1, 16, 1, 8000, []float64{0, 1}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if r, err := sound.FromWAV(b); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20)) // whatever comes, it ends
		}
		_, _ = sound.Sniff(b)
	})
}

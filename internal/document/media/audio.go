package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/dhowden/tag"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// Audio converts a sound to what its tags say, and how long it is. What is spoken
// needs an engine that this package does not have.
func Audio(_ context.Context, src draft.Source, out *draft.Out) error {
	f := &facts{out: out}
	if m, err := tag.ReadFrom(src.Reader()); err == nil {
		f.add("Title", m.Title())
		f.add("Artist", m.Artist())
		f.add("Author", m.Composer())
		f.add("Band", m.AlbumArtist())
		f.add("Album", m.Album())
		f.add("Genre", m.Genre())
		if n, of := m.Track(); n > 0 {
			f.add("Track", numberOf(n, of))
		}
		if m.Year() > 0 {
			f.add("Year", strconv.Itoa(m.Year()))
		}
		f.add("Comment", m.Comment())
		f.add("Lyrics", m.Lyrics())
		f.add("FileType", string(m.FileType()))
	}
	p := measure(src)
	if p.seconds > 0 {
		f.add("Duration", duration(p.seconds))
	}
	if p.rate > 0 {
		f.add("SampleRate", strconv.Itoa(p.rate))
	}
	if p.channels > 0 {
		f.add("Channels", strconv.Itoa(p.channels))
	}
	if p.bits > 0 {
		f.add("BitsPerSample", strconv.Itoa(p.bits))
	}
	f.add("FileSize", fmt.Sprintf("%d bytes", src.Size))
	f.write()
	out.Note("what is spoken or sung is not in this: it needs an engine for speech")
	return out.Err()
}

func numberOf(n, of int) string {
	if of > 0 {
		return fmt.Sprintf("%d of %d", n, of)
	}
	return strconv.Itoa(n)
}

func duration(seconds float64) string {
	s := int(seconds + 0.5)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d (%.1f s)", s/60, s%60, seconds)
}

// properties are how a sound is stored.
type properties struct {
	seconds              float64
	rate, channels, bits int
}

func measure(src draft.Source) properties {
	head := src.Head(256 << 10)
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) > 12 && string(head[8:12]) == "WAVE":
		return wav(head, src.Size)
	case bytes.HasPrefix(head, []byte("fLaC")) && len(head) > 42:
		v := binary.BigEndian.Uint64(head[18:])
		p := properties{rate: int(v >> 44), channels: int(v>>41&7) + 1, bits: int(v>>36&31) + 1}
		if p.rate > 0 {
			p.seconds = float64(v&(1<<36-1)) / float64(p.rate)
		}
		return p
	case bytes.HasPrefix(head, []byte("OggS")):
		return ogg(src, head)
	case len(head) > 12 && string(head[4:8]) == "ftyp":
		return mp4(src)
	}
	return mp3(src, head)
}

func wav(head []byte, size int64) properties {
	var p properties
	perSecond := 0
	for at := 12; at+8 <= len(head); {
		n := int(binary.LittleEndian.Uint32(head[at+4:]))
		body := head[at+8:]
		switch string(head[at : at+4]) {
		case "fmt ":
			if len(body) >= 16 {
				p.channels, p.rate = int(binary.LittleEndian.Uint16(body[2:])), int(binary.LittleEndian.Uint32(body[4:]))
				perSecond, p.bits = int(binary.LittleEndian.Uint32(body[8:])), int(binary.LittleEndian.Uint16(body[14:]))
			}
		case "data":
			if perSecond > 0 {
				p.seconds = float64(min(int64(n), size)) / float64(perSecond)
			}
			return p
		}
		if n < 0 || n > len(head) {
			break
		}
		at += 8 + n + n&1
	}
	return p
}

func ogg(src draft.Source, head []byte) properties {
	var p properties
	if i := bytes.Index(head, []byte("\x01vorbis")); i >= 0 && i+16 <= len(head) {
		p.channels, p.rate = int(head[i+11]), int(binary.LittleEndian.Uint32(head[i+12:]))
	} else if i := bytes.Index(head, []byte("OpusHead")); i >= 0 && i+10 <= len(head) {
		p.channels, p.rate = int(head[i+9]), 48_000
	}
	tail := make([]byte, min(src.Size, 64<<10))
	n, _ := src.Data.ReadAt(tail, src.Size-int64(len(tail))) // what is there must do
	tail = tail[:n]
	if i := bytes.LastIndex(tail, []byte("OggS")); i >= 0 && i+14 <= len(tail) && p.rate > 0 {
		if g := binary.LittleEndian.Uint64(tail[i+6:]); g < 1<<48 {
			p.seconds = float64(g) / float64(p.rate)
		}
	}
	return p
}

// mp4 finds the length in the head of a film, wherever in the file that is.
func mp4(src draft.Source) properties {
	var p properties
	at, end := int64(0), src.Size
	for range 1000 {
		var h [16]byte
		if n, _ := src.Data.ReadAt(h[:], at); n < 8 || at+8 > end { // its end
			return p
		}
		n := int64(binary.BigEndian.Uint32(h[:]))
		skip := int64(8)
		if n == 1 {
			n, skip = int64(binary.BigEndian.Uint64(h[8:])), 16
		}
		switch string(h[4:8]) {
		case "moov":
			at, end = at+skip, min(end, at+n)
			continue
		case "mvhd":
			var b [40]byte
			if k, _ := src.Data.ReadAt(b[:], at+8); k < 40 {
				return p
			}
			scale, length := float64(binary.BigEndian.Uint32(b[12:])), float64(binary.BigEndian.Uint32(b[16:]))
			if b[0] == 1 {
				scale, length = float64(binary.BigEndian.Uint32(b[20:])), float64(binary.BigEndian.Uint64(b[24:]))
			}
			if scale > 0 {
				p.seconds = length / scale
			}
			return p
		}
		if n < 8 {
			return p
		}
		at += n
	}
	return p
}

var (
	mp3Rates  = [2][16]int{{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}, {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}
	mp3Sample = [4]int{44_100, 48_000, 32_000}
)

// mp3 reads the first frame, and the count of frames in it where there is one.
func mp3(src draft.Source, head []byte) properties {
	var p properties
	from := int64(0)
	if bytes.HasPrefix(head, []byte("ID3")) && len(head) > 10 {
		from = 10 + int64(head[6]&127)<<21 + int64(head[7]&127)<<14 + int64(head[8]&127)<<7 + int64(head[9]&127)
	}
	b := make([]byte, 16<<10)
	n, _ := src.Data.ReadAt(b, from) // what is there must do
	b = b[:n]
	for i := 0; i+4 <= len(b); i++ {
		if b[i] != 0xff || b[i+1]&0xe6 != 0xe2 || b[i+2]>>4 == 15 || b[i+2]>>4 == 0 || b[i+2]>>2&3 == 3 {
			continue
		}
		version := b[i+1] >> 3 & 3 // 3 is 1, 2 is 2, 0 is 2.5
		lower, samples := 0, 1152
		if version != 3 {
			lower, samples = 1, 576
		}
		p.rate = mp3Sample[b[i+2]>>2&3]
		switch version {
		case 2:
			p.rate /= 2
		case 0:
			p.rate /= 4
		}
		p.channels = 2
		if b[i+3]>>6 == 3 {
			p.channels = 1
		}
		rate := mp3Rates[lower][b[i+2]>>4] * 1000
		p.seconds = float64(src.Size-from-int64(i)) * 8 / float64(max(rate, 1))
		frame := b[i:min(len(b), i+200)]
		for _, mark := range []string{"Xing", "Info"} {
			if j := bytes.Index(frame, []byte(mark)); j > 0 && j+12 <= len(frame) && frame[j+7]&1 != 0 {
				p.seconds = float64(binary.BigEndian.Uint32(frame[j+8:])) * float64(samples) / float64(p.rate)
			}
		}
		return p
	}
	return p
}

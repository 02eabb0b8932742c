// Package sound knows sounds by their content, takes them apart to what models of speech
// want, and cuts long ones where nobody speaks.
//
//	f, ok := sound.Sniff(b)
//	pcm, err := sound.FromWAV(b)         // or Programs.Decode, where ffmpeg is there
//	cuts := sound.NewSplitter(pcm, 10*time.Minute)
//	for cuts.Next() {
//		wav := sound.WAV(cuts.PCM())      // begins at cuts.Start()
//	}
//
// PCM is 16 bits, little-endian, one channel, [Rate] samples a second throughout.
package sound

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Rate is how many samples a second of PCM has, as models of speech want it.
const Rate = 16_000

const second = 2 * Rate // bytes

// A Format is what a file of sound is.
type Format struct {
	Name string // for people
	MIME string
	Ext  string // of a file's name, with the dot
	// Demuxer is ffmpeg's name for it. It is always given, so that no file makes ffmpeg
	// take it for a list of other files.
	Demuxer string
}

// The formats that are known.
var (
	wave     = Format{"WAV", "audio/wav", ".wav", "wav"}
	mp3      = Format{"MP3", "audio/mpeg", ".mp3", "mp3"}
	flac     = Format{"FLAC", "audio/flac", ".flac", "flac"}
	ogg      = Format{"Ogg", "audio/ogg", ".ogg", "ogg"}
	m4a      = Format{"M4A", "audio/mp4", ".m4a", "mov"}
	mp4      = Format{"MP4", "video/mp4", ".mp4", "mov"}
	mov      = Format{"QuickTime", "video/quicktime", ".mov", "mov"}
	webm     = Format{"WebM", "audio/webm", ".webm", "matroska"}
	matroska = Format{"Matroska", "video/x-matroska", ".mkv", "matroska"}
	aac      = Format{"AAC", "audio/aac", ".aac", "aac"}
	wma      = Format{"WMA", "audio/x-ms-wma", ".wma", "asf"}
	amr      = Format{"AMR", "audio/amr", ".amr", "amr"}
	aiff     = Format{"AIFF", "audio/aiff", ".aiff", "aiff"}
	caf      = Format{"CAF", "audio/x-caf", ".caf", "caf"}
)

// Sniff returns the format of a sound, by its first bytes.
func Sniff(b []byte) (Format, bool) {
	if len(b) < 16 {
		return Format{}, false
	}
	for magic, f := range map[string]Format{
		"fLaC": flac, "OggS": ogg, "#!AMR": amr, "caff": caf, "ID3": mp3, "\x30\x26\xb2\x75\x8e\x66\xcf\x11": wma,
	} {
		if bytes.HasPrefix(b, []byte(magic)) {
			return f, true
		}
	}
	inner := string(b[8:12])
	switch {
	case string(b[:4]) == "RIFF" && inner == "WAVE":
		return wave, true
	case string(b[:4]) == "FORM" && (inner == "AIFF" || inner == "AIFC"):
		return aiff, true
	case bytes.HasPrefix(b, []byte("\x1aE\xdf\xa3")):
		if bytes.Contains(b[:min(len(b), 64)], []byte("matroska")) {
			return matroska, true
		}
		return webm, true
	case string(b[4:8]) == "ftyp":
		switch {
		case strings.HasPrefix(inner, "M4A"), strings.HasPrefix(inner, "M4B"):
			return m4a, true
		case inner == "qt  ":
			return mov, true
		case strings.HasPrefix(inner, "avi"), strings.HasPrefix(inner, "hei"), inner == "mif1":
			return Format{}, false // images
		}
		return mp4, true
	case b[0] == 0xff && b[1]&0xf6 == 0xf0:
		return aac, true
	case b[0] == 0xff && b[1]&0xe0 == 0xe0 && b[1]&0x06 != 0 && b[1]&0x18 != 0x08 && b[2]&0xf0 != 0xf0 && b[2]&0x0c != 0x0c:
		return mp3, true
	}
	return Format{}, false
}

// WAV returns PCM as a file.
func WAV(pcm []byte) []byte {
	b := make([]byte, 44, 44+len(pcm))
	le := binary.LittleEndian
	copy(b, "RIFF")
	le.PutUint32(b[4:], uint32(36+len(pcm)))
	copy(b[8:], "WAVEfmt ")
	le.PutUint32(b[16:], 16)
	le.PutUint16(b[20:], 1)
	le.PutUint16(b[22:], 1)
	le.PutUint32(b[24:], Rate)
	le.PutUint32(b[28:], second)
	le.PutUint16(b[32:], 2)
	le.PutUint16(b[34:], 16)
	copy(b[36:], "data")
	le.PutUint32(b[40:], uint32(len(pcm)))
	return append(b, pcm...)
}

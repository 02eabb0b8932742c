package document_test

import (
	"encoding/binary"
	"sort"
	"strings"
	"unicode/utf16"
)

// A stream is one of a compound file. Its name may have one storage before it.
type stream struct {
	name string
	body []byte
}

const none, endOfChain, fatSector = 0xffffffff, 0xfffffffe, 0xfffffffd

// An entry is one of a directory.
type entry struct {
	name        string
	kind        byte
	right       uint32
	child       uint32
	start, size uint32
}

// compound makes a compound file, as old programs of Office write them: version 3,
// with sectors of 512 bytes. What is small is padded, so that it needs no mini stream.
func compound(streams ...stream) []byte {
	const sector, cutoff = 512, 4096
	entries := []entry{{name: "Root Entry", kind: 5, right: none, child: none, start: endOfChain}}
	kids := map[string][]int{}
	var data []byte
	var fat []uint32
	mini, miniFAT := []byte{}, []uint32{}
	for _, s := range streams {
		folder, name, nested := strings.Cut(s.name, "/")
		if !nested {
			folder, name = "", s.name
		} else if _, ok := kids[folder]; !ok {
			kids[""] = append(kids[""], len(entries))
			kids[folder] = nil
			entries = append(entries, entry{name: folder, kind: 1, right: none, child: none})
		}
		e := entry{name: name, kind: 2, right: none, child: none, size: uint32(len(s.body)), start: endOfChain}
		if len(s.body) < cutoff && len(s.body) > 0 {
			e.start = uint32(len(mini) / 64)
			mini, miniFAT = chain(mini, miniFAT, s.body, 64)
		} else if len(s.body) > 0 {
			e.start = uint32(len(data) / sector)
			data, fat = chain(data, fat, s.body, sector)
		}
		kids[folder] = append(kids[folder], len(entries))
		entries = append(entries, e)
	}
	if len(mini) > 0 {
		entries[0].start, entries[0].size = uint32(len(data)/sector), uint32(len(mini))
		data, fat = chain(data, fat, mini, sector)
	}
	for folder, list := range kids {
		sort.Slice(list, func(i, j int) bool { return entries[list[i]].name < entries[list[j]].name })
		for i, k := range list[:max(0, len(list)-1)] {
			entries[k].right = uint32(list[i+1])
		}
		for i := range entries {
			if len(list) > 0 && (folder == "" && i == 0 || entries[i].kind == 1 && entries[i].name == folder) {
				entries[i].child = uint32(list[0])
			}
		}
	}
	directory := uint32(len(data) / sector)
	data, fat = chain(data, fat, encode(entries), sector)
	miniAt := uint32(endOfChain)
	if len(miniFAT) > 0 {
		miniAt = uint32(len(data) / sector)
		data, fat = chain(data, fat, words(miniFAT), sector)
	}
	return assemble(data, fat, directory, miniAt, uint32((len(miniFAT)*4+sector-1)/sector))
}

// chain puts a body into sectors of a size.
func chain(data []byte, fat []uint32, body []byte, size int) ([]byte, []uint32) {
	n := (len(body) + size - 1) / size
	at := uint32(len(data) / size)
	for i := range n {
		next := at + uint32(i) + 1
		if i == n-1 {
			next = endOfChain
		}
		fat = append(fat, next)
	}
	data = append(data, body...)
	return append(data, make([]byte, n*size-len(body))...), fat
}

func words(list []uint32) []byte {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for len(b)%512 != 0 {
		b = append(b, 0xff)
	}
	return b
}

func encode(entries []entry) []byte {
	var b []byte
	for _, e := range entries {
		d := make([]byte, 128)
		units := utf16.Encode([]rune(e.name))
		for i, u := range units {
			binary.LittleEndian.PutUint16(d[2*i:], u)
		}
		binary.LittleEndian.PutUint16(d[64:], uint16(2*len(units)+2))
		d[66], d[67] = e.kind, 1
		binary.LittleEndian.PutUint32(d[68:], none)
		binary.LittleEndian.PutUint32(d[72:], e.right)
		binary.LittleEndian.PutUint32(d[76:], e.child)
		binary.LittleEndian.PutUint32(d[116:], e.start)
		binary.LittleEndian.PutUint32(d[120:], e.size)
		b = append(b, d...)
	}
	return b
}

func assemble(data []byte, fat []uint32, directory, miniAt, miniSectors uint32) []byte {
	fatSectors := 1
	for (len(fat)+fatSectors)*4 > fatSectors*512 {
		fatSectors++
	}
	fatAt := uint32(len(data) / 512)
	for range fatSectors {
		fat = append(fat, fatSector)
	}
	data = append(data, words(fat)...)
	h := make([]byte, 512)
	copy(h, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	binary.LittleEndian.PutUint16(h[24:], 0x3e)
	binary.LittleEndian.PutUint16(h[26:], 3)
	binary.LittleEndian.PutUint16(h[28:], 0xfffe)
	binary.LittleEndian.PutUint16(h[30:], 9)
	binary.LittleEndian.PutUint16(h[32:], 6)
	binary.LittleEndian.PutUint32(h[44:], uint32(fatSectors))
	binary.LittleEndian.PutUint32(h[48:], directory)
	binary.LittleEndian.PutUint32(h[56:], 4096)
	binary.LittleEndian.PutUint32(h[60:], miniAt)
	binary.LittleEndian.PutUint32(h[64:], miniSectors)
	binary.LittleEndian.PutUint32(h[68:], endOfChain)
	for i := range 109 {
		v := uint32(none)
		if i < fatSectors {
			v = fatAt + uint32(i)
		}
		binary.LittleEndian.PutUint32(h[76+4*i:], v)
	}
	return append(h, data...)
}

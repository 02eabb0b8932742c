package library

import (
	"slices"
	"sync"
)

// Status says how far the index is.
type Status struct {
	State
	Indexing bool     // documents are being read
	Meanings int      // sections that have no vectors yet
	Notes    []string // what does not work as it should
}

// A State is how many documents were read, of those that are being read.
type State struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

const maxStatusNotes = 10

type statusBoard struct {
	mu      sync.Mutex
	now     Status
	scanned []string // notes of the last look at the folders
}

// Status returns how far the index is.
func (l *Library) Status() Status {
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	s := l.status.now
	s.Notes = slices.Concat(s.Notes, l.status.scanned)
	return s
}

func (b *statusBoard) set(change func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
}

// lookedAt keeps the notes of a look at the folders in place of those of the last.
func (b *statusBoard) lookedAt(notes []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scanned = notes[:min(len(notes), maxStatusNotes)]
}

// note keeps a note once.
func (b *statusBoard) note(text string) {
	b.set(func(s *Status) {
		if !slices.Contains(s.Notes, text) && len(s.Notes) < maxStatusNotes {
			s.Notes = append(s.Notes, text)
		}
	})
}

// unnote takes notes back that begin with head.
func (b *statusBoard) unnote(head string) {
	b.set(func(s *Status) {
		s.Notes = slices.DeleteFunc(s.Notes, func(n string) bool { return len(n) >= len(head) && n[:len(head)] == head })
	})
}

// Package share gives a bounded number of places to callers so that none of them can
// take them all: who wants a place of many gets one as long as it holds no more than
// three times as many as are free. So a caller that is alone gets three quarters, a
// second one three quarters of the rest, and there is a place for the next.
//
//	var places share.Places
//	if err := places.Take("ci", 64); err != nil {
//		return err // ErrFull, or ErrShare
//	}
//	defer places.Give("ci")
//
// Callers without a name are one, which may have all places as long as nobody has given
// a name: there is no other one then. Where there are fewer than eight places, whoever
// comes first has them.
package share

import (
	"errors"
	"sync"
)

// Why there is no place.
var (
	ErrFull  = errors.New("all places are taken")
	ErrShare = errors.New("this caller holds its share of the places, and the rest is for others")
)

// Places are places that callers hold. The zero value has none taken.
type Places struct {
	mu    sync.Mutex
	held  map[string]int
	all   int
	named bool // somebody has given a name
}

const (
	weight = 3 // how many places a caller may hold for each that is free
	few    = 8 // places that are too few to be shared
)

// May reports whether a caller that holds so many of the places that are taken may take
// one more.
func May(held, taken, limit int) bool {
	return taken < limit && (limit < few || held == 0 || held+1 <= weight*(limit-taken-1))
}

// Take takes a place of so many. Whoever holds none gets the last one.
func (p *Places) Take(who string, limit int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named = p.named || who != ""
	switch held := p.held[who]; {
	case !p.named && p.all < limit:
	case May(held, p.all, limit):
	case p.named && held > 0 && limit >= few:
		return ErrShare
	default:
		return ErrFull
	}
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.held[who]++
	p.all++
	return nil
}

// Give gives a place back.
func (p *Places) Give(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := p.held[who]; n {
	case 0:
		return // nobody gives back what was not taken
	case 1:
		delete(p.held, who)
	default:
		p.held[who] = n - 1
	}
	p.all--
}

package scrape

import (
	"sync"
	"time"
)

// Bounds on what is kept of pages.
const (
	keptPages = 8
	keptFor   = 10 * time.Minute
)

// kept holds the last pages that were read.
type kept struct {
	mu  sync.Mutex
	all []keptPage // the oldest first
}

type keptPage struct {
	pages string
	page  Page
	until time.Time
}

func (k *kept) get(address, pages string) *Page {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.all {
		if p.page.URL == address && p.pages == pages && time.Now().Before(p.until) {
			page := p.page
			return &page
		}
	}
	return nil
}

func (k *kept) put(pages string, p *Page) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rest := k.all[:0]
	for _, o := range k.all {
		if o.page.URL != p.URL || o.pages != pages {
			rest = append(rest, o)
		}
	}
	if len(rest) >= keptPages {
		rest = append(rest[:0], rest[1:]...)
	}
	k.all = append(rest, keptPage{pages, *p, time.Now().Add(keptFor)})
}

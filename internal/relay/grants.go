package relay

import (
	"crypto/rand"
	"sync"
	"time"
)

// Bounds of what is remembered of calls that a person has allowed and that were not
// over with it.
const (
	maxGrants = 1000
	grantLife = ParkedFor
)

// A grant says what a person has allowed of a request that its client has to come again
// with: it holds for the next time that this very request comes, once.
type grant struct {
	allowed map[string]string // the approval, by what was asked
	until   time.Time
}

// grants are those that nobody has come again with, by the name that a state has.
type grants struct {
	mu  sync.Mutex
	all map[string]grant
}

// keep returns a name for what was allowed, or "" where there is no room: it is asked
// for again then.
func (g *grants) keep(allowed map[string]string) string {
	if len(allowed) == 0 {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for name, old := range g.all {
		if now.After(old.until) {
			delete(g.all, name)
		}
	}
	if len(g.all) >= maxGrants {
		return ""
	}
	if g.all == nil {
		g.all = map[string]grant{}
	}
	name := rand.Text()
	g.all[name] = grant{allowed, now.Add(grantLife)}
	return name
}

// take returns what was allowed under a name, and forgets it.
func (g *grants) take(name string) map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	it, ok := g.all[name]
	delete(g.all, name)
	if !ok || time.Now().After(it.until) {
		return nil
	}
	return it.allowed
}

// An approved is what a person has allowed of a modern client's request.
type approved struct {
	c *Client

	mu       sync.Mutex
	allowed  map[string]string // the approval, by what was asked
	redeemed bool
}

// Allow notes that a person has allowed this request: what says what was asked, approval
// which answer it was. It holds when the client comes again with what the server then
// wants.
func (a *approved) Allow(what, approval string) {
	if !a.c.o.Modern {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.allowed == nil {
		a.allowed = map[string]string{}
	}
	a.allowed[what] = approval
}

// Allowed returns the approval of a person who has allowed what this request goes on
// with, if it is the very same request, and comes again for the first time.
func (a *approved) Allowed(server, what string) (approval string, ok bool) {
	if !a.c.o.Modern || a.c.o.State == "" {
		return "", false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.redeemed {
		a.redeemed = true
		st, err := visit{a.c}.unseal(server)
		if err != nil || st.Grant == "" {
			return "", false
		}
		a.allowed = a.c.r.grants.take(st.Grant)
	}
	approval, ok = a.allowed[what]
	return approval, ok
}

// grant returns the name under which what was allowed of this request is kept for the
// next time that it comes.
func (a *approved) grant() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.c.r.grants.keep(a.allowed)
}

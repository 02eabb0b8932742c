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
	grantLife = parkedFor
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

// Allow notes that a person has allowed this request: what says what was asked, approval
// which answer it was. It holds when the client comes again with what the server then
// wants.
func (c *Client) Allow(what, approval string) {
	if !c.o.Modern {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allowed == nil {
		c.allowed = map[string]string{}
	}
	c.allowed[what] = approval
}

// Allowed returns the approval of a person who has allowed what this request goes on
// with, if it is the very same request, and comes again for the first time.
func (c *Client) Allowed(server, what string) (approval string, ok bool) {
	if !c.o.Modern || c.o.State == "" {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.redeemed {
		c.redeemed = true
		st, err := visit{c}.unseal(server)
		if err != nil || st.Grant == "" {
			return "", false
		}
		c.allowed = c.r.grants.take(st.Grant)
	}
	approval, ok = c.allowed[what]
	return approval, ok
}

// grant returns the name under which what was allowed of this request is kept for the
// next time that it comes.
func (c *Client) grant() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.grants.keep(c.allowed)
}

package scrape

import "context"

// NewOutlet starts the proxy that a browser gets, and returns where it listens and the
// name of the browser that it serves.
func NewOutlet(ctx context.Context, c *Chain) (address, agent string, end func(), err error) {
	o, err := c.newOutlet(ctx)
	if err != nil {
		return "", "", nil, err
	}
	return o.addr(), o.agent(), o.close, nil
}

// Readable returns the part of a page that is to be read, or nil.
func Readable(page []byte, kind string) []byte { return readable(context.Background(), page, kind) }

// Captions returns the lines of captions.
func Captions(s string) []string {
	var out []string
	for _, c := range parseVTT(s) {
		out = append(out, clock(c.at)+" "+c.text)
	}
	return out
}

// SetMaxPage bounds the pages of a chain.
func SetMaxPage(c *Chain, bytes int) { c.maxPage = bytes }

package winlog

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// NewAt returns a server on a folder, for which it is that time.
func NewAt(dir string, now time.Time) (*mcp.Server, error) {
	f, err := newSpot(dir)
	if err != nil {
		return nil, err
	}
	return (&server{source: f, now: func() time.Time { return now }}).mcp(), nil
}

// XPath returns the query for these arguments of a call, at that time.
func XPath(level, ids, provider, start, end string) (string, error) {
	s := &server{now: time.Now}
	f, _, _, err := s.filterOf(queryInput{Level: level, EventIDs: ids, Provider: provider, Start: start, End: end})
	if err != nil {
		return "", err
	}
	return xpath(f, f.provider), nil
}

// Message returns what an event says.
func Message(e *evtx.Event) string { return messageOf(e) }

// Canceled calls a tool with a context that is done.
func Canceled(dir string) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = (&server{source: f, now: time.Now}).query(ctx, queryInput{LogName: "Security"})
	return err
}

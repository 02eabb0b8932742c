package winlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// running are the logs of the running system.
type running struct{}

func live() source { return running{} }

func (running) logs(ctx context.Context, part string) (listing, error) {
	all, err := names(evtOpenChannelEnum, evtNextChannelPath)
	if err != nil {
		return listing{}, explain("", err)
	}
	var out listing
	for _, name := range all {
		if ctx.Err() != nil {
			out.cut = true
			break
		}
		if !containsFold(name, part) {
			continue
		}
		h, err := openChannel(name)
		if err != nil {
			if errors.Is(err, errAccessDenied) {
				out.channels = append(out.channels, channel{Name: name, Records: -1})
			}
			continue // others are switched off
		}
		c := channel{Name: name, Records: int64(h.info(logRecords)), Bytes: int64(h.info(logFileSize))}
		if t := h.info(logLastWriteTime); t > 0 && c.Records > 0 {
			c.last = evtx.FileTime(t)
		}
		h.close()
		out.channels = append(out.channels, c)
	}
	return out, nil
}

func (running) scan(ctx context.Context, log string, f *filter, visit func(found) bool) (scanned, error) {
	s := liveScan{filter: f, visit: visit, publishers: map[string]handle{}, buf: make([]uint16, 16<<10)}
	defer s.close()
	n, err := s.run(ctx, log, xpath(f, providerName(f.provider)))
	if err != nil {
		return s.out, explain(log, err)
	}
	if n == 0 && !s.out.cut { // when was the newest record written?
		newest := liveScan{filter: &filter{level: level{all: true}}, visit: func(found) bool { return false }, publishers: s.publishers, buf: s.buf, bare: true}
		if _, err := newest.run(ctx, log, "*"); err == nil {
			s.out.newest = newest.out.newest
		}
	}
	return s.out, nil
}

// A liveScan is the scan of one log.
type liveScan struct {
	filter     *filter
	visit      func(found) bool
	publishers map[string]handle
	buf        []uint16
	bare       bool // without the texts of providers
	out        scanned
}

func (s *liveScan) close() {
	for _, h := range s.publishers {
		h.close()
	}
}

// run visits the events of a query and returns how many there were.
func (s *liveScan) run(ctx context.Context, log, query string) (int, error) {
	h, err := openQuery(log, query)
	if err != nil {
		return 0, err
	}
	defer h.close()
	visited := 0
	var batch [32]handle
	for {
		if ctx.Err() != nil {
			s.out.cut = true
			return visited, nil
		}
		n, err := h.next(batch[:])
		switch {
		case errors.Is(err, errNoMore):
			return visited, nil
		case errors.Is(err, errTimedOut):
			continue
		case err != nil:
			return visited, err
		}
		more := true
		for _, e := range batch[:n] {
			if more {
				var hit bool
				hit, more = s.event(e)
				if hit {
					visited++
				}
			}
			e.close()
		}
		if !more {
			return visited, nil
		}
	}
}

// event visits one event. It returns whether it was meant, and whether more are wanted.
func (s *liveScan) event(h handle) (hit, more bool) {
	text, buf, err := h.xml(s.buf)
	s.buf = buf
	if err != nil {
		return false, true
	}
	e, err := evtx.ParseXML(text)
	if err != nil {
		return false, true
	}
	s.out.looked++
	s.out.see(e.System.Time)
	if !s.filter.matches(&e.System) || s.filter.record != 0 && s.filter.record != e.System.RecordID {
		return false, true
	}
	message := ""
	if !s.bare {
		message = s.message(h, e.System.Provider.Name)
	}
	if !s.filter.hasText(e, message) {
		return false, true
	}
	return true, s.visit(found{event: e, message: message})
}

func (s *liveScan) message(h handle, provider string) string {
	p, ok := s.publishers[provider]
	if !ok {
		p = publisher(provider)
		s.publishers[provider] = p
	}
	if p == 0 {
		return ""
	}
	return strings.TrimSpace(h.message(p))
}

// providerName returns the name as the system writes it: a query tells upper from
// lower case.
func providerName(name string) string {
	if name == "" {
		return ""
	}
	all, err := names(evtOpenPublisherEnum, evtNextPublisherID)
	if err != nil {
		return ""
	}
	for _, p := range all {
		if strings.EqualFold(p, name) {
			return p
		}
	}
	return "" // it may be that of an old provider: each event is looked at
}

// explain returns what a model needs of an error of the service.
func explain(log string, err error) error {
	switch {
	case errors.Is(err, errChannelNotFound), errors.Is(err, errInvalidName), errors.Is(err, errInvalidPath):
		return fmt.Errorf("there is no log %s here. list_event_channels lists them", quoted(log))
	case errors.Is(err, errAccessDenied):
		return fmt.Errorf("the log %s may not be read: that needs an administrator or a member of the group Event Log Readers", quoted(log))
	case errors.Is(err, errInvalidQuery):
		return fmt.Errorf("the log %s refuses the question. Use fewer event ids, and provider without quotation marks", quoted(log))
	}
	return fmt.Errorf("the event log service failed: %s", plain(err.Error(), 200))
}

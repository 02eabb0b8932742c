package evtx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ParseXML reads an event as Windows renders it.
func ParseXML(s string) (*Event, error) {
	if len(s) > 2*maxText {
		return nil, errText
	}
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict = false
	root := &Node{}
	open := []*Node{root}
	for nodes := 0; ; nodes++ {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("an event that is no XML: %w", err)
		}
		if nodes > 2*maxNodes || len(open) > maxDepth {
			return nil, errNodes
		}
		last := open[len(open)-1]
		switch t := t.(type) {
		case xml.StartElement:
			n := &Node{Kind: Element, Name: joined(t.Name)}
			for _, a := range t.Attr {
				n.Attrs = append(n.Attrs, Attr{joined(a.Name), a.Value})
			}
			last.Children = append(last.Children, n)
			open = append(open, n)
		case xml.EndElement:
			if len(open) > 1 {
				tidy(last)
				open = open[:len(open)-1]
			}
		case xml.CharData:
			last.Children = append(last.Children, &Node{Kind: Text, Text: string(t)})
		}
	}
	tidy(root)
	if root.child("Event") == nil {
		return nil, errNoEvent
	}
	return eventOf(root), nil
}

func joined(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// tidy drops the space between elements.
func tidy(n *Node) {
	if !n.hasElements() {
		return
	}
	kept := n.Children[:0]
	for _, c := range n.Children {
		if c.Kind != Text || strings.TrimSpace(c.Text) != "" {
			kept = append(kept, c)
		}
	}
	n.Children = kept
}

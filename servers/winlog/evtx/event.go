package evtx

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Levels of events. LogAlways is that of audit events.
const (
	LogAlways   = 0
	Critical    = 1
	Error       = 2
	Warning     = 3
	Information = 4
	Verbose     = 5
)

// Keywords that say what came of what an audit event is about.
const (
	AuditFailure uint64 = 0x0010_0000_0000_0000
	AuditSuccess uint64 = 0x0020_0000_0000_0000
)

// maxFields bounds the data of one event.
const maxFields = 1_000

// An Event is one event: what all have, and what it says.
type Event struct {
	RecordID  uint64 // in its file
	System    System
	Data      []Field // in the order of the event
	Rendering Rendering

	root *Node
}

// System is what all events have.
type System struct {
	Provider   Provider
	EventID    uint32
	Qualifiers uint32
	Version    int
	Level      int
	Task       int
	Opcode     int
	Keywords   uint64
	Time       time.Time
	RecordID   uint64 // in the log where it was written first
	Activity   Activity
	Execution  Execution
	Channel    string
	Computer   string
	UserSID    string
}

// An Execution is what wrote an event: numbers of a process and its thread.
type Execution struct{ ProcessID, ThreadID uint64 }

// A Provider is the program that wrote an event.
type Provider struct{ Name, GUID, Source string }

// An Activity is what an event belongs to; empty where it says nothing.
type Activity struct{ ID, Related string }

// Rendering is what the machine made of an event that was forwarded or exported with
// its texts; empty for all others.
type Rendering struct{ Message, Level, Task, Opcode string }

// A Field is a part of what an event says. The values of old providers have no names.
type Field struct{ Name, Value string }

// Get returns the value of the first field of that name.
func (e *Event) Get(name string) string {
	for _, f := range e.Data {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// XML returns the event as XML: well-formed, whatever is in it.
func (e *Event) XML() string {
	var b strings.Builder
	for i, c := range e.root.Children {
		if i > 0 {
			b.WriteByte('\n')
		}
		c.writeXML(&b, 0)
	}
	return b.String()
}

// Mapped returns a copy of the event that says what f makes of each text and value in
// it; what all events have, its System, stays.
func (e *Event) Mapped(f func(name, text string) string) *Event {
	top := e.root
	if top = top.child("Event"); top == nil {
		return e
	}
	event := *top
	event.Children = make([]*Node, len(top.Children))
	for i, c := range top.Children {
		if event.Children[i] = c; c.Name != "System" {
			event.Children[i] = c.mapped("", f)
		}
	}
	root := *e.root
	root.Children = make([]*Node, len(e.root.Children))
	for i, c := range e.root.Children {
		if root.Children[i] = c; c == top {
			root.Children[i] = &event
		}
	}
	m := eventOf(&root)
	m.RecordID = e.RecordID
	return m
}

// eventOf reads the event below root.
func eventOf(root *Node) *Event {
	e := &Event{root: root}
	top := root.child("Event")
	if top == nil {
		return e
	}
	e.System = systemOf(top.child("System"))
	if info := top.child("RenderingInfo"); info != nil {
		e.Rendering = Rendering{
			Message: strings.TrimSpace(info.child("Message").text()), Level: info.child("Level").text(),
			Task: info.child("Task").text(), Opcode: info.child("Opcode").text(),
		}
	}
	for _, n := range top.Children {
		if n.Kind != Element || n.Name == "System" || n.Name == "RenderingInfo" {
			continue
		}
		if n.Name == "UserData" {
			for _, c := range n.Children { // one element of the provider's own
				e.flatten(c, "")
			}
			continue
		}
		for _, c := range n.Children {
			e.data(c)
		}
		if !n.hasElements() && n.text() != "" {
			e.field(n.Name, n.text())
		}
	}
	return e
}

// data adds a child of EventData.
func (e *Event) data(n *Node) {
	switch {
	case n.Kind != Element:
	case n.Name == "Data" && !n.hasElements():
		e.field(n.attr("Name"), n.text())
	case n.hasElements():
		e.flatten(n, cmp.Or(n.attr("Name"), n.Name))
	default:
		e.field(cmp.Or(n.attr("Name"), n.Name), n.text())
	}
}

// flatten adds the leaves below n, named by their path.
func (e *Event) flatten(n *Node, path string) {
	if n.Kind != Element || len(e.Data) >= maxFields {
		return
	}
	for _, a := range n.Attrs {
		if a.Name != "xmlns" && !strings.HasPrefix(a.Name, "xmlns:") && path != "" && a.Name != "Name" {
			e.field(path+"."+a.Name, a.Value)
		}
	}
	if !n.hasElements() {
		if s := n.text(); s != "" || path != "" {
			e.field(cmp.Or(path, n.Name), s)
		}
		return
	}
	for _, c := range n.Children {
		if c.Kind == Element {
			name := cmp.Or(c.attr("Name"), c.Name)
			if path != "" {
				name = path + "." + name
			}
			e.flatten(c, name)
		}
	}
}

func (e *Event) field(name, value string) {
	if len(e.Data) < maxFields {
		e.Data = append(e.Data, Field{name, value})
	}
}

func systemOf(n *Node) System {
	p, id := n.child("Provider"), n.child("EventID")
	execution, correlation := n.child("Execution"), n.child("Correlation")
	number := func(s string) uint64 {
		v, err := strconv.ParseUint(strings.TrimSpace(s), 0, 64)
		if err != nil {
			return 0
		}
		return v
	}
	of := func(name string) uint64 { return number(n.child(name).text()) }
	s := System{
		Provider: Provider{p.attr("Name"), p.attr("Guid"), p.attr("EventSourceName")},
		EventID:  uint32(number(id.text())), Qualifiers: uint32(number(id.attr("Qualifiers"))),
		Version: int(of("Version")), Level: int(of("Level")), Task: int(of("Task")), Opcode: int(of("Opcode")),
		Keywords: of("Keywords"), RecordID: of("EventRecordID"),
		Activity:  Activity{correlation.attr("ActivityID"), correlation.attr("RelatedActivityID")},
		Execution: Execution{number(execution.attr("ProcessID")), number(execution.attr("ThreadID"))},
		Channel:   n.child("Channel").text(), Computer: n.child("Computer").text(), UserSID: n.child("Security").attr("UserID"),
	}
	s.Provider.Name = cmp.Or(s.Provider.Name, s.Provider.Source)
	if t, err := time.Parse(time.RFC3339Nano, n.child("TimeCreated").attr("SystemTime")); err == nil {
		s.Time = t.UTC()
	}
	return s
}

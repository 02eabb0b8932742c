package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/source"
)

// Care is what a server entry says of how its process is kept.
type Care struct {
	MaxSessions    int           // processes or connections of isolation session; 0 is 64
	InstallTimeout time.Duration // start_timeout until a package runner has worked once; 0 is 5m
	HealthCheck    time.Duration // ask for a sign of life after so much silence; 0 is never
	Limits         Limits
	Confine        *Confine // nil confines nothing
	Login          *Login   // at a server of a URL; nil is as the server asks
	Agent          *Agent   // the server is another agent
	Sampled        bool     // it may ask the model of the section sampling
	Browser        *Browser // the server is that of Playwright; nil is any other one
	Untrusted      string   // fence or mark: how its text that strangers wrote is told; "" is fence for a bundled server, else mark
}

// Limits bound what a child may use. 0 is no limit.
type Limits struct {
	Memory    int64   // bytes
	CPU       float64 // cores
	Processes int
	Files     int // open at once, in each process
}

// Confine says what a child may reach, beside what every program needs.
type Confine struct {
	Read, Write []string // absolute
	Network     bool     // all of it
	Ports       []uint16 // of TCP connections, where Network is false
}

// healthCheck is the default of the key of that name.
const healthCheck = time.Minute

// Spawning bounds how many children the process starts, and keeps.
type Spawning struct {
	Rate         int // starts a second in the long run
	MaxProcesses int // children at once
}

// care reads the keys that say how the server's process is kept.
func (e *entry) care(o *object) {
	c := &e.server.Care
	o.integer("max_sessions", 1, 10_000, &c.MaxSessions)
	if e.places["max_sessions"] != nil && e.server.Isolation == IsolationCall {
		e.fail("max_sessions", "max_sessions means nothing with isolation "+string(e.server.Isolation), "it goes with isolation: session or shared")
	}
	o.duration("install_timeout", time.Second, 24*time.Hour, &c.InstallTimeout)
	o.duration("health_check", 0, 24*time.Hour, &c.HealthCheck)
	if c.HealthCheck > 0 && c.HealthCheck < time.Second {
		e.fail("health_check", "health_check wants at least 1s, or 0 for none", "")
	}
	ways := []string{"fence", "mark"}
	o.enum("untrusted", words(ways...), ways, &c.Untrusted)
	e.limits(o)
	e.confine(o)
	if e.server.InProcess {
		for _, key := range []string{"limits", "confine"} {
			if e.places[key] != nil {
				e.fail(key, key+" means nothing with in_process", "what runs inside of Tenon cannot be held apart from it")
			}
		}
	}
}

func (e *entry) limits(o *object) {
	n := o.key("limits")
	if n == nil {
		return
	}
	l := &e.server.Care.Limits
	in := newObject(n, o.ex, o.to)
	in.size("memory", 4<<20, 1<<50, &l.Memory)
	in.number("cpu", 0.01, 4096, &l.CPU)
	in.integer("processes", 1, 1_000_000, &l.Processes)
	in.integer("files", 10, 1_000_000, &l.Files)
	in.refuse()
}

func (e *entry) confine(o *object) {
	n := o.key("confine")
	if n == nil {
		return
	}
	c := &Confine{}
	e.server.Care.Confine = c
	in := newObject(n, o.ex, o.to)
	in.texts("read", &c.Read)
	in.texts("write", &c.Write)
	for _, paths := range [][]string{c.Read, c.Write} {
		for i, path := range paths {
			if path == "" {
				in.fail(n, "confine holds an empty path", "the folder of the file is .")
			}
			paths[i] = under(e.dir, filepath.FromSlash(path))
		}
	}
	e.network(in, c)
	in.refuse()
}

// network reads true, false or a list of ports.
func (e *entry) network(in *object, c *Confine) {
	n := in.seen["network"]
	if n == nil || n.Kind != source.List {
		in.boolean("network", &c.Network)
		return
	}
	for _, item := range in.list("network") {
		text, ok := in.scalar(item)
		if !ok {
			continue
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			hint := ""
			if host, _, err := net.SplitHostPort(text); err == nil && host != "" {
				hint = "hosts cannot be told apart here, ports can"
			}
			in.fail(item, fmt.Sprintf("network wants true, false, or ports from 1 to 65535, and holds %s", quoteOf(item, text)), hint)
			continue
		}
		c.Ports = append(c.Ports, uint16(port))
	}
}

// shownCare is Care as a file would say it, with what is the default left out.
type shownCare struct {
	MaxSessions    int            `json:"max_sessions,omitempty"`
	InstallTimeout string         `json:"install_timeout,omitempty"`
	HealthCheck    string         `json:"health_check,omitempty"`
	Limits         map[string]any `json:"limits,omitempty"`
	Confine        map[string]any `json:"confine,omitempty"`
	Login          map[string]any `json:"auth,omitempty"`
	Browser        map[string]any `json:"browser,omitempty"`
	Agent          map[string]any `json:"agent,omitempty"`
	Untrusted      string         `json:"untrusted,omitempty"`
}

func (c Care) shown() shownCare {
	out := shownCare{MaxSessions: c.MaxSessions, Limits: make(map[string]any), Login: c.Login.shown(), Browser: c.Browser.shown(), Agent: c.Agent.shown(), Untrusted: c.Untrusted}
	if c.InstallTimeout > 0 {
		out.InstallTimeout = short(c.InstallTimeout)
	}
	if c.HealthCheck != healthCheck {
		out.HealthCheck = short(c.HealthCheck)
	}
	if c.Limits.Memory > 0 {
		out.Limits["memory"] = sizeText(c.Limits.Memory)
	}
	if c.Limits.CPU > 0 {
		out.Limits["cpu"] = c.Limits.CPU
	}
	if c.Limits.Processes > 0 {
		out.Limits["processes"] = c.Limits.Processes
	}
	if c.Limits.Files > 0 {
		out.Limits["files"] = c.Limits.Files
	}
	if c.Confine == nil {
		return out
	}
	out.Confine = map[string]any{"read": c.Confine.Read, "write": c.Confine.Write, "network": c.Confine.Network}
	if len(c.Confine.Ports) > 0 {
		out.Confine["network"] = c.Confine.Ports
	}
	return out
}

// Package servers is the list of the servers that come with Tenon. Each is an
// ordinary MCP server on the official SDK, in a folder of its own that knows
// nothing of the gateway: it can be linked, run as a child process, or served
// over HTTP.
//
//	for _, s := range servers.All() {
//		srv, err := s.New([]byte(`{}`)) // an *mcp.Server, ready to be connected
//		…
//	}
//
// The list is explicit, and its order is the one that users see. To add a
// server: write its folder, add one line to All, and run the tests of this
// package with -update, which write its golden tool list and its page in docs.
package servers

import (
	"context"
	"encoding/json"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/audio"
	"github.com/tenon-mcp/tenon/servers/docker"
	"github.com/tenon-mcp/tenon/servers/hostlog"
	"github.com/tenon-mcp/tenon/servers/knowledge"
	"github.com/tenon-mcp/tenon/servers/kubernetes"
	"github.com/tenon-mcp/tenon/servers/network"
	"github.com/tenon-mcp/tenon/servers/prometheus"
	"github.com/tenon-mcp/tenon/servers/python"
	"github.com/tenon-mcp/tenon/servers/reading"
	"github.com/tenon-mcp/tenon/servers/reasoning"
	"github.com/tenon-mcp/tenon/servers/searching"
	"github.com/tenon-mcp/tenon/servers/system"
	planner "github.com/tenon-mcp/tenon/servers/task_planner"
	clock "github.com/tenon-mcp/tenon/servers/time"
	"github.com/tenon-mcp/tenon/servers/vision"
	"github.com/tenon-mcp/tenon/servers/websearch"
	"github.com/tenon-mcp/tenon/servers/winlog"
	"github.com/tenon-mcp/tenon/tool"
)

// A Server is one bundled server: what is known of it without running it, and
// how to build it.
type Server struct {
	Name    string
	Summary string // one sentence, for lists
	Port    int    // default port on loopback where it is served over HTTP
	Keyless bool   // works without any option or key

	// New builds the server. Options are a JSON object, or nothing for the
	// defaults; a key that is no option, or a value of the wrong type, is an
	// error that names it. The server is not connected to anything yet, and may
	// be connected to several clients at once.
	New func(options json.RawMessage, at tool.Place) (*mcp.Server, error)

	// Probe asks each service that the server is configured for one cheap thing, to see
	// whether it can be reached and takes its key; nil where the server needs no service.
	// Options are as for New.
	Probe func(ctx context.Context, options json.RawMessage, at tool.Place) []tool.Probe

	// Meta holds what is declared of each tool, by its name, without options; MetaFor is
	// for options that New has taken, and nil where they change nothing.
	Meta    map[string]tool.Meta
	MetaFor func(options json.RawMessage) map[string]tool.Meta

	// Also are names that calls may use for tools which are listed under another one.
	Also map[string]string

	schema func() (*jsonschema.Schema, error)
}

// All returns the bundled servers, in the order in which they are shown.
func All() []Server {
	return []Server{
		bundle(Server{
			Name: "system", Port: 8005, Keyless: true, Meta: system.Meta(),
			Summary: "A look at this machine: load, memory, disks, processes, ports and directory sizes.",
		}, system.New),
		probed(bundleIn(Server{
			Name: "websearch", Port: 8006, Keyless: true, Meta: websearch.Meta(),
			Summary: "A search of the web by whatever search engine is at hand, and the reading of pages.",
		}, websearch.NewIn), websearch.Probe),
		bundleIn(Server{
			Name: "winlog", Port: 8008, Meta: winlog.Meta(),
			Summary: "Windows event logs, of the running Windows or from .evtx files on any system.",
		}, winlog.NewIn),
		bundle(Server{
			Name: "network", Port: 8009, Keyless: true, Meta: network.Meta(),
			Summary: "A look at other hosts: ping, DNS, ports, HTTP, TLS, traceroute and whois.",
		}, network.New),
		bundle(Server{
			Name: "hostlog", Port: 8012, Keyless: true, Meta: hostlog.Meta(),
			Summary: "Logs of a Linux or macOS machine: the systemd journal, syslog and other log files.",
		}, hostlog.New),
		bundle(Server{
			Name: "time", Port: 8010, Keyless: true, Meta: clock.Meta(),
			Summary: "The current time in any time zone, and conversion between zones.",
		}, clock.New),
		probed(bundleIn(Server{
			Name: "docker", Port: 8011, Meta: docker.Meta(),
			Summary: "A look at containers, their logs, images and events, and restarts of them where allowed.",
		}, docker.NewIn), docker.Probe),
		probed(declared(bundleAt(Server{
			Name: "python", Port: 8017, Meta: python.Meta(),
			Summary: "Python and shell commands in sandboxes that are apart from this machine, on Linux.",
		}, python.NewAt), python.MetaFor), python.Probe),
		probed(bundleIn(Server{
			Name: "prometheus", Port: 8013, Meta: prometheus.Meta(),
			Summary: "Questions to a Prometheus: values, developments, alerts, rules, targets and names.",
		}, prometheus.NewIn), prometheus.Probe),
		probed(bundleIn(Server{
			Name: "kubernetes", Port: 8015, Meta: kubernetes.Meta(),
			Summary: "A look at a Kubernetes cluster, and scaling and restarts where they are allowed.",
		}, kubernetes.NewIn), kubernetes.Probe),
		probed(bundleAt(Server{
			Name: "knowledge", Port: 8014, Meta: knowledge.Meta(),
			Summary: "What documents say: runbooks, manuals and notes in folders, found by words and by meaning.",
		}, knowledge.NewAt), knowledge.Probe),
		probed(bundleIn(Server{
			Name: "reading", Port: 8018, Keyless: true, Meta: reading.Meta(), Also: reading.Also(),
			Summary: "Files and pages of any kind as Markdown, from the web or from folders that are opened.",
		}, reading.NewIn), reading.Probe),
		probed(bundleIn(Server{
			Name: "searching", Port: 8016, Meta: searching.Meta(),
			Summary: "Searches of the web, Wikipedia in any language, archived pages, and the reading of what was found.",
		}, searching.NewIn), searching.Probe),
		bundle(Server{
			Name: "task_planner", Port: 8022, Keyless: true, Meta: planner.Meta(),
			Summary: "The plan of a task: what is to be done and what is done, kept while a model works.",
		}, planner.New),
		probed(bundleIn(Server{
			Name: "vision", Port: 8019, Meta: vision.Meta(),
			Summary: "Questions about images and videos, answered by a model of your choice that looks at them.",
		}, vision.NewIn), vision.Probe),
		probed(bundleIn(Server{
			Name: "audio", Port: 8020, Meta: audio.Meta(),
			Summary: "What is said and heard in recordings: speech as text, and questions about sounds.",
		}, audio.NewIn), audio.Probe),
		probed(bundleIn(Server{
			Name: "reasoning", Port: 8021, Meta: reasoning.Meta(),
			Summary: "A hard question, given to a model of your choice that thinks before it answers.",
		}, reasoning.NewIn), reasoning.Probe),
	}
}

// Find returns the bundled server of that name, or that is also called so: see
// [Aliases].
func Find(name string) (Server, bool) {
	if other, ok := aliases[name]; ok {
		name = other
	}
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// bundle completes s with what follows from the constructor of a server and the
// type of its options.
func bundle[O any](s Server, build func(O) (*mcp.Server, error)) Server {
	return bundleIn(s, func(o O, _ func(string) string) (*mcp.Server, error) { return build(o) })
}

// bundleIn is bundle for a server that reads its environment.
func bundleIn[O any](s Server, build func(O, func(string) string) (*mcp.Server, error)) Server {
	return bundleAt(s, func(o O, at tool.Place) (*mcp.Server, error) { return build(o, at.Getenv) })
}

// bundleAt is bundleIn for a server that also has something to give back at its end.
func bundleAt[O any](s Server, build func(O, tool.Place) (*mcp.Server, error)) Server {
	s.schema = func() (*jsonschema.Schema, error) { return jsonschema.For[O](nil) }
	s.New = func(options json.RawMessage, at tool.Place) (*mcp.Server, error) {
		o, getenv, err := placed[O](options, at)
		if err != nil {
			return nil, err
		}
		at.Getenv = getenv
		srv, err := build(o, at)
		if err != nil {
			return nil, err
		}
		srv.AddReceivingMiddleware(safeCalls)
		if getenv(tool.KeepsResults) == "" { // no gateway marks what strangers wrote
			srv.AddReceivingMiddleware(alone(s.Meta))
		}
		return srv, nil
	}
	return s
}

// probed adds the probe of a server.
func probed[O any](s Server, probe func(context.Context, O, func(string) string) []tool.Probe) Server {
	s.Probe = func(ctx context.Context, options json.RawMessage, at tool.Place) []tool.Probe {
		o, getenv, err := placed[O](options, at)
		if err != nil {
			return nil // New refuses them too, and says why
		}
		return probe(ctx, o, getenv)
	}
	return s
}

// declared adds what a server declares of its tools by its options.
func declared[O any](s Server, meta func(O) map[string]tool.Meta) Server {
	s.MetaFor = func(options json.RawMessage) map[string]tool.Meta {
		var o O
		if err := decode(options, &o); err != nil {
			return s.Meta // New refuses them, and says why
		}
		return meta(o)
	}
	return s
}

// placed reads options, and returns them with the environment of their place.
func placed[O any](options json.RawMessage, at tool.Place) (o O, getenv func(string) string, err error) {
	if err := decode(options, &o); err != nil {
		return o, nil, err
	}
	placePaths(&o, at.Dir)
	if at.Getenv == nil {
		return o, os.Getenv, nil
	}
	return o, at.Getenv, nil
}

// Package hostlog is the bundled server "hostlog": the logs of a Linux or macOS
// machine, asked for as one asks for Windows event logs. It reads the systemd
// journal from its files (package journal), log files of text with their rotated and
// packed predecessors (package plain), and on macOS the unified log.
//
//	srv, err := hostlog.New(hostlog.Options{Paths: []string{"/var/log", "/srv/app/logs"}})
//
// Rules that all its tools keep:
//
//   - Only files in the directories of the option paths are read, also where a
//     symbolic link or a name that a model made up leads elsewhere (roots.go).
//   - A question costs what it asks about and not what the log is long: reading goes
//     from the newest entry back and stops (walk.go). Whatever ends early, by the
//     deadline or by damage, is said beside what was found.
//   - Lines are written by strangers: control characters and escape sequences are
//     taken out, long ones cut, and what looks like a secret is masked. A filter
//     cannot be used to guess what is masked (filter.go).
package hostlog

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value is useful.
type Options struct {
	Paths    []string `json:"paths,omitempty" path:"yes" jsonschema:"directories and files that may be read, with everything below them; default: /var/log, and /run/log/journal on Linux or /Library/Logs on macOS"`
	TimeZone string   `json:"time_zone,omitempty" jsonschema:"time zone of log lines that name none, and of answers, such as Europe/Berlin; default: that of this machine"`
}

// deadline is the time that a call may take; what it has by then is its answer.
const deadline = 20 * time.Second

type server struct {
	places   usual
	zone     *time.Location
	now      func() time.Time
	deadline time.Duration
}

// New returns the server. It fails where a zone is unknown. A path that is not there
// is looked for again at each call, and its answer names it.
func New(o Options) (*mcp.Server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

func newServer(o Options) (*server, error) {
	places, err := newPlaces(o.Paths)
	if err != nil {
		return nil, fmt.Errorf("option paths: %w", err)
	}
	s := &server{places: places, zone: time.Local, now: time.Now, deadline: deadline}
	if o.TimeZone != "" {
		if s.zone, err = time.LoadLocation(o.TimeZone); err != nil {
			return nil, fmt.Errorf("option time_zone: %w", err)
		}
	}
	return s, nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-hostlog", Title: "Host logs", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addQuery(srv)
	s.addSources(srv)
	s.addStatistics(srv)
	s.addPatterns(srv)
	return srv
}

// Bounds of answers, in characters.
const (
	queryChars      = 20000
	sourcesChars    = 8000
	statisticsChars = 8000
	patternsChars   = 16000
)

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	// Anybody who can reach a service can write into its log, and logs say what
	// happens on a machine.
	labels := []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
	}{
		{"query_host_log", queryChars, "query search log journal journalctl syslog dmesg error linux macos 查询 系统日志 错误"},
		{"list_log_sources", sourcesChars, "list log sources files journal units readable 日志 来源 文件 列表"},
		{"log_statistics", statisticsChars, "log statistics count by level unit hour spike trend 日志 统计 级别 趋势"},
		{"log_patterns", patternsChars, "log patterns templates cluster group repeated noise drain 日志 模式 聚类 模板"},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: labels,
		}
	}
	return m
}

// spec is the part of a tool's definition that differs between the tools here.
type spec struct {
	name, title, description string
	defaults                 map[string]any // of input properties
	bounds                   map[string][2]int
}

// add registers a tool whose answer is a text and the same as a value. A call has
// one deadline, and what waits for a file notices that it was cancelled.
func add[In, Out any](s *server, srv *mcp.Server, sp spec, answer func(context.Context, In) (string, Out, error)) {
	typed.Add(srv, typed.Spec{Name: sp.name, Title: sp.title, Description: sp.description, Defaults: sp.defaults, Bounds: sp.bounds},
		func(ctx context.Context, in In) (string, Out, error) {
			ctx, cancel := context.WithTimeout(ctx, s.deadline)
			defer cancel()
			return answer(ctx, in)
		})
}

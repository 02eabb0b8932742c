// Package winlog is the bundled server "winlog": what Windows event logs say, of this
// machine where it is a Windows, and from files of any Windows anywhere.
//
//	srv, err := winlog.New(winlog.Options{Dir: "/cases/42/winevt/Logs"})
//
// A question becomes a filter (filter.go), which knows levels, times, numbers,
// providers and texts. A source carries it out: files.go on a folder of .evtx files,
// which package evtx reads, and live_windows.go on the logs of the running system,
// where the filter is an XPath query (xpath.go) so that the system does the work.
// What an event means is its own text where the log has one, and else a line of
// message.go.
//
// Events are foreign text: whoever can fail to log in can write into a log. They are
// bounded and freed of control characters before a model sees them. A name of a log
// is looked up among the files that are there, and never becomes a path.
package winlog

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
	"github.com/tenon-mcp/tenon/tool"
)

// What an answer may have, in characters.
const (
	queryChars  = 20000
	listChars   = 12000
	recordChars = 20000
	statsChars  = 8000
)

// limit is the time in which a call must have ended. What was found by then is the
// answer, which says so.
const limit = 20 * time.Second

// Options are the settings of the server. The zero value is useful on Windows.
type Options struct {
	Dir string `json:"dir,omitempty" path:"yes" jsonschema:"folder of .evtx files to read, with the folders in it, or one such file; also from WINLOG_DIR in env: of this server's entry (or in the environment of tenon server winlog); default: on Windows the logs of the running system, elsewhere none"`
}

// A source is where events come from.
type source interface {
	// logs lists the logs whose name contains part, whatever its case.
	logs(ctx context.Context, part string) (listing, error)
	// scan visits the events of a log that f lets through, newest first, until visit
	// returns false. A log of several files is so many rows, each with an end of its own.
	scan(ctx context.Context, log string, f *filter, visit func(found) bool) (scanned, error)
}

// A found event, and the file that it is from.
type found struct {
	event   *evtx.Event
	file    string // relative to the folder; empty for a log of the running system
	message string // of the provider, where there is one
}

// scanned is what is known after a scan.
type scanned struct {
	files   []string
	looked  int       // events that were read
	newest  time.Time // of the log, whatever the filter
	oldest  time.Time
	audits  int // audit events of the time asked for that the level kept out
	cut     bool
	damages []damage
}

// A damage is what is wrong with a file.
type damage struct {
	file  string
	what  string
	lossy bool // something could not be read
}

func (d damage) String() string { return d.file + ": " + d.what }

type server struct {
	source source // nil: there are no logs
	now    func() time.Time
}

// New returns the server. It fails where the option dir names what is neither a folder
// nor a file; one that is not there is looked for again at each call.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New where the environment is another one than that of this process.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	dir := cmp.Or(o.Dir, getenv("WINLOG_DIR"))
	s := &server{now: time.Now}
	if dir != "" {
		f, err := newSpot(dir)
		if err != nil {
			return nil, fmt.Errorf("option dir: %w", err)
		}
		s.source = f
	} else {
		s.source = live()
	}
	return s.mcp(), nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-winlog", Title: "Windows event logs", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addQuery(srv)
	s.addList(srv)
	s.addRecord(srv)
	s.addStats(srv)
	return srv
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	// Who logged in from where is private, and anybody who can cause an event chose
	// some of its words.
	both := []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
	}{
		{"query_windows_event", queryChars, "windows event log query error warning audit security logon evtx eventlog 事件日志 错误 审核"},
		{"list_event_channels", listChars, "windows event log channels list logs evtx 事件日志 通道 列表"},
		{"get_event_by_record_id", recordChars, "windows event record id detail xml full evtx 事件 记录 详情"},
		{"event_statistics", statsChars, "windows event statistics count level provider id hour trend 事件 统计 趋势"},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: both,
		}
	}
	return m
}

// spec is what is said of a tool.
type spec = typed.Spec

// add registers a tool that answers with a text and the same as data.
func add[In, Out any](s *server, srv *mcp.Server, sp spec, answer func(context.Context, In) (string, Out, error)) {
	most := Meta()[sp.Name].MaxResultChars
	typed.Add(srv, sp, func(ctx context.Context, in In) (string, Out, error) {
		if s.source == nil {
			var none Out
			return "", none, errNoLogs
		}
		text, out, err := answer(ctx, in)
		return fit(text, most), out, err
	})
}

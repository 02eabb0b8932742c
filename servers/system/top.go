package system

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/tenon-mcp/tenon/internal/typed"
)

const topChars = 4000

type topInput struct {
	SortBy string `json:"sort_by,omitempty" jsonschema:"memory or cpu; anything else is taken as memory"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many processes, 1 to 30; a number outside is brought to the nearest"`
}

// A topProcess is one process as list_top_processes shows it.
type topProcess struct {
	PID           int32   `json:"pid" jsonschema:"process id"`
	Name          string  `json:"name" jsonschema:"name of the program"`
	Username      string  `json:"username" jsonschema:"owner; empty where it cannot be read"`
	CPUPercent    float64 `json:"cpu_percent" jsonschema:"over one second; 100 is one core in full use"`
	MemoryPercent float64 `json:"memory_percent" jsonschema:"share of this machine's memory"`
	RSSMB         float64 `json:"rss_mb" jsonschema:"resident memory in MB of 1024 x 1024 bytes"`
}

type topOutput struct {
	Processes []topProcess `json:"processes" jsonschema:"the processes, largest first"`
}

func addTop(srv *mcp.Server) {
	typed.AddContent(srv, spec{
		Name: "list_top_processes", Title: "Top processes",
		Description: "Returns the processes that use most memory or processor time, as a JSON list, largest first: pid, name, username, cpu_percent (measured over one second, 100 is one core), memory_percent and rss_mb. For more on one of them call get_process_detail.",
		Defaults:    map[string]any{"sort_by": "memory", "limit": 10},
		Bounds:      map[string][2]int{"limit": {1, 30}},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in topInput) ([]mcp.Content, topOutput, error) {
		top, err := topProcesses(ctx, in)
		content := typed.Text(jsonList(top))
		if by := strings.ToLower(strings.TrimSpace(in.SortBy)); by != "" && by != "cpu" && by != "memory" {
			content = append(content, typed.Text(fmt.Sprintf("Note: sort_by was %s, which is neither memory nor cpu, and was taken as memory.\n", plain(by, 40)))...)
		}
		return content, topOutput{top}, err
	})
}

// A measured process is one whose processor time was read at a moment.
type measured struct {
	*process.Process

	rss     uint64
	seconds float64
	at      time.Time
	percent float64 // of one core, once it was read again
}

// spare is how many more processes are measured than are shown: some end meanwhile,
// above all where compilers are the largest.
const spare = 40

func topProcesses(ctx context.Context, in topInput) ([]topProcess, error) {
	limit := clamp(in.Limit, 30)
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := make([]*measured, 0, len(all))
	for _, p := range all {
		if m := measure(ctx, p); m != nil {
			found = append(found, m)
		}
	}
	byCPU := strings.EqualFold(strings.TrimSpace(in.SortBy), "cpu")
	if !byCPU { // only those shown need a second look
		slices.SortFunc(found, func(a, b *measured) int { return cmp.Compare(b.rss, a.rss) })
		found = found[:min(limit+spare, len(found))]
	}
	if err := pause(ctx, sample); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(m *measured) bool { return !m.again(ctx) })
	if byCPU {
		slices.SortFunc(found, func(a, b *measured) int {
			return cmp.Or(cmp.Compare(b.percent, a.percent), cmp.Compare(b.rss, a.rss))
		})
	}
	found = found[:min(limit, len(found))]
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	top := make([]topProcess, 0, len(found))
	for _, m := range found {
		top = append(top, m.row(ctx, memory.Total))
	}
	return top, nil
}

// measure reads the processor time and memory of p; it returns nil where p is
// gone or not for this user to see.
func measure(ctx context.Context, p *process.Process) *measured {
	times, err := p.TimesWithContext(ctx)
	if err != nil {
		return nil
	}
	m := &measured{Process: p, seconds: times.User + times.System, at: time.Now()}
	if memory, err := p.MemoryInfoWithContext(ctx); err == nil && memory != nil {
		m.rss = memory.RSS
	}
	return m
}

// again sets the share of a core that the process used since it was measured. It
// reports whether the process still runs.
func (m *measured) again(ctx context.Context) bool {
	times, err := m.TimesWithContext(ctx)
	if err != nil {
		return false
	}
	elapsed := time.Since(m.at).Seconds()
	m.percent = max(0, times.User+times.System-m.seconds) / elapsed * 100 // below zero: its id went to a new process
	return true
}

func (m *measured) row(ctx context.Context, total uint64) topProcess {
	r := topProcess{PID: m.Pid, CPUPercent: round(m.percent, 1), RSSMB: round(float64(m.rss)/(1<<20), 1)}
	if name, err := m.NameWithContext(ctx); err == nil {
		r.Name = plain(name, 40)
	}
	if user, err := m.UsernameWithContext(ctx); err == nil {
		r.Username = plain(user, 40)
	}
	if total > 0 {
		r.MemoryPercent = round(float64(m.rss)/float64(total)*100, 2)
	}
	return r
}

// jsonList prints one process a line. Where names are so long that the bound
// would be broken, they are cut harder, and in the end rows are left out.
func jsonList(top []topProcess) string {
	s := encode(top)
	if utf8.RuneCountInString(s) <= topChars {
		return s
	}
	short := slices.Clone(top)
	for i := range short {
		short[i].Name, short[i].Username = plain(short[i].Name, 12), plain(short[i].Username, 12)
	}
	for s = encode(short); utf8.RuneCountInString(s) > topChars; s = encode(short) {
		short = short[:len(short)-1]
	}
	return s
}

func encode(top []topProcess) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString("[")
	for i, p := range top {
		if i > 0 {
			b.Truncate(b.Len() - 1) // the newline that Encode added
			b.WriteString(",\n ")
		}
		if err := e.Encode(p); err != nil {
			return "[]" // a struct of numbers and texts always encodes
		}
	}
	return strings.TrimSuffix(b.String(), "\n") + "]"
}

func round(f float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(f*p) / p
}

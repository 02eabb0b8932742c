package system

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const kernelChars = 4000

type kernelOutput struct {
	Readable bool         `json:"readable" jsonschema:"whether this user may read the log of the kernel"`
	OOMKills uint64       `json:"oom_kills" jsonschema:"processes that the kernel has killed for want of memory since it started"`
	Hints    []kernelHint `json:"hints" jsonschema:"what looks like trouble, newest first, as many as the text shows"`
	LeftOut  int          `json:"left_out,omitempty" jsonschema:"how many older ones there are"`
}

type kernelHint struct {
	Kind string `json:"kind" jsonschema:"out of memory, disk, file system, hang, crash, network or heat"`
	Time string `json:"time" jsonschema:"when, ISO 8601"`
	Text string `json:"text" jsonschema:"the line of the log that says most"`

	at time.Time
}

// troubles are lines of the kernel's log that somebody who looks for a fault
// should see, by what they tell of. They are compiled when first used: each bundled
// server is a process of the same program.
var troubles = sync.OnceValue(func() []trouble {
	return []trouble{
		{outOfMemory, regexp.MustCompile(`(?i)out of memory|oom-kill|oom_reaper|invoked oom`)},
		{"disk", regexp.MustCompile(`(?i)i/o error|medium error|critical target error|ata\d+.*(failed|reset)|nvme.*(timeout|reset)|unrecovered read`)},
		{"file system", regexp.MustCompile(`(?i)(ext4|xfs|btrfs).*(error|corrupt|warning)|remounting filesystem read-only|no space left`)},
		{"hang", regexp.MustCompile(`(?i)blocked for more than|soft lockup|hard lockup|rcu.*stall|hung_task`)},
		{"crash", regexp.MustCompile(`(?i)segfault at|general protection|kernel panic|^BUG:|oops:|call trace`)},
		{"network", regexp.MustCompile(`(?i)link is down|nf_conntrack.*full|possible SYN flooding|neighbour.*overflow`)},
		{"heat", regexp.MustCompile(`(?i)temperature above threshold|thermal.*(throttl|critical)|mce: .*hardware error`)},
	}
})

type trouble struct {
	kind  string
	match *regexp.Regexp
}

func addKernel(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_kernel_hints", Title: "Kernel log hints",
		Description: "Returns lines of the Linux kernel's log that point to trouble, newest first: processes killed for want of memory, disk and file system errors, hangs, crashes, network links, heat. Says so where this user may not read that log.",
	}, kernelHints)
}

func kernelHints(ctx context.Context, _ noInput) (string, kernelOutput, error) {
	out := kernelOutput{Hints: []kernelHint{}, OOMKills: counter(os.DirFS("/"), "proc/vmstat", "oom_kill")}
	records, started, err := kernelLog(ctx)
	if ctx.Err() != nil {
		return "", out, ctx.Err()
	}
	out.fill(records, started, err)
	return out.text(len(records), err), out, nil
}

// fill takes the newest hints, as many as the bound on an answer lets both of its forms have.
func (o *kernelOutput) fill(records []string, started time.Time, err error) {
	o.Readable = err == nil
	all := hintsOf(records, started)
	left := kernelChars - 400 // for what is around them
	for _, h := range slices.Backward(all) {
		line, _ := json.Marshal(h) // longer than its row in the table
		if left -= utf8.RuneCount(line) + 1; left < 0 {
			break
		}
		o.Hints = append(o.Hints, h)
	}
	o.LeftOut = len(all) - len(o.Hints)
}

func (o *kernelOutput) text(records int, err error) string {
	var b strings.Builder
	b.WriteString("## Kernel log\n\n")
	switch {
	case err != nil:
		fmt.Fprintf(&b, "It cannot be read: %s.\n", plain(err.Error(), 200))
	case len(o.Hints) == 0:
		fmt.Fprintf(&b, "None of its %d lines points to trouble.\n", records)
	default:
		rows := make([][]string, 0, len(o.Hints))
		for _, h := range o.Hints {
			rows = append(rows, []string{h.Time, h.Kind, h.Text})
		}
		b.WriteString(answer.Table([]string{"time", "kind", "line"}, rows, kernelChars))
		if o.LeftOut > 0 {
			fmt.Fprintf(&b, "\n%d older ones were left out; query_host_log of the server hostlog finds them where the machine keeps its kernel's log.\n", o.LeftOut)
		}
	}
	fmt.Fprintf(&b, "\nKilled for want of memory since the start: %d processes.\n", o.OOMKills)
	return b.String()
}

// hintsOf returns the hints of a log, in its order, one for each event: a kill for want
// of memory has four lines and a trace, and what crashes or hangs has a trace.
func hintsOf(records []string, started time.Time) []kernelHint {
	const together = 10 * time.Second
	var list []kernelHint
	for _, r := range records {
		h, ok := hint(r, started)
		if !ok {
			continue
		}
		if len(list) > 0 && h.at.Sub(list[len(list)-1].at) <= together {
			last := &list[len(list)-1]
			trace := strings.Contains(strings.ToLower(h.Text), "call trace")
			switch {
			case trace && (last.Kind == outOfMemory || last.Kind == "hang" || last.Kind == "crash"):
				continue
			case h.Kind == outOfMemory && last.Kind == outOfMemory && strings.Contains(h.Text, "oom_reaper"):
				continue
			case h.Kind == outOfMemory && last.Kind == outOfMemory && !killed(last.Text):
				last.Text = h.Text // each line of a kill says more than the one before
				continue
			}
		}
		list = append(list, h)
	}
	return list
}

const outOfMemory = "out of memory"

func killed(line string) bool { return strings.Contains(strings.ToLower(line), "killed process") }

// hint reads a record such as "6,1234,5678901,-;text", whose third field is the
// time in microseconds since the kernel started.
func hint(record string, started time.Time) (kernelHint, bool) {
	head, text, ok := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 3 {
		return kernelHint{}, false
	}
	text, _, _ = strings.Cut(text, "\n") // what follows are fields of the device
	us, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return kernelHint{}, false
	}
	for _, t := range troubles() {
		if t.match.MatchString(text) {
			at := started.Add(time.Duration(us) * time.Microsecond)
			return kernelHint{t.kind, at.UTC().Format(time.RFC3339), plain(text, 200), at}, true
		}
	}
	return kernelHint{}, false
}

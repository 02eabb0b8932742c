package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/moby/moby/api/types/container"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/docker"
)

// TestHostileNames gives what are no names to every tool that takes one. None of
// them reaches the engine.
func TestHostileNames(t *testing.T) {
	f, o := newFake(t, nil)
	cs := client(t, o, nil)
	for _, name := range []string{
		"", "-", "--help", "-a", "--since=0", ".", "..", "../../images", "a/../../b", "a/b", "/web", "a b", "a;reboot", "$(reboot)", "`reboot`",
		"a?force=1", "a#x", "a%2f..%2fb", "a\x00b", "a\nb", "ünïcode", "a&b", strings.Repeat("a", 129), strings.Repeat("x", 100<<10),
	} {
		for tool, m := range docker.Meta() {
			if slices.Contains([]string{"docker_ps", "docker_images", "docker_df"}, tool) || tool == "docker_events" && name == "" {
				continue
			}
			refused(t, cs, tool, args{"name": name}, "is no name or id of a container")
			if !m.Registered {
				t.Error(tool)
			}
		}
	}
	if got := f.requests(); len(got) > 0 {
		t.Errorf("the engine was asked %q", got)
	}
	call(t, cs, "docker_diff", args{"name": "a.b_c-D9"}, nil)
	if got := f.requests(); !slices.Contains(got, "GET /v1.41/containers/a.b_c-D9/changes") {
		t.Errorf("%q", got)
	}
}

func TestHostileArguments(t *testing.T) {
	f, o := newFake(t, nil)
	cs := client(t, o, nil)
	big := strings.Repeat("y", 100<<10)
	refused(t, cs, "docker_inspect", args{"name": strings.Repeat("x", 10<<20)}, "is no name or id of a container")
	for _, test := range []struct {
		tool string
		args args
		want string
	}{
		{"docker_logs", args{"name": "web", "grep": "("}, "grep is no regular expression"},
		{"docker_logs", args{"name": "web", "grep": strings.Repeat(".{0,1000}", 50)}, "grep is too costly"},
		{"docker_logs", args{"name": "web", "grep": strings.Repeat("(a*)*", 300)}, "at most 500"},
		{"docker_logs", args{"name": "web", "grep": big}, "at most 500"},
		{"docker_logs", args{"name": "web", "level": "loud"}, "do not fit"},
		{"docker_logs", args{"name": "web", "stream": "stdin"}, "do not fit"},
		{"docker_logs", args{"name": "web", "tail": "all"}, "do not fit"},
		{"docker_logs", args{"name": "web", "follow": true}, "do not fit"},
		{"docker_logs", args{"name": []string{"web"}}, "do not fit"},
		{"docker_logs", args{}, "do not fit"},
		{"docker_top", args{"name": "web", "ps_args": "-o pid,environ"}, "do not fit"},
		{"docker_diff", args{"name": "web", "path": "/" + big}, "absolute path"},
		{"docker_ps", args{"name_contains": big}, "at most 200"},
		{"docker_ps", args{"state": "gone"}, "do not fit"},
		{"docker_images", args{"name_contains": big}, "at most 200"},
		{"docker_events", args{"type": "a&b"}, "do not fit"},
		{"docker_events", args{"since_minutes": 1e300}, "do not fit"},
		{"docker_stop", args{"name": "web", "grace_sec": -1}, "grace_sec"},
		{"docker_restart", args{"name": "web", "grace_sec": 0}, "nothing was changed"},
	} {
		refused(t, cs, test.tool, test.args, test.want)
	}
	if got := f.requests(); len(got) > 0 {
		t.Errorf("the engine was asked %q", got)
	}
}

func TestUsualAnswers(t *testing.T) {
	f, o := newFake(t, nil)
	cs := client(t, o, nil)
	wants(t, call(t, cs, "docker_ps", nil, nil), "| web | shop:1 | Up 2 hours (unhealthy) | *:8080->80/tcp, 127.0.0.1:81->81/tcp, 9000/udp |")
	text := call(t, cs, "docker_inspect", args{"name": "web"}, nil)
	wants(t, text, "ended by the kernel for want of memory", "*:8080->80/tcp, 90/udp", "bridge: 172.17.0.2/16; gateway 172.17.0.1; known as web", "privileged", "--token •••")
	lacks(t, text, "not-a-real-key")
	wants(t, call(t, cs, "docker_stats", args{"name": "web"}, nil), "CPU: 200.00 % (100 % is one processor; the machine has 4)", "Held back by its CPU limit in 50.00 %",
		"Memory: 1.9 MiB of 9.5 MiB (20.00 %)", "2.0 KiB in, 2.0 KiB out, 3 packets", "4.0 KiB read, 8.0 KiB written", "threads: 7\n")
	wants(t, call(t, cs, "docker_diff", args{"name": "web"}, nil), `| added | /etc/new\|file |`)
	wants(t, call(t, cs, "docker_images", nil, nil), "| shop:1 | 0123456789ab | 5.0 MiB |", "| 1 |")
	wants(t, call(t, cs, "docker_events", nil, nil), "| container | die | web | exitCode=137 image=shop:1 |")
	wants(t, call(t, cs, "docker_restart", args{"name": "web", "grace_sec": 7}, nil), "Restarted web")
	if got := f.requests(); !slices.Contains(got, "POST /v1.41/containers/"+fakeID+"/restart?t=7") {
		t.Errorf("%q", got)
	}
}

// TestSecretsInLines holds that what looks like a secret in commands, in what a
// health check printed, and in logs is shown by no tool, in neither part of its answer.
func TestSecretsInLines(t *testing.T) {
	health := strings.Replace(answers["/containers/{id}/json"], `"Error":""`, `"Error":"","Health":{"Status":"unhealthy","FailingStreak":1,"Log":[{"Start":"2026-01-02T03:04:06Z","End":"2026-01-02T03:04:06Z","ExitCode":1,
		"Output":"printed: password=hush01 token: hush02 postgres://u:hush03@h"}]}`, 1)
	_, o := newFake(t, map[string]http.HandlerFunc{
		"/json": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(health)) },
		"/top": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"Titles":["PID","COMMAND"],"Processes":[["1","curl -H Authorization: Bearer hush04 -H X-Api-Key: hush05 --header Authorization: Basic hush06 http://h/"],
				["2","sh -c curl -H 'Authorization: Bearer hush07' http://h/"],["3","sh -c mysql -uroot -phush08 db"]]}`))
		},
		"/logs": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(frame(1, stamped(1, "the passwd is hush09")+stamped(2, "密码：hush10 postgres://u:hush11@h")+stamped(3, "\x1b[36mpassword\x1b[0m=hush12 {\"m\":\"\\u001b[36mtoken\\u001b[0m=hush13\"}")))
		},
	})
	cs := client(t, o, nil)
	for tool, shown := range map[string]string{"docker_top": "-H X-Api-Key: •••", "docker_inspect": "password=•••", "docker_logs": "postgres://u:•••@h"} {
		text, isError, data := try(t, t.Context(), cs, tool, args{"name": "web"})
		if isError || strings.Contains(text+string(data), "hush") || !strings.Contains(text, shown) {
			t.Errorf("%s: %s\n%s", tool, text, data)
		}
	}
	wants(t, call(t, cs, "docker_logs", args{"name": "web", "grep": "hush09"}, nil), "none of the last 3 lines matches")
}

// TestNewestOfLongLogs holds that both parts of an answer keep the newest lines and to
// what is declared, with lines long and short, and one for each day.
func TestNewestOfLongLogs(t *testing.T) {
	for _, width := range []int{1, 30, 80, 3000} {
		_, o := newFake(t, map[string]http.HandlerFunc{"/logs": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 200 {
				at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
				_, _ = w.Write(frame(1, fmt.Sprintf("%s %s end %d\n", at.Format(time.RFC3339Nano), strings.Repeat("ü", width), i)))
			}
		}})
		cs := client(t, o, nil)
		for _, most := range []int{4000, 16000} {
			var out struct {
				Lines   []struct{ Text string }
				LeftOut int `json:"left_out"`
			}
			text, _, data := try(t, t.Context(), cs, "docker_logs", args{"name": "web", "tail": 200, "max_chars": most})
			if err := json.Unmarshal(data, &out); err != nil {
				t.Fatal(err)
			}
			n := len(out.Lines)
			long := width > 2000 // whose end is cut
			if n == 0 || !long && (!strings.HasSuffix(out.Lines[n-1].Text, "end 199") || !strings.HasSuffix(text, "end 199\n```\n")) {
				t.Errorf("%d of %d: the newest line is not there: %.100s", width, most, text)
			}
			if size := utf8.RuneCount(data); size > 20000 {
				t.Errorf("%d of %d: %d characters of data", width, most, size)
			}
			if got := strings.Count(text, "out ü"); got != n+out.LeftOut {
				t.Errorf("%d of %d: %d lines of text, %d and %d of data", width, most, got, n, out.LeftOut)
			}
		}
	}
}

// TestNumbersBeyond holds that a number that is no tool's is brought to what it takes,
// and that the answer says so.
func TestNumbersBeyond(t *testing.T) {
	_, o := newFake(t, nil)
	cs := client(t, o, nil)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "docker_events", Arguments: args{"since_minutes": -1, "limit": 1000}})
	if err != nil || len(res.Content) != 2 {
		t.Fatalf("%v %+v", err, res)
	}
	wants(t, res.Content[1].(*mcp.TextContent).Text, "limit was brought from 1000 to 200, since_minutes was brought from -1 to 1.")
}

// TestForgottenEvents has engines that remember less than what is asked about.
func TestForgottenEvents(t *testing.T) {
	at := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	many := bytes.Buffer{}
	for i := range 256 {
		fmt.Fprintf(&many, `{"Type":"container","Action":"exec_start: x","Actor":{"ID":"a","Attributes":{"name":"web"}},"time":%d}`+"\n", at.Unix()+int64(i))
	}
	few := []byte(strings.Replace(answers["/events"], `"time":1700000000,"timeNano":1700000000123000000`, fmt.Sprintf(`"time":%d`, at.Unix()), 1))
	for name, test := range map[string]struct {
		events  []byte
		started time.Time
		want    string
	}{
		"full":      {many.Bytes(), time.Time{}, "remembers only from " + at.UTC().Format(time.RFC3339) + " on: it keeps about its last 256 events"},
		"not full":  {few, time.Time{}, ""},
		"restarted": {few, at.Add(-time.Minute), "remembers only from " + at.Add(-time.Minute).UTC().Format(time.RFC3339) + " on, when it started"},
		"long ago":  {few, at.Add(-2 * time.Hour), ""},
	} {
		_, o := newFake(t, map[string]http.HandlerFunc{
			"/events": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(test.events) },
			"/networks/bridge": func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(map[string]any{"Name": "bridge", "Created": test.started})
			},
		})
		text := call(t, client(t, o, nil), "docker_events", args{"since_minutes": 60}, nil)
		if !strings.Contains(text, test.want) || test.want == "" && strings.Contains(text, "remembers only") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestTopWithoutColumns has an engine whose ps knows no columns.
func TestTopWithoutColumns(t *testing.T) {
	_, o := newFake(t, map[string]http.HandlerFunc{"/top": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("ps_args") != "" {
			refuse(w, http.StatusInternalServerError, "ps: unrecognized option")
			return
		}
		_, _ = w.Write([]byte(answers["/containers/{id}/top"]))
	}})
	text := call(t, client(t, o, nil), "docker_top", args{"name": "web"}, nil)
	wants(t, text, "| root | 12 | /run --token ••• |")
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"1.41": "/v1.41/", "1.40": "/v1.40/", "1.99": "/v1.57/"} {
		f, o := newFake(t, nil)
		f.version = version
		call(t, client(t, o, nil), "docker_ps", nil, nil)
		if got := f.requests(); !strings.Contains(got[len(got)-1], want) {
			t.Errorf("%s: %q", version, got)
		}
	}
	f, o := newFake(t, nil)
	f.version = "1.24"
	refused(t, client(t, o, nil), "docker_ps", nil, "API version 1.24 is not supported", "minimum")
}

func TestEngineFailures(t *testing.T) {
	say := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		end    string
		handle http.HandlerFunc
		want   string
	}{
		"500":        {"/containers/json", say(500, "application/json", `{"message":"disk \u001b[31mfull"}`), "says: disk ?[31mfull"},
		"a page":     {"/containers/json", say(502, "text/html", "<html>"+strings.Repeat("no", 10000)), "says: <html>nono"},
		"no engine":  {"/containers/json", say(200, "text/html", "<a href>"), "no container engine answers at"},
		"a 404":      {"/containers/json", say(404, "text/plain", "404 page not found\n"), "no container engine answers at"},
		"no JSON":    {"/containers/json", say(200, "application/json", `[{"Id":`), "says: unexpected EOF"},
		"other JSON": {"/containers/json", say(200, "application/json", `{"a":1}`), "cannot unmarshal"},
		"ping":       {"/_ping", say(503, "application/json", `{"message":"starting"}`), "says: starting"},
		"too large":  {"/containers/json", say(200, "application/json", "["+strings.Repeat(" ", 33<<20)+"]"), "larger than 32 MiB"},
		"cut":        {"/containers/json", hijack("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n[{"), "unexpected EOF"},
		"no HTTP":    {"/_ping", hijack("SSH-2.0-OpenSSH_9.2\r\n"), "broke the connection off"},
		"no answer":  {"/_ping", hijack(""), "broke the connection off"},
		"elsewhere": {"/containers/json", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}, "no container engine answers at"},
		"a null list": {"/containers/json", say(200, "application/json", `null`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := newFake(t, map[string]http.HandlerFunc{test.end: test.handle})
			cs := client(t, o, nil)
			if test.want == "" {
				wants(t, call(t, cs, "docker_ps", nil, nil), "no containers")
				return
			}
			refused(t, cs, "docker_ps", nil, test.want)
		})
	}
}

// hijack sends bytes in place of an answer, and ends the connection.
func hijack(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte(raw))
			_ = conn.Close()
		}
	}
}

func TestSlowEngine(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"/_ping", "/web/json", "/restart"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			var f *fake
			f, o := newFake(t, map[string]http.HandlerFunc{end: func(_ http.ResponseWriter, r *http.Request) { f.wait(r) }})
			o.TimeoutSec = 1
			cs := client(t, o, nil)
			start := time.Now()
			if end == "/restart" {
				// One second of grace and one for the engine.
				refused(t, cs, "docker_restart", args{"name": "web", "grace_sec": 1}, "has not said within 2s that it is done with web", "may still do it")
			} else {
				refused(t, cs, "docker_stats", args{"name": "web"}, "did not answer within 1s", "docker_ps", "timeout_sec")
				if end == "/_ping" {
					text, _, _ := try(t, t.Context(), cs, "docker_ps", nil)
					lacks(t, text, "docker_ps")
				}
			}
			if took := time.Since(start); took > 14*time.Second { // unless the option is obeyed, it is 15 at least
				t.Errorf("took %s", took)
			}
			o.TimeoutSec = 120
			cs = client(t, o, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
			start = time.Now()
			if _, isError, _ := try(t, ctx, cs, "docker_inspect", args{"name": "web"}); !isError && end != "/restart" || time.Since(start) > time.Minute {
				t.Errorf("canceled: error %v after %s", isError, time.Since(start))
			}
		})
	}
}

// TestEventsNeverHang has engines that do not end the list, whose clock is off, or
// that send more than anybody wants.
func TestEventsNeverHang(t *testing.T) {
	t.Parallel()
	t.Run("no end", func(t *testing.T) {
		t.Parallel()
		var f *fake
		f, o := newFake(t, map[string]http.HandlerFunc{"/events": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(answers["/events"] + "\n"))
			_ = http.NewResponseController(w).Flush()
			f.wait(r)
		}})
		o.TimeoutSec = 120
		start := time.Now()
		wants(t, call(t, client(t, o, nil), "docker_events", nil, nil), "exitCode=137")
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %s", took)
		}
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		var f *fake
		f, o := newFake(t, map[string]http.HandlerFunc{"/events": func(_ http.ResponseWriter, r *http.Request) { f.wait(r) }})
		o.TimeoutSec = 120
		start := time.Now()
		wants(t, call(t, client(t, o, nil), "docker_events", nil, nil), "Nothing happened")
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %s", took)
		}
	})
	t.Run("clock", func(t *testing.T) {
		var f *fake
		f, o := newFake(t, map[string]http.HandlerFunc{"/_ping": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}, "/events": func(w http.ResponseWriter, r *http.Request) {
			var until int64
			if _, err := fmt.Sscanf(r.URL.Query().Get("until"), "%d.", &until); err != nil || time.Since(time.Unix(until, 0)) < 50*time.Minute {
				t.Errorf("until=%s", r.URL.Query().Get("until"))
			}
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}})
		wants(t, call(t, client(t, o, nil), "docker_events", nil, nil), "Nothing happened")
		_ = f
	})
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		_, o := newFake(t, map[string]http.HandlerFunc{"/events": func(w http.ResponseWriter, _ *http.Request) {
			many := bytes.Repeat([]byte(answers["/events"]+"\n"), 1000)
			for range 200 {
				if _, err := w.Write(many); err != nil {
					return
				}
			}
		}})
		o.TimeoutSec = 120 // for a busy machine
		wants(t, call(t, client(t, o, nil), "docker_events", nil, nil), "more than 100,000 events", "left out to keep the answer short")
	})
}

func TestFaultsOfLogs(t *testing.T) {
	for name, test := range map[string]struct {
		send [][]byte
		cut  bool
		want []string
		fail bool
	}{
		"cut in a frame":     {send: [][]byte{frame(1, stamped(1, "one")), frame(2, stamped(2, "two"))[:20]}, want: []string{"out one", "cut the log off"}},
		"cut in a header":    {send: [][]byte{frame(1, stamped(1, "one")), {1, 0, 0}}, want: []string{"out one", "cut the log off"}},
		"connection lost":    {send: [][]byte{frame(1, stamped(1, "one"))}, cut: true, want: []string{"out one", "newer lines may be missing"}},
		"no frames":          {send: [][]byte{[]byte("what is this that is no frame")}, want: []string{"no frame of a log"}, fail: true},
		"engine gives up":    {send: [][]byte{frame(1, stamped(1, "one")), frame(3, "log file is gone")}, want: []string{"out one", "the engine says: log file is gone"}},
		"a claim of 4 GiB":   {send: [][]byte{{2, 0, 0, 0, 255, 255, 255, 255}, []byte(stamped(1, "little"))}, want: []string{"err little", "cut the log off"}},
		"pieces of a line":   {send: [][]byte{frame(1, "2026-01-02T03:04:01Z be"), frame(2, stamped(2, "between")), frame(1, "gin\n")}, want: []string{"err between\n03:04:01.000 out begin"}},
		"no times":           {send: [][]byte{frame(1, "plain\n")}, want: []string{"\nout plain"}},
		"an end of no line":  {send: [][]byte{frame(1, stamped(1, "a")+"2026-01-02T03:04:02Z b")}, want: []string{"out b"}},
		"orders of terminal": {send: [][]byte{frame(1, stamped(1, "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m 50%\r100%"))}, want: []string{"out 100%"}},
		"a fence":            {send: [][]byte{frame(1, stamped(1, "```")+stamped(2, "# heading"))}, want: []string{"out ```\n", "out # heading\n```\n"}},
		"a very long line":   {send: [][]byte{frame(1, stamped(1, strings.Repeat("z", 1<<20)))}, want: []string{"out zzz", "…\n"}},
		"nothing":            {want: []string{"its log is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := newFake(t, map[string]http.HandlerFunc{"/logs": func(w http.ResponseWriter, _ *http.Request) {
				for _, b := range test.send {
					_, _ = w.Write(b)
				}
				if test.cut {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			}})
			cs := client(t, o, nil)
			if test.fail {
				refused(t, cs, "docker_logs", args{"name": "web"}, test.want...)
				return
			}
			wants(t, call(t, cs, "docker_logs", args{"name": "web"}, nil), test.want...)
		})
	}
}

// TestEndlessLog has an engine that sends without end what was bounded: memory
// stays small, and there is an answer.
func TestEndlessLog(t *testing.T) {
	var sent atomic.Int64
	_, o := newFake(t, map[string]http.HandlerFunc{"/logs": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tail") != "50" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		piece := bytes.Repeat(frame(1, strings.Repeat("no end ", 9000)), 16) // of one line
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
			if sent.Add(int64(len(piece))) > 300<<20 {
				t.Error("more than 300 MiB were read")
				return
			}
		}
	}})
	before := memory()
	wants(t, call(t, client(t, o, nil), "docker_logs", args{"name": "web"}, nil), "longer than 256 MiB")
	if used := memory() - before; used > 32<<20 {
		t.Errorf("%d MiB allocated", used>>20)
	}
}

func TestRefusedByEngine(t *testing.T) {
	_, o := newFake(t, map[string]http.HandlerFunc{
		"/start": func(w http.ResponseWriter, _ *http.Request) { refuse(w, 409, "container is being removed") },
		"/stop":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
	})
	cs := client(t, o, nil)
	refused(t, cs, "docker_start", args{"name": "web"}, "says: container is being removed")
	wants(t, call(t, cs, "docker_stop", args{"name": "web"}, nil), "Stopped web")
}

func TestNoEngine(t *testing.T) {
	gone := "unix://" + filepath.Join(t.TempDir(), "gone.sock")
	refused(t, client(t, docker.Options{Host: gone}, nil), "docker_ps", nil, "no container engine answers at "+gone, "the option host", "DOCKER_HOST", "not there")
	refused(t, client(t, docker.Options{}, map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1"}), "docker_df", nil, "nothing listens there", "DOCKER_HOST")
	refused(t, client(t, docker.Options{}, map[string]string{"DOCKER_HOST": "ssh://u@h"}), "docker_ps", nil, "forward its socket")
	refused(t, client(t, docker.Options{}, map[string]string{"DOCKER_CONTEXT": "lab"}), "docker_ps", nil, `there is no context "lab"`)
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]docker.Options{
		"the option host":         {Host: "ftp://x"},
		"must be absolute":        {Host: "unix://docker.sock"},
		"no user or password":     {Host: "tcp://u:p@h:1"},
		"both given":              {Host: "unix:///x", Context: "y"},
		"there is no context":     {Context: "no-such-context-here"},
		"is no name of a context": {Context: "../../etc"},
		"none of on, off":         {TLS: "maybe"},
		"cert_path":               {CertPath: "/no/such/folder"},
		"option timeout_sec":      {TimeoutSec: 1000},
	} {
		if _, err := docker.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestFigures(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	two := func(used, before, system, systemBefore uint64) *container.StatsResponse {
		return &container.StatsResponse{
			Read: at.Add(time.Second), PreRead: at,
			CPUStats:    container.CPUStats{CPUUsage: container.CPUUsage{TotalUsage: used}, SystemUsage: system, OnlineCPUs: 2},
			PreCPUStats: container.CPUStats{CPUUsage: container.CPUUsage{TotalUsage: before}, SystemUsage: systemBefore},
		}
	}
	one := two(5e9, 0, 9e9, 0)
	one.PreRead = time.Time{}
	windows := two(15e6, 5e6, 0, 0)
	windows.OSType, windows.NumProcs = "windows", 4
	for name, test := range map[string]struct {
		r    *container.StatsResponse
		want float64
	}{
		"half of two":         {two(2e9, 1e9, 4e9, 2e9), 100},
		"idle":                {two(1e9, 1e9, 4e9, 2e9), 0},
		"counted anew":        {two(1e9, 2e9, 4e9, 2e9), 0},
		"one sample":          {one, 0},
		"no figure of system": {two(15e8, 1e9, 0, 0), 50},
		"Windows":             {windows, 100},
	} {
		if got := docker.CPU(test.r); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	for name, test := range map[string]struct {
		m           container.MemoryStats
		used, cache uint64
	}{
		"v1":        {container.MemoryStats{Usage: 100, Stats: map[string]uint64{"cache": 40, "inactive_file": 10}}, 60, 40},
		"v2":        {container.MemoryStats{Usage: 100, Stats: map[string]uint64{"inactive_file": 30}}, 70, 30},
		"more":      {container.MemoryStats{Usage: 100, Stats: map[string]uint64{"cache": 400}}, 0, 400},
		"no detail": {container.MemoryStats{Usage: 100}, 100, 0},
	} {
		if used, cache := docker.Memory(&test.m); used != test.used || cache != test.cache {
			t.Errorf("%s: %d and %d", name, used, cache)
		}
	}
}

// TestFakeIsFaithful holds what the fake answers to the official description.
func TestFakeIsFaithful(t *testing.T) {
	b, err := yaml.YAMLToJSON(read(t, testenv.Vectors(t, "api", "docker-engine.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Definitions map[string]any
		Paths       map[string]map[string]struct {
			Responses map[string]struct{ Schema map[string]any }
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for path, answer := range answers {
		schema := doc.Paths[path]["get"].Responses["200"].Schema
		if schema == nil {
			t.Errorf("%s is not described", path)
			continue
		}
		whole := nullable(map[string]any{"definitions": doc.Definitions, "allOf": []any{schema}})
		raw, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(answer), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// nullable makes JSON Schema of what OpenAPI writes: x-nullable allows null, and
// what are only remarks goes.
func nullable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	case map[string]any:
		for k := range v {
			if k == "example" || k == "format" || k == "default" {
				delete(v, k)
				continue
			}
			v[k] = nullable(v[k])
		}
		if v["x-nullable"] == true {
			delete(v, "x-nullable")
			return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
		}
	}
	return v
}

// TestAnswerOfManyThings has few bytes, which would become much memory.
func TestAnswerOfManyThings(t *testing.T) {
	many := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("[" + strings.Repeat("{},", 200_000) + "{}]"))
	}
	_, o := newFake(t, map[string]http.HandlerFunc{"/containers/json": many, "/images/json": many})
	cs := client(t, o, nil)
	for _, name := range []string{"docker_ps", "docker_images"} {
		refused(t, cs, name, nil, "lists more than 200000 things")
	}
}

// TestRestartLoop has a container that the engine restarts again and again. Between two
// restarts it is listed as running, and while it waits for the next one it counts as
// running too, with nothing in it.
func TestRestartLoop(t *testing.T) {
	say := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	up := strings.Replace(answers["/containers/json"], "Up 2 hours (unhealthy)", "Up 1 second", 1)
	_, o := newFake(t, map[string]http.HandlerFunc{"/containers/json": say(up), "/logs": say("")})
	cs := client(t, o, nil)
	var list struct {
		Containers []struct{ Restarts int }
	}
	for _, state := range []args{nil, {"state": "restarting"}} {
		wants(t, call(t, cs, "docker_ps", state, &list), "| Up 1 second, restarted 3 times by the engine |")
		if len(list.Containers) != 1 || list.Containers[0].Restarts != 3 {
			t.Errorf("%v: %+v", state, list)
		}
	}
	wants(t, call(t, cs, "docker_logs", args{"name": "web"}, nil), "running, restarted 3 times by the engine;")

	waiting := strings.NewReplacer(`"Status":"running"`, `"Status":"restarting"`, `"Restarting":false`, `"Restarting":true`, `"ExitCode":0`, `"ExitCode":7`).Replace(answers["/containers/{id}/json"])
	_, o = newFake(t, map[string]http.HandlerFunc{"/" + fakeID + "/json": say(waiting), "/web/json": say(waiting)})
	cs = client(t, o, nil)
	wants(t, call(t, cs, "docker_stats", args{"name": "web"}, nil), "does not run (restarting after it exited with code 7)")
	wants(t, call(t, cs, "docker_top", args{"name": "web"}, nil), "does not run (restarting after it exited with code 7)")

	// It may end between the two questions: the engine then has no time of a measurement.
	_, o = newFake(t, map[string]http.HandlerFunc{"/stats": say(`{"read":"0001-01-01T00:00:00Z","preread":"0001-01-01T00:00:00Z","cpu_stats":{},"memory_stats":{}}`)})
	var stats struct{ Running bool }
	wants(t, call(t, client(t, o, nil), "docker_stats", args{"name": "web"}, &stats), "does not run (it ended just now)")
	if stats.Running {
		t.Error("said to run")
	}
	// Those that have run for long are not asked about one by one, nor those that the answer
	// would not show.
	for _, c := range []struct {
		list string
		in   args
	}{{answers["/containers/json"], nil}, {up, args{"name_contains": "other"}}, {up, args{"state": "exited"}}} {
		f, o := newFake(t, map[string]http.HandlerFunc{"/containers/json": say(c.list)})
		call(t, client(t, o, nil), "docker_ps", c.in, nil)
		if got := f.requests(); len(got) != 2 {
			t.Errorf("%v: the engine was asked %q", c.in, got)
		}
	}
}

package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenon-mcp/tenon/servers/system"
)

func files(m map[string]string) fstest.MapFS {
	f := fstest.MapFS{}
	for name, data := range m {
		f[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return f
}

func TestContainerLimits(t *testing.T) {
	const gib = 1 << 30
	v1mounts := "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 25 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n32 25 0:28 / /sys/fs/cgroup/pids rw shared:1 - cgroup cgroup rw,pids\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
		not   string
	}{
		{"version 2, in a namespace of its own", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/memory.current": "268435456\n", "sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 1048576\n", "sys/fs/cgroup/memory.events": "oom 3\noom_kill 2\n",
			"sys/fs/cgroup/cpu.max": "150000 100000\n", "sys/fs/cgroup/cpu.stat": "nr_periods 200\nnr_throttled 50\n", "sys/fs/cgroup/pids.max": "64\n", "sys/fs/cgroup/pids.current": "7\n",
		}, []string{`version 2`, `^- Memory: 50\.0 %, 256\.0 MB of at most 512\.0 MB used \(1\.0 MB of it cache`, `^- Killed for want of memory: 2 times$`, `^- CPU: at most 1\.50 cores, held back in 50 of 200 periods \(25\.0 %\)$`, `^- Processes and threads: 7 of at most 64$`}, ""},
		{"version 2, limited above", map[string]string{
			"proc/self/cgroup": "0::/pod/box\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/pod/memory.max": "1073741824\n", "sys/fs/cgroup/pod/box/memory.max": "max\n", "sys/fs/cgroup/pod/box/memory.current": "1048576\n", "sys/fs/cgroup/pod/cpu.max": "max 100000\n",
		}, []string{`of at most 1\.00 GB used`, `^- CPU: not limited$`}, "Processes"},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n3:pids:/docker/abc\n0::/\n", "proc/self/mountinfo": v1mounts,
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "134217728\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/abc/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":         "50000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n", "sys/fs/cgroup/pids/docker/abc/pids.max": "max\n",
		}, []string{`version 1`, `^- Memory: 25\.0 %, 128\.0 MB of at most 512\.0 MB`, `^- Killed for want of memory: 1 times$`, `^- CPU: at most 0\.50 cores$`}, "Processes"},
		{"as much as the machine has", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "sys/fs/cgroup/memory.max": "68719476736\n",
		}, []string{`Nothing is limited`}, "at most"},
		{"none", map[string]string{}, []string{`(?i)control group`}, "at most"},
		{"garbage", map[string]string{"proc/self/cgroup": "x\n::\n0::/../../etc\n", "proc/self/mountinfo": "a - b\n - \n1 2 3 / /sys/fs/cgroup - cgroup2 c d\n", "sys/fs/cgroup/memory.max": "-1"}, []string{`Nothing is limited`}, "at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := system.Limits(files(tt.files), 16*gib)
			mustMatch(t, got, tt.want...)
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%s", got)
			}
		})
	}
	text, isError := call(t, connect(t, system.Options{}), "get_container_limits", nil)
	if isError || !strings.HasPrefix(text, "## Limits of the container\n") {
		t.Error(text)
	}
}

func TestSensors(t *testing.T) {
	got := system.FansAndBatteries(files(map[string]string{
		"sys/class/hwmon/hwmon1/name": "nct\n", "sys/class/hwmon/hwmon1/fan2_input": "1200\n", "sys/class/hwmon/hwmon1/fan2_label": "CPU\n", "sys/class/hwmon/hwmon1/fan3_input": "x\n",
		"sys/class/power_supply/BAT0/capacity": "87\n", "sys/class/power_supply/BAT0/status": "Discharging\n",
	}))
	mustMatch(t, got, `^\| fan \| nct CPU \| 1200 rpm \|  \|$`, `^\| battery \| BAT0 \| 87 % \| Discharging \|$`)
	start := time.Now()
	if text, isError := call(t, connect(t, system.Options{}), "get_sensors", nil); isError || !strings.HasPrefix(text, "## Sensors\n") || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %s", time.Since(start), text)
	}
}

func TestKernelHints(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for record, want := range map[string]string{
		"3,100,5000000,-;Out of memory: Killed process 77 (java) total-vm:1kB\n SUBSYSTEM=x": "out of memory",
		"6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,task=stress":                           "out of memory",
		"3,2,2,-;blk_update_request: I/O error, dev sda, sector 5":                           "disk",
		"2,2,2,-;EXT4-fs error (device sda1): ext4_lookup":                                   "file system",
		"3,2,2,c;INFO: task tar:9 blocked for more than 120 seconds.":                        "hang",
		"6,2,2,-;app[1]: segfault at 0 ip 0":                                                 "crash",
		"6,2,2,-;e1000: eth0 NIC Link is Down":                                               "network",
		"6,2,2,-;usb 1-1: new device":                                                        "",
		"garbage":                                                                            "", ";": "", "a,b,c;Out of memory": "",
	} {
		kind, at, text, ok := system.Hint(record, start)
		if kind != want || ok != (want != "") {
			t.Errorf("%q: %q", record, kind)
		}
		if strings.HasPrefix(record, "3,100") && (at != "2030-01-01T00:00:05Z" || strings.Contains(text, "SUBSYSTEM")) {
			t.Errorf("%s %q", at, text)
		}
	}
	begin := time.Now()
	if text, isError := call(t, connect(t, system.Options{}), "get_kernel_hints", nil); isError || !strings.Contains(text, "Killed for want of memory since the start: ") || time.Since(begin) > 30*time.Second {
		t.Errorf("after %v: %s", time.Since(begin), text)
	}
}

// TestManyKernelHints has so many that both forms of the answer must leave some out, the
// same ones.
func TestManyKernelHints(t *testing.T) {
	var records []string
	for i := range 90 {
		records = append(records, fmt.Sprintf("3,1,%d000000,-;Out of memory: Killed process %d (java) %s", 60*i, i, strings.Repeat("x<", 90)))
	}
	text, structured := system.KernelReport(records)
	b, err := json.Marshal(structured)
	var out struct {
		Hints []struct{ Text string }
		Left  int `json:"left_out"`
	}
	if err = errors.Join(err, json.Unmarshal(b, &out)); err != nil {
		t.Fatal(err)
	}
	if len(text) > 4000 || len(b) > 4000 || len(out.Hints) < 5 || len(out.Hints)+out.Left != 90 || !strings.Contains(text, fmt.Sprintf("%d older ones were left out", out.Left)) {
		t.Errorf("%d and %d characters, %d hints, %d left out: %s", len(text), len(b), len(out.Hints), out.Left, text)
	}
	for _, h := range out.Hints {
		if !strings.Contains(text, h.Text) {
			t.Errorf("not in the text: %s", h.Text)
		}
	}
	if strings.Count(text, "Killed process") != len(out.Hints) || !strings.Contains(out.Hints[0].Text, "process 89 ") {
		t.Error(text)
	}
}

// TestOneHintForEachEvent has two kills for want of memory with their traces, a crash
// with one, and a trace that stands alone.
func TestOneHintForEachEvent(t *testing.T) {
	kill := func(at, pid int) []string {
		return []string{
			fmt.Sprintf("4,1,%d,-;java invoked oom-killer: gfp_mask=0x0, order=0", at), fmt.Sprintf("4,2,%d,-;Call Trace:", at+1),
			fmt.Sprintf("6,3,%d,-;oom-kill:constraint=CONSTRAINT_MEMCG,task=java,pid=%d", at+2, pid),
			fmt.Sprintf("3,4,%d,-;Memory cgroup out of memory: Killed process %d (java)", at+3, pid), fmt.Sprintf("6,5,%d,-;oom_reaper: reaped process %d (java)", at+4, pid),
		}
	}
	records := append(kill(1_000_000, 7), kill(2_000_000, 8)...)
	records = append(records, "1,6,60000000,-;BUG: kernel NULL pointer dereference", "4,7,60000001,-;Call Trace:", "4,8,90000000,-;Call Trace:")
	want := []string{
		"out of memory: Memory cgroup out of memory: Killed process 7 (java)", "out of memory: Memory cgroup out of memory: Killed process 8 (java)",
		"crash: BUG: kernel NULL pointer dereference", "crash: Call Trace:",
	}
	if got := system.Hints(records, time.Unix(0, 0)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

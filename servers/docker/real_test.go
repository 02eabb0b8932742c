package docker_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	moby "github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/docker"
)

func TestListRealContainers(t *testing.T) {
	cs := client(t, options(t), nil)
	if text := call(t, cs, "docker_ps", nil, nil); !strings.Contains(text, "no containers") {
		t.Error(text)
	}
	run(t, "shop-web-1", func(o *moby.ContainerCreateOptions) {
		o.Config.Labels = map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "web"}
	}, "talk", "1")
	run(t, "failed-job", nil, "fail", "3")
	var out struct {
		Containers []struct{ ID, Name, Image, State, Status, Project, Service string }
		Total      int
		Running    int
	}
	text := call(t, cs, "docker_ps", nil, &out)
	wants(t, text, "shop-web-1", "failed-job", "Exited (3)", "2 containers, 1 running", image)
	if out.Total != 2 || out.Running != 1 || out.Containers[1].Name != "shop-web-1" || out.Containers[1].Service != "web" {
		t.Errorf("%+v", out)
	}
	lacks(t, call(t, cs, "docker_ps", args{"state": "exited"}, nil), "shop-web")
	lacks(t, call(t, cs, "docker_ps", args{"name_contains": "WEB"}, nil), "failed-job")
	wants(t, call(t, cs, "docker_ps", args{"name_contains": "nothing"}, nil), "None of the 2 containers")
	refused(t, cs, "docker_ps", args{"name_contains": strings.Repeat("x", 1000)}, "name_contains")

	for tried, want := range map[string]string{"web": "shop-web-1", "shop-wep-1": "shop-web-1", "failedjob": "failed-job"} {
		for _, tool := range []string{"docker_stats", "docker_logs", "docker_inspect", "docker_top", "docker_diff"} {
			refused(t, cs, tool, args{"name": tried}, "there is no container "+tried, "Like it: "+want)
		}
	}
	refused(t, cs, "docker_logs", args{"name": "zzzzzzzzzz"}, "there is no container zzzzzzzzzz among the 2")
}

func TestStatsOfRealContainers(t *testing.T) {
	cs := client(t, options(t), nil)
	run(t, "burner", func(o *moby.ContainerCreateOptions) {
		o.HostConfig.Memory, o.HostConfig.NanoCPUs = 64<<20, 5e8
		pids := int64(50)
		o.HostConfig.PidsLimit = &pids
	}, "burn")
	run(t, "ended", nil, "fail", "0")
	var out struct {
		CPU    float64 `json:"cpu_percent"`
		Memory uint64  `json:"memory_bytes"`
		Limit  uint64  `json:"memory_limit_bytes"`
		PIDs   int     `json:"pids"`
		Most   int     `json:"pids_limit"`
	}
	var text string
	for try := 0; try < 10 && (out.CPU < 2 || out.CPU > 75); try++ {
		text = call(t, cs, "docker_stats", args{"name": "burner"}, &out)
	}
	wants(t, text, "CPU: ", "of 64.0 MiB", "of at most 50")
	// It burns all it gets, which is half a processor; a busy machine gives it less, and
	// may look at it at odd moments.
	if out.CPU < 2 || out.CPU > 75 || out.Memory == 0 || out.Memory > 64<<20 || out.Limit != 64<<20 || out.PIDs < 1 || out.Most != 50 {
		t.Errorf("%+v", out)
	}
	wants(t, call(t, cs, "docker_stats", args{"name": "ended"}, nil), "does not run (exited with code 0)")
}

func TestInspectRealContainer(t *testing.T) {
	cs := client(t, options(t), nil)
	folder := t.TempDir()
	_, c := engine(t)
	id := run(t, "full", func(o *moby.ContainerCreateOptions) {
		o.Config.Env = []string{"DB_PASSWORD=not-a-real-key-000", "MODE=not-a-real-key-000"}
		o.Config.Labels = map[string]string{"team": "ops", "api.token": "not-a-real-key-000", "url": "https://u:not-a-real-key-000@h/x"}
		o.Config.User = "1000"
		o.Config.Cmd = append(o.Config.Cmd, "--password=not-a-real-key-000")
		o.Config.Healthcheck = &container.HealthConfig{Test: []string{"CMD", "/guest", "check"}, Interval: time.Second}
		o.HostConfig.Mounts = []mount.Mount{{Type: mount.TypeBind, Source: folder, Target: "/data", ReadOnly: true}, volume("store", "/var/lib/store")}
		o.HostConfig.RestartPolicy = container.RestartPolicy{Name: "on-failure", MaximumRetryCount: 4}
		o.HostConfig.Memory, o.HostConfig.NanoCPUs = 128<<20, 15e8
	}, "talk", "1")
	await(t, "healthy", func() bool {
		about, err := c.ContainerInspect(t.Context(), id, moby.ContainerInspectOptions{})
		return err == nil && about.Container.State.Health.Status == container.Healthy
	})
	var out struct {
		Health      struct{ Status string }
		Environment []string
		Limits      struct {
			CPUs   float64 `json:"cpus"`
			Memory int64   `json:"memory_bytes"`
		}
		Mounts []struct{ Type, Source, Destination string }
	}
	text := call(t, cs, "docker_inspect", args{"name": id[:12]}, &out)
	wants(t, text, "## full", "State: running", "Runs since 2", "policy on-failure, at most 4 times", "Health: healthy", "printed: checked",
		"memory 128.0 MiB, 1.5 processors", "bind "+folder+" → /data (read only)", "volume store → /var/lib/store (read and write)",
		"Mode: none", "DB_PASSWORD, MODE", "team=ops", "runs as user 1000", "talk 1 --password=•••", "Log driver: json-file")
	lacks(t, text, "not-a-real-key-000")
	if out.Health.Status != "healthy" || out.Limits.CPUs != 1.5 || out.Limits.Memory != 128<<20 || len(out.Mounts) != 2 {
		t.Errorf("%+v", out)
	}
	_, _, structured := try(t, t.Context(), cs, "docker_inspect", args{"name": "full"})
	lacks(t, string(structured), "not-a-real-key-000")

	run(t, "broken", func(o *moby.ContainerCreateOptions) {
		o.HostConfig.RestartPolicy = container.RestartPolicy{Name: "on-failure", MaximumRetryCount: 1}
	}, "fail", "137")
	await(t, "given up", func() bool {
		about, err := c.ContainerInspect(t.Context(), "broken", moby.ContainerInspectOptions{})
		return err == nil && about.Container.RestartCount == 1 && about.Container.State.Status == container.StateExited
	})
	wants(t, call(t, cs, "docker_inspect", args{"name": "broken"}, nil), "exited with code 137 (killed", "Restarts: 1 by the engine", "Ran last from 2")
}

func TestLogsOfRealContainers(t *testing.T) {
	cs := client(t, options(t), nil)
	run(t, "talker", nil, "talk", "1000")
	run(t, "terminal", func(o *moby.ContainerCreateOptions) { o.Config.Tty = true }, "talk", "10")
	type line struct{ Time, Stream, Level, Text string }
	var out struct {
		Lines     []line
		Looked    int `json:"looked_at"`
		Matched   int
		Truncated bool
		Note      string
	}
	text := call(t, cs, "docker_logs", args{"name": "talker", "tail": 6}, &out)
	wants(t, text, "## Log of talker", "running; 6 lines", " out ready")
	if len(out.Lines) != 6 || out.Looked != 6 || !strings.HasSuffix(out.Lines[0].Time, "Z") {
		t.Errorf("%+v", out)
	}
	wants(t, call(t, cs, "docker_logs", args{"name": "talker", "tail": 100000, "max_chars": 16000}, &out), "200 lines")
	text = call(t, cs, "docker_logs", args{"name": "talker", "tail": 200}, &out)
	wants(t, text, "were cut off to keep to 4000 characters", "ready")
	if !out.Truncated || len(text) > 4700 {
		t.Errorf("%d characters, %+v", len(text), out.Note)
	}

	text = call(t, cs, "docker_logs", args{"name": "talker", "grep": "Request [0-9]* SERVED", "tail": 3}, &out)
	if len(out.Lines) != 3 || out.Matched != 200 || !strings.HasSuffix(out.Lines[2].Text, "request 995 served") {
		t.Errorf("%s\n%+v", text, out)
	}
	call(t, cs, "docker_logs", args{"name": "talker", "level": "error", "tail": 4}, &out)
	if out.Matched != 600 || out.Lines[3].Text != "\tat a.go:1" || out.Lines[1].Level != "error" || out.Lines[3].Level != "error" {
		t.Errorf("%+v", out)
	}
	call(t, cs, "docker_logs", args{"name": "talker", "level": "warn", "tail": 200, "max_chars": 16000}, &out)
	if out.Matched != 800 {
		t.Errorf("%+v", out.Matched)
	}
	for stream, not := range map[string]string{"stdout": "stderr", "stderr": "stdout"} {
		call(t, cs, "docker_logs", args{"name": "talker", "stream": stream}, &out)
		for _, l := range out.Lines {
			if l.Stream == not {
				t.Errorf("%s: %+v", stream, l)
			}
		}
	}
	call(t, cs, "docker_logs", args{"name": "talker", "since_minutes": 5}, &out)
	if len(out.Lines) != 50 {
		t.Errorf("%d lines", len(out.Lines))
	}
	wants(t, call(t, cs, "docker_logs", args{"name": "talker", "grep": "nothing like it"}, nil), "none of the last 1")

	text = call(t, cs, "docker_logs", args{"name": "terminal", "stream": "stderr"}, &out)
	wants(t, text, " tty ready", " tty plain 9")
	if len(out.Lines) == 0 || out.Lines[0].Time == "" || out.Lines[0].Text != "INFO request 0 served" {
		t.Errorf("%+v", out.Lines)
	}
	run(t, "mute", func(o *moby.ContainerCreateOptions) { o.HostConfig.LogConfig.Type = "none" }, "fail", "0")
	refused(t, cs, "docker_logs", args{"name": "mute"}, "log driver is none")
	run(t, "local", func(o *moby.ContainerCreateOptions) { o.HostConfig.LogConfig.Type = "local" }, "talk", "10")
	wants(t, call(t, cs, "docker_logs", args{"name": "local"}, nil), "out ready")
}

// TestLongLogCostsNothing reads the end of a log of 64 MiB, or 1 GiB in a long
// run, by what the engine must not read from its beginning.
func TestLongLogCostsNothing(t *testing.T) { longLog(t, "64", 2*time.Second) }

func TestLogOfOneGigabyte(t *testing.T) {
	testenv.Long(t)
	longLog(t, "1024", 2*time.Second)
}

func longLog(t *testing.T, mib string, most time.Duration) {
	cs := client(t, options(t), nil)
	run(t, "long", nil, "fill", mib, "200")
	for _, a := range []args{{"tail": 200}, {"grep": "ready"}, {"since_minutes": 60}, {"level": "error"}} {
		a["name"] = "long"
		var text string
		var used uint64
		took := time.Hour
		for try := 0; try < 3 && took > most; try++ { // others work on this machine
			before, start := memory(), time.Now()
			text = call(t, cs, "docker_logs", a, nil)
			took, used = time.Since(start), memory()-before
			t.Logf("%v: %s, %d KiB allocated", a, took, used>>10)
		}
		if took > most || used > 64<<20 {
			t.Errorf("%v took %s and allocated %d MiB", a, took, used>>20)
		}
		if a["level"] == nil {
			wants(t, text, "out ready")
		}
	}
}

func TestProcessesAndFilesOfRealContainer(t *testing.T) {
	cs := client(t, options(t), nil)
	run(t, "writer", func(o *moby.ContainerCreateOptions) {
		o.Config.Cmd = append(o.Config.Cmd, "--password", "not-a-real-key-000")
	}, "write")
	run(t, "over", nil, "fail", "1")
	var top struct {
		Titles    []string
		Processes [][]string
		Total     int
	}
	text := call(t, cs, "docker_top", args{"name": "writer"}, &top)
	wants(t, text, "1 in all\n", "| PID ", "/guest write --password •••")
	lacks(t, text, "not-a-real-key-000")
	if top.Total != 1 || len(top.Processes[0]) != len(top.Titles) {
		t.Errorf("%+v", top)
	}
	wants(t, call(t, cs, "docker_top", args{"name": "over"}, nil), "does not run (exited with code 1)")

	var diff struct {
		Added, Changed, Deleted int
		Changes                 []struct{ Kind, Path string }
	}
	text = call(t, cs, "docker_diff", args{"name": "writer"}, &diff)
	wants(t, text, "| added | /new file |", "| deleted | /seed |", "| added | /etc/app/conf |")
	if diff.Added < 3 || diff.Deleted != 1 {
		t.Errorf("%+v", diff)
	}
	lacks(t, call(t, cs, "docker_diff", args{"name": "writer", "path": "/etc/app/"}, nil), "/new file")
	wants(t, call(t, cs, "docker_diff", args{"name": "writer", "path": "/opt"}, nil), "Nothing in writer differs")
	refused(t, cs, "docker_diff", args{"name": "writer", "path": "opt"}, "absolute path")
}

func TestImagesDiskAndEventsOfRealEngine(t *testing.T) {
	cs := client(t, options(t), nil)
	run(t, "happening", func(o *moby.ContainerCreateOptions) {
		o.HostConfig.Mounts = []mount.Mount{volume("kept", "/kept")}
	}, "fail", "7")
	text := call(t, cs, "docker_images", nil, nil)
	wants(t, text, "1 image", image, "| 1 |")
	wants(t, call(t, cs, "docker_images", args{"name_contains": "GUEST"}, nil), image)
	wants(t, call(t, cs, "docker_images", args{"dangling": true}, nil), "None of the 1 image")

	var disk struct {
		Kinds []struct {
			Kind  string
			Count int
		}
		Total int64 `json:"total_bytes"`
	}
	wants(t, call(t, cs, "docker_df", nil, &disk), "| images | 1 |", "Largest images: "+image)
	if len(disk.Kinds) != 4 || disk.Total < 1<<20 {
		t.Errorf("%+v", disk)
	}

	start := time.Now()
	var events struct {
		Events []struct{ Time, Type, Action, Name, Detail string }
		Total  int
	}
	text = call(t, cs, "docker_events", args{"name": "happening"}, &events)
	wants(t, text, "## Events of happening", "die", "exitCode=7", "start")
	if took := time.Since(start); took > 30*time.Second || len(events.Events) == 0 || events.Events[0].Type != "container" {
		t.Errorf("%s %+v", took, events)
	}
	call(t, cs, "docker_events", args{"limit": 2}, &events)
	if len(events.Events) != 2 || events.Total < 3 {
		t.Errorf("%+v", events)
	}
	wants(t, call(t, cs, "docker_events", args{"type": "plugin"}, nil), "Nothing happened")
	wants(t, call(t, cs, "docker_events", args{"since_minutes": 60, "until_minutes": 50}, nil), "Nothing happened")
	refused(t, cs, "docker_events", args{"since_minutes": 5, "until_minutes": 5}, "count back from now")
	refused(t, cs, "docker_events", args{"until_minutes": -5}, "not be negative")
	refused(t, cs, "docker_events", args{"name": "--since=0"}, "is no name or id")
}

func TestRestartStartAndStopForReal(t *testing.T) {
	_, c := engine(t)
	o := options(t)
	id := run(t, "service", nil, "talk", "1")
	pid := func() int {
		about, err := c.ContainerInspect(t.Context(), id, moby.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return about.Container.State.Pid
	}
	first := pid()
	closed := client(t, o, map[string]string{"DOCKER_ALLOW_RESTART": "false"})
	for _, tool := range []string{"docker_restart", "docker_start", "docker_stop"} {
		refused(t, closed, tool, args{"name": "service"}, "switched off", "DOCKER_ALLOW_RESTART=true", "allow_restart", "Nothing was changed")
	}
	if pid() != first {
		t.Fatal("the container was changed though that is switched off")
	}

	cs := client(t, o, map[string]string{"DOCKER_ALLOW_RESTART": "Yes"})
	refused(t, cs, "docker_restart", args{"name": "servise"}, "Like it: service")
	wants(t, call(t, cs, "docker_restart", args{"name": "service", "grace_sec": 5}, nil), "Restarted service", "now: running")
	if pid() == first {
		t.Error("it was not restarted")
	}
	o.AllowRestart = true
	cs = client(t, o, nil)
	wants(t, call(t, cs, "docker_stop", args{"name": "service"}, nil), "Stopped service", "now: exited with code 0")
	wants(t, call(t, cs, "docker_stop", args{"name": "service"}, nil), "now: exited with code 0")
	wants(t, call(t, cs, "docker_start", args{"name": "service"}, nil), "Started service", "now: running")
	refused(t, cs, "docker_stop", args{"name": "service", "grace_sec": 9999}, "grace_sec must be between")
	wants(t, call(t, cs, "docker_logs", args{"name": "service"}, nil), "told to end")
}

func TestTLSWithRealEngine(t *testing.T) {
	e, _ := engine(t)
	run(t, "behind-tls", nil, "talk", "1")
	for _, test := range []struct {
		name string
		o    docker.Options
		env  map[string]string
		want string // of an error; none is wanted where it is empty
	}{
		{"by environment", docker.Options{}, map[string]string{"DOCKER_HOST": "tcp://" + e.TCP, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": e.Certs}, ""},
		{"by options", docker.Options{Host: "tcp://" + e.TCP, CertPath: e.Certs}, nil, ""},
		{"https", docker.Options{Host: "https://" + e.TCP, CertPath: e.Certs, TLS: "on"}, nil, ""},
		{"unverified", docker.Options{Host: "tcp://" + e.TCP, CertPath: e.Certs, TLS: "unverified"}, nil, ""},
		{"without TLS", docker.Options{Host: "tcp://" + e.TCP}, nil, "wants TLS: set DOCKER_TLS_VERIFY=1"},
		{"without a certificate", docker.Options{Host: "tcp://" + e.TCP, TLS: "unverified"}, nil, "cert.pem and key.pem"},
		{"an unknown authority", docker.Options{Host: "tcp://" + e.TCP, TLS: "on"}, nil, "ca.pem"},
		{"another name", docker.Options{Host: "tcp://" + strings.Replace(e.TCP, "127.0.0.1", "127.0.0.2", 1), CertPath: e.Certs}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cs := client(t, test.o, test.env)
			switch {
			case test.name == "another name": // nothing listens there, or it is not in the certificate
				refused(t, cs, "docker_ps", nil, "engine")
			case test.want != "":
				refused(t, cs, "docker_ps", nil, test.want)
			default:
				wants(t, call(t, cs, "docker_ps", nil, nil), "behind-tls")
			}
		})
	}
}

// TestCommandSeesTheSame compares with the docker command, where there is one.
func TestCommandSeesTheSame(t *testing.T) {
	e, _ := engine(t)
	path, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("the docker command is not installed")
	}
	run(t, "compared", nil, "talk", "5")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-H", "unix://"+e.Socket, "ps", "--all", "--format", "{{.Names}} {{.Status}}")
	cmd.Env = []string{"HOME=" + t.TempDir(), "DOCKER_CONFIG=" + filepath.Join(t.TempDir(), "none")}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Skipf("the docker command does not work: %s", exit.Stderr)
	}
	text := call(t, client(t, options(t), nil), "docker_ps", nil, nil)
	for line := range strings.Lines(string(out)) {
		wants(t, text, strings.Fields(line)[0])
	}
}

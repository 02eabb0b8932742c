// Package docker is the bundled server "docker": a look at the containers,
// images, events and disk space of a container engine, Docker or Podman, and,
// where the operator opened that, starting and stopping of containers.
//
//	srv, err := docker.New(docker.Options{Host: "unix:///run/user/1000/docker.sock"})
//
// It speaks the Engine API and never runs the docker command. The engine is found
// anew for each call (internal/dockerhost), so that one which is started later is
// found, and building the server touches no engine.
//
// A model gives names of containers, which become parts of the paths of requests:
// a name that could be anything else is refused before anything is asked. Whoever
// may use an engine's socket is root there, so a tool asks for exactly what it is
// for. Values of environment variables are never shown, and what looks like a
// secret in commands, labels and lines is masked. What containers write and how they are
// named is foreign text: bounded, and freed of control characters.
package docker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value is useful.
type Options struct {
	Host         string  `json:"host,omitempty" jsonschema:"address of the engine: unix:///path, tcp://host:2376 or npipe:////./pipe/name; default: DOCKER_HOST, else the current context of the docker command, else the first usual socket of Docker or Podman that answers"`
	Context      string  `json:"context,omitempty" jsonschema:"context of the docker command whose engine to use, in place of host"`
	TLS          string  `json:"tls,omitempty" jsonschema:"TLS over TCP: on, off, or unverified, which takes any certificate; default: on where DOCKER_TLS_VERIFY, DOCKER_CERT_PATH, cert_path or the context asks for it"`
	CertPath     string  `json:"cert_path,omitempty" path:"yes" jsonschema:"folder with ca.pem, cert.pem and key.pem for TLS; default: DOCKER_CERT_PATH, or that of the context"`
	AllowRestart bool    `json:"allow_restart,omitempty" jsonschema:"lets docker_restart, docker_start and docker_stop work; also set by DOCKER_ALLOW_RESTART=true in env: of this server's entry (or in the environment of tenon server docker). The gateway's policy and approvals decide as well"`
	TimeoutSec   float64 `json:"timeout_sec,omitempty" jsonschema:"seconds in which the engine must have answered a call, 1 to 120; default: 15, and 30 for disk usage, logs and changes of containers"`
}

type server struct {
	find    dockerhost.Options
	allowed bool
	timeout time.Duration // 0: that of each tool
}

// New returns the server. It fails where an option cannot be used, and asks no
// engine anything.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New where the environment is another one than that of this process.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s := &server{find: dockerhost.Options{Host: o.Host, Context: o.Context, TLS: o.TLS, CertPath: o.CertPath, Getenv: getenv}}
	if err := s.find.Check(); err != nil {
		return nil, fmt.Errorf("options of docker: %w", err)
	}
	if o.TimeoutSec != 0 && (o.TimeoutSec < 1 || o.TimeoutSec > 120) {
		return nil, fmt.Errorf("option timeout_sec: %v is not between 1 and 120", o.TimeoutSec)
	}
	s.timeout = time.Duration(o.TimeoutSec * float64(time.Second))
	s.allowed = o.AllowRestart || isTrue(getenv("DOCKER_ALLOW_RESTART"))
	return s.mcp(), nil
}

func isTrue(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes":
		return true
	}
	return false
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-docker", Title: "Docker", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addList(srv)
	s.addStats(srv)
	s.addLogs(srv)
	s.addInspect(srv)
	s.addTop(srv)
	s.addDiff(srv)
	s.addImages(srv)
	s.addEvents(srv)
	s.addDisk(srv)
	s.addPower(srv)
	return srv
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	// What containers print, and what their images and labels say, was written by
	// whoever made them; how they are set up is nobody else's business.
	private := []tool.Label{tool.LabelPrivate}
	both := []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
		labels   []tool.Label
	}{
		{"docker_ps", psChars, "docker container list ps status ports running exited podman 容器 列表 状态", private},
		{"docker_stats", statsChars, "docker container stats cpu memory usage network block io pids 容器 资源 占用", private},
		{"docker_logs", logsChars, "docker container logs output stdout stderr error grep tail 容器 日志", both},
		{"docker_inspect", inspectChars, "docker container inspect detail mounts networks health limits restart policy exit code oom 容器 详情 配置", both},
		{"docker_top", topChars, "docker container top processes ps pid 容器 进程", private},
		{"docker_diff", diffChars, "docker container diff changed files filesystem 容器 文件 变更", private},
		{"docker_images", imagesChars, "docker image list tags size dangling 镜像 列表", private},
		{"docker_events", eventsChars, "docker events history die oom kill restart health timeline 容器 事件", private},
		{"docker_df", diskChars, "docker disk usage df reclaimable volumes build cache space 磁盘 占用 镜像 卷", private},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: e.labels,
		}
	}
	for name, hint := range map[string]string{
		"docker_restart": "docker container restart reboot 容器 重启",
		"docker_start":   "docker container start run 容器 启动",
		"docker_stop":    "docker container stop halt 容器 停止",
	} {
		m[name] = tool.Meta{
			Registered: true, Destructive: true, Exclusive: true, Idempotent: name != "docker_restart",
			SideEffect: tool.EffectFilesystem, RiskLevel: tool.RiskHigh,
			MaxResultChars: powerChars, SearchHint: hint, Timeout: powerLimit + maxGrace*time.Second,
		}
	}
	return m
}

// spec is the part of a tool's definition that differs between the tools here.
type spec struct {
	typed.Spec
	changes, idempotent bool
	limit               time.Duration // in which the engine must have answered; 0 is the usual one
}

// An input knows what is wrong with it before an engine is asked, and which
// container it is about, if any.
type input interface {
	check() error
	about() string
}

// add registers a tool that asks the engine.
func add[In input, Out any](srv *mcp.Server, s *server, sp spec, answer func(context.Context, *engine, In) (string, Out, error)) {
	sp.Annotations = typed.ReadsHere()
	sp.Annotations.ReadOnlyHint, sp.Annotations.DestructiveHint = !sp.changes, &sp.changes
	sp.Annotations.IdempotentHint = !sp.changes || sp.idempotent
	typed.Add(srv, sp.Spec, func(ctx context.Context, in In) (string, Out, error) {
		var none Out
		if err := in.check(); err != nil {
			return "", none, err
		}
		if sp.changes && !s.allowed {
			return "", none, typed.Refuse("%s is switched off. The operator switches it on with the option allow_restart, "+
				"or with DOCKER_ALLOW_RESTART=true in env: of this server's entry (or in the environment of tenon server docker), and a start of that server. Nothing was changed", sp.Name)
		}
		return ask(ctx, s, s.limit(sp, in), in, answer)
	})
}

// limit is how long a call may take in all.
func (s *server) limit(sp spec, in input) time.Duration {
	d := sp.limit
	switch {
	case s.timeout > 0:
		d = s.timeout
	case d == 0:
		d = usualLimit
	}
	if p, ok := in.(powerInput); ok { // the time that the container gets is not the engine's
		d += time.Duration(p.grace()) * time.Second
	}
	return d
}

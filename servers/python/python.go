// Package python is the bundled server "python": Python and shell commands in
// sandboxes that are apart from this machine.
//
//	srv, err := python.New(python.Options{MemoryMB: 1024})
//
// A model makes a sandbox, works in it over many calls, and ends it. Its files lie in
// /home/user, and the interpreter keeps its state from one call to the next. What
// keeps it apart is a back end (internal/sandbox); the one here, "local", uses what
// Linux has. It tests itself at the first use, says how far the walls reach, and
// refuses to run anything where they do not stand. There is no network in a sandbox,
// but by a proxy of this server to the hosts that the operator lists. Files come in
// through this server, which fetches them by the rules of internal/egress, or takes
// them from folders that the operator opened.
//
// The name of a sandbox cannot be guessed. Where clients have sessions (HTTP), it
// belongs to the session that made it and ends with that; else it ends when it was
// not used for a while, and all end with the server.
//
// No command runs twice, whatever became of it.
//
// On Linux the program that runs this server is also the launcher of its sandboxes:
// it must run local.Launch for the command local.Command, as tenon does.
package python

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local"
	"github.com/tenon-mcp/tenon/internal/sandbox/outlet"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value is useful on Linux.
type Options struct {
	Backend      string   `json:"backend,omitempty" jsonschema:"what keeps sandboxes apart: local, by namespaces or Landlock of Linux, which is the default; gvisor, by a kernel of their own that runsc runs; docker, by containers of an engine; or e2b, by virtual machines of E2B"`
	Python       string   `json:"python,omitempty" path:"yes" jsonschema:"interpreter; default: the first python3 in the PATH that works in a sandbox"`
	UploadRoots  []string `json:"upload_roots,omitempty" path:"yes" jsonschema:"folders of this machine whose files may be copied into sandboxes; default: none"`
	DownloadDir  string   `json:"download_dir,omitempty" path:"yes" jsonschema:"folder of this machine that files of sandboxes are saved below, in tmpfiles; default: $LOGS_DIR, else none"`
	TimeoutSec   int      `json:"timeout_sec,omitempty" jsonschema:"seconds after which a sandbox that is not used ends, and the most that a call may ask for, 10 to 86400; default: $DEFAULT_TIMEOUT, else 600"`
	RunSec       int      `json:"run_timeout_sec,omitempty" jsonschema:"seconds for one command or cell, 1 to 3600; default: 120"`
	MemoryMB     int      `json:"memory_mb,omitempty" jsonschema:"memory of one sandbox in MiB, 64 to 65536; default: 512"`
	DiskMB       int      `json:"disk_mb,omitempty" jsonschema:"space for the files of one sandbox in MiB, 1 to 65536; default: 256. It lies in memory where there are namespaces"`
	Processes    int      `json:"processes,omitempty" jsonschema:"processes and threads of one sandbox, 8 to 4096; default: 64"`
	MaxSandboxes int      `json:"max_sandboxes,omitempty" jsonschema:"sandboxes at once, 1 to 1000; default: 16"`
	Network      []string `json:"network,omitempty" jsonschema:"hosts that code in sandboxes reaches, through a proxy of this server: names, *.example.com, addresses or networks, each with a port or for 80 and 443; or public for all public hosts. Names lead to public addresses only. Default: none. Tools that run code are then of high risk"`
	NetworkMB    int      `json:"network_mb,omitempty" jsonschema:"MiB that code in one sandbox sends and receives in all, 1 to 1048576; default: 1024"`
	MaxMemoryMB  int      `json:"max_memory_mb,omitempty" jsonschema:"memory of all sandboxes together in MiB, 64 to 1048576; default: 4096"`
	Dir          string   `json:"dir,omitempty" path:"yes" jsonschema:"folder for the files of sandboxes where there are no namespaces, and for what runsc notes; default: /var/tmp/tenon-sandboxes for root, else one in the cache of the user"`
	Allow        []string `json:"allow,omitempty" jsonschema:"internal hosts that files may be fetched from besides public ones: networks, addresses or names, such as 10.20.0.0/16 or *.corp.example"`
	Proxy        string   `json:"proxy,omitempty" jsonschema:"proxy for fetching files; none is for none; default: that of the environment"`
	CAFile       string   `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's"`
	GvisorOptions
	DockerOptions
	E2BOptions
}

const (
	maxChars     = 20_000
	maxWhole     = 1_000_000 // where whoever calls cuts and keeps it
	maxRun       = 3600 * time.Second
	maxDownload  = 512 << 20
	maxArguments = 2 << 20
)

type server struct {
	backend sandbox.Backend
	spec    sandbox.Spec
	boxes   *shelf
	pages   *egress.Client
	outlet  *outlet.Outlet // nil without a network
	most    int            // characters of an answer

	internet bool // code reaches all of it, by a network that is not ours

	uploads   []string
	downloads string
	idle, run time.Duration
}

// New returns the server. It fails where an option cannot be used, and starts nothing.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	return NewAt(o, tool.Place{Getenv: getenv})
}

// NewAt is New for a place, which is told how to end all sandboxes.
func NewAt(o Options, at tool.Place) (*mcp.Server, error) {
	// This program itself, whatever has become of its file: it has the command.
	s, err := build(o, at.Getenv, []string{"/proc/self/exe", local.Command})
	if err != nil {
		return nil, err
	}
	if at.AtEnd != nil {
		at.AtEnd(s.end)
	}
	return s.mcp(), nil
}

// end ends all sandboxes, and what is kept to make more of them.
func (s *server) end() error {
	err := s.backend.Close()
	s.boxes.tasks.Wait() // sessions have ended before
	s.pages.Close()
	return err
}

// build makes the server without its tools.
func build(o Options, getenv func(string) string, launcher []string) (*server, error) {
	if o.DownloadDir == "" {
		o.DownloadDir = getenv("LOGS_DIR")
	}
	if text := getenv("DEFAULT_TIMEOUT"); text != "" && o.TimeoutSec == 0 {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("variable DEFAULT_TIMEOUT: %q is no number of seconds", text)
		}
		o.TimeoutSec = n
	}
	for _, b := range []struct {
		name               string
		value              *int
		usual, least, most int
	}{
		{"timeout_sec", &o.TimeoutSec, 600, 10, 86400},
		{"run_timeout_sec", &o.RunSec, 120, 1, 3600},
		{"memory_mb", &o.MemoryMB, 512, 64, 65536},
		{"disk_mb", &o.DiskMB, 256, 1, 65536},
		{"processes", &o.Processes, 64, 8, 4096},
		{"max_sandboxes", &o.MaxSandboxes, 16, 1, 1000},
		{"max_memory_mb", &o.MaxMemoryMB, 4096, 64, 1 << 20},
		{"network_mb", &o.NetworkMB, 1024, 1, 1 << 20},
	} {
		if *b.value == 0 {
			*b.value = b.usual
		}
		if *b.value < b.least || *b.value > b.most {
			return nil, fmt.Errorf("option %s: %d is not between %d and %d", b.name, *b.value, b.least, b.most)
		}
	}
	for _, root := range o.UploadRoots {
		if root == "" || filepath.Clean(root) == string(filepath.Separator) {
			return nil, fmt.Errorf("option upload_roots: %q is not a folder to open as a whole", root)
		}
	}
	pages, err := egress.New(egress.Options{Server: "python", Allow: o.Allow, Proxy: o.Proxy, CAFile: o.CAFile, MaxBody: maxDownload})
	if err != nil {
		return nil, err
	}
	s := &server{
		spec:    sandbox.Spec{Memory: int64(o.MemoryMB) << 20, Disk: int64(o.DiskMB) << 20, Processes: o.Processes},
		pages:   pages,
		uploads: o.UploadRoots, downloads: o.DownloadDir,
		idle: time.Duration(o.TimeoutSec) * time.Second, run: time.Duration(o.RunSec) * time.Second, most: maxChars,
		internet: o.Backend == "e2b" && o.E2BInternet,
	}
	if getenv(tool.KeepsResults) != "" {
		s.most = maxWhole
	}
	if s.backend, err = (setting{o, getenv, launcher}).backend(); err != nil {
		return nil, err
	}
	if len(o.Network) > 0 {
		if !s.backend.TakesNetwork() {
			return nil, fmt.Errorf("option network: the back end %s cannot hold code to a list of hosts", s.backend.Name())
		}
		if s.outlet, err = outlet.New(outlet.Options{Server: "python", Network: o.Network, MaxBytes: int64(o.NetworkMB) << 20}); err != nil {
			return nil, err
		}
	}
	s.boxes = newShelf(s.backend, s.outlet, o.MaxSandboxes, int64(o.MaxMemoryMB)<<20)
	return s, nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-python", Title: "Python", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addCreate(srv)
	s.addCommand(srv)
	s.addCode(srv)
	s.addStateless(srv)
	s.addUpload(srv)
	s.addFetch(srv)
	s.addSave(srv)
	s.addList(srv)
	s.addKill(srv)
	return srv
}

// Meta returns what is declared of each tool, by its name. How far the walls reach is
// known only when code runs; they are declared here for the weakest that is used at
// all, and without a network.
func Meta() map[string]tool.Meta { return MetaFor(Options{}) }

// MetaFor returns what is declared with options. With a network, code can do on the web
// what it likes, and send out what it has read.
func MetaFor(o Options) map[string]tool.Meta {
	m := map[string]tool.Meta{}
	code, labels := tool.RiskMedium, []tool.Label{tool.LabelUntrusted}
	if len(o.Network) > 0 || o.E2BInternet {
		code, labels = tool.RiskHigh, append(labels, tool.LabelEgress)
	}
	for _, e := range []struct {
		name     string
		effect   tool.SideEffect
		risk     tool.RiskLevel
		maxChars int
		hint     string
	}{
		{"create_sandbox", tool.EffectExternal, tool.RiskMedium, 500, "create sandbox python code interpreter environment start 创建 沙箱 代码 环境"},
		{"run_command", tool.EffectExternal, code, maxChars, "run shell command bash script execute sandbox 运行 命令 脚本 执行"},
		{"run_python_code", tool.EffectExternal, code, maxChars, "run python code execute calculate data analysis plot chart notebook 运行 代码 计算 数据 分析 绘图"},
		{"python", tool.EffectExternal, code, maxChars, "python calculate once stateless code run 计算 代码 一次"},
		{"upload_file_from_local_to_sandbox", tool.EffectFilesystem, tool.RiskMedium, 2000, "upload copy local file into sandbox 上传 文件 沙箱"},
		{"download_file_from_internet_to_sandbox", tool.EffectNetwork, tool.RiskMedium, 2000, "download fetch url file into sandbox data set 下载 网络 文件 沙箱"},
		{"download_file_from_sandbox_to_local", tool.EffectFilesystem, tool.RiskMedium, 2000, "download save file from sandbox result 保存 下载 文件 结果"},
		{"list_files", tool.EffectNone, tool.RiskLow, maxChars, "list files folder sandbox directory 列出 文件 目录"},
		{"kill_sandbox", tool.EffectExternal, tool.RiskLow, 500, "end kill stop sandbox free resources 结束 关闭 沙箱"},
	} {
		list, said := e.name == "list_files", labels[:1]
		if e.risk == code && e.maxChars == maxChars && !list {
			said = labels
		}
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: list, ConcurrencySafe: list, Idempotent: list || e.name == "kill_sandbox",
			SideEffect: e.effect, RiskLevel: e.risk, MaxResultChars: e.maxChars, SearchHint: e.hint, Timeout: maxRun,
			Labels: said,
		}
	}
	return m
}

// changes are the annotations of a tool that changes a sandbox, and open those of one
// that reaches the web.
func changes(open bool) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &open}
}

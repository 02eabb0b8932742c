// Package system is the bundled server "system": a look at the machine that it
// runs on. It reads load, memory, disks, processes, sockets and the sizes of
// directories, on Linux, macOS and Windows, and changes nothing.
//
//	srv, err := system.New(system.Options{ScanRoots: []string{"/var", "/srv"}})
//
// Rules that all its tools keep:
//
//   - A processor share is measured over an interval (sample), never read from a
//     first sample, which would be zero.
//   - What cannot be read (a partition that is gone, a process of somebody else)
//     is left out, and where that matters the answer says so.
//   - No answer grows without bound: each table is cut to the characters that
//     Meta declares for its tool, and says what it left out.
//   - Nothing shows the environment of a process, and what looks like a secret in
//     its command line is masked (mask.go).
package system

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// sample is how long a processor share is measured.
const sample = time.Second

// Options are the settings of the server. The zero value is useful.
type Options struct {
	ScanRoots []string `json:"scan_roots,omitempty" path:"yes" jsonschema:"directories that scan_dir_usage and find_large_files may look into; default: every directory that this process can read"`
}

type server struct {
	scanRoots *scanRoots
	services  manager
}

// New returns the server. It fails where one of ScanRoots is no directory; one that is
// not there is looked for again at each call.
func New(o Options) (*mcp.Server, error) {
	roots, err := newRoots(o.ScanRoots)
	if err != nil {
		return nil, err
	}
	s := &server{scanRoots: roots, services: newManager()}
	return s.mcp(), nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-system", Title: "System", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	addOverview(srv)
	addLoad(srv)
	addTop(srv)
	addProcess(srv)
	addNetwork(srv)
	addCgroup(srv)
	addSensors(srv)
	addKernel(srv)
	s.addServices(srv)
	s.addScan(srv)
	return srv
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	// Command lines, addresses and the names of files say more of a machine than
	// strangers should know.
	private := []tool.Label{tool.LabelPrivate}
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
		labels   []tool.Label
	}{
		{"get_local_system_overview", overviewChars, "system overview host machine os cpu memory disk health 系统概览 主机 巡检", nil},
		{"get_local_cpu_memory", cpuMemoryChars, "cpu memory usage load cores ram 处理器 内存 使用率", nil},
		{"get_local_disk_usage", diskChars, "disk usage space partition full storage 磁盘 空间 分区", nil},
		{"list_top_processes", topChars, "top processes cpu memory hog ps 进程 占用 排行", private},
		{"get_load_average", loadChars, "load average pressure psi stall saturation 负载 压力", nil},
		{"get_process_detail", processChars, "process detail pid threads files children command 进程 详情", private},
		{"get_local_network_status", networkChars, "network interfaces traffic errors connections 网卡 流量 连接数", private},
		{"list_listening_ports", portsChars, "listening ports sockets netstat ss lsof 监听 端口", private},
		{"get_container_limits", cgroupChars, "container limits cgroup memory cpu quota throttled pids oom docker kubernetes 容器 限制 配额", nil},
		{"get_sensors", sensorsChars, "sensors temperature fan battery heat thermal 温度 风扇 电池 传感器", nil},
		{"get_kernel_hints", kernelChars, "kernel log dmesg oom killed out of memory i/o error segfault hang 内核 日志 内存不足", []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}},
		{"list_services", servicesChars, "services systemd units daemon failed running windows service launchd 服务 列表 状态", private},
		{"get_service_status", serviceChars, "service status systemd unit active failed restart systemctl 服务 状态", private},
		{"scan_dir_usage", scanChars, "directory size du disk usage folder largest 目录 大小", private},
		{"find_large_files", largeChars, "large big files find disk space 大文件 查找", private},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: e.labels,
		}
	}
	return m
}

// spec is what is said of a tool.
type spec = typed.Spec

type noInput struct{}

// pause waits for d. The error says that the caller gave up before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return errors.New("canceled while measuring")
	case <-t.C:
		return nil
	}
}

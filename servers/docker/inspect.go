package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	inspectChars = 8000
	listMost     = 60 // mounts, networks, variables and labels that are given
)

type inspectOutput struct {
	ID           string          `json:"id" jsonschema:"the id in full"`
	Name         string          `json:"name" jsonschema:"name of the container"`
	Image        string          `json:"image" jsonschema:"image as it was named"`
	ImageID      string          `json:"image_id" jsonschema:"the image's id, first 12 characters"`
	Command      string          `json:"command" jsonschema:"entry point and arguments, secrets masked"`
	Created      string          `json:"created" jsonschema:"when it was made, UTC"`
	State        inspectState    `json:"state" jsonschema:"what it does, and how it ended"`
	Health       *inspectHealth  `json:"health,omitempty" jsonschema:"its health check, where it has one"`
	Restart      inspectRestart  `json:"restart" jsonschema:"how often it was restarted, and when it is"`
	Limits       inspectLimits   `json:"limits" jsonschema:"limits of its resources; 0 is none"`
	Mounts       []inspectMount  `json:"mounts" jsonschema:"what of the host and of volumes it sees"`
	NetworkMode  string          `json:"network_mode" jsonschema:"bridge, host, none, container:ID or the name of a network"`
	Networks     []inspectNet    `json:"networks" jsonschema:"the networks it is in"`
	Ports        []string        `json:"ports" jsonschema:"ports, those of the host first"`
	Environment  []string        `json:"environment" jsonschema:"names of its environment variables; values are never given"`
	Labels       []string        `json:"labels" jsonschema:"labels, secrets masked"`
	LogDriver    string          `json:"log_driver" jsonschema:"where its log goes; json-file, local and journald can be read back"`
	Security     inspectSecurity `json:"security" jsonschema:"what it may do"`
	Driver       string          `json:"storage_driver,omitempty" jsonschema:"driver of its file system"`
	WorkingDir   string          `json:"working_dir,omitempty" jsonschema:"folder it starts in"`
	NotAllListed bool            `json:"not_all_listed" jsonschema:"whether mounts, networks, variables or labels are more than are given"`
}

type inspectState struct {
	Status     string `json:"status" jsonschema:"created, running, paused, restarting, exited, removing or dead"`
	Pid        int    `json:"pid,omitempty" jsonschema:"process id on the engine's machine"`
	ExitCode   int    `json:"exit_code" jsonschema:"exit code of its last end"`
	OOMKilled  bool   `json:"oom_killed" jsonschema:"whether the kernel ended it for want of memory"`
	Error      string `json:"error,omitempty" jsonschema:"why it could not be started"`
	StartedAt  string `json:"started_at,omitempty" jsonschema:"last start, UTC"`
	FinishedAt string `json:"finished_at,omitempty" jsonschema:"last end, UTC"`
}

type inspectHealth struct {
	Status        string `json:"status" jsonschema:"starting, healthy or unhealthy"`
	FailingStreak int    `json:"failing_streak" jsonschema:"failed checks in a row"`
	Check         string `json:"check,omitempty" jsonschema:"command of the check, secrets masked"`
	LastExitCode  int    `json:"last_exit_code" jsonschema:"exit code of the last check"`
	LastOutput    string `json:"last_output,omitempty" jsonschema:"what the last check printed, its first 300 characters, secrets masked"`
}

type inspectRestart struct {
	Policy  string `json:"policy" jsonschema:"no, always, on-failure or unless-stopped"`
	Maximum int    `json:"maximum,omitempty" jsonschema:"most tries of on-failure"`
	Count   int    `json:"count" jsonschema:"how often the engine restarted it"`
}

type inspectLimits struct {
	MemoryBytes     int64   `json:"memory_bytes" jsonschema:"most memory"`
	MemorySwapBytes int64   `json:"memory_swap_bytes" jsonschema:"most memory and swap together; -1 is no limit"`
	CPUs            float64 `json:"cpus" jsonschema:"processors it may use"`
	CPUShares       int64   `json:"cpu_shares" jsonschema:"weight against other containers"`
	CpusetCPUs      string  `json:"cpuset_cpus,omitempty" jsonschema:"processors it is tied to"`
	PIDs            int64   `json:"pids" jsonschema:"most processes and threads"`
	ShmBytes        int64   `json:"shm_bytes" jsonschema:"size of /dev/shm"`
}

type inspectMount struct {
	Type        string `json:"type" jsonschema:"bind, volume, tmpfs or npipe"`
	Source      string `json:"source" jsonschema:"folder of the host, or name of the volume"`
	Destination string `json:"destination" jsonschema:"where the container sees it"`
	ReadOnly    bool   `json:"read_only" jsonschema:"whether it may only read"`
}

type inspectNet struct {
	Name    string   `json:"name" jsonschema:"name of the network"`
	Address string   `json:"address,omitempty" jsonschema:"address with the length of the prefix"`
	IPv6    string   `json:"ipv6,omitempty" jsonschema:"IPv6 address"`
	Gateway string   `json:"gateway,omitempty" jsonschema:"gateway"`
	Names   []string `json:"names,omitempty" jsonschema:"names under which others find it there"`
}

type inspectSecurity struct {
	Privileged     bool     `json:"privileged" jsonschema:"whether it is as good as root on the host"`
	ReadOnlyRootfs bool     `json:"read_only_rootfs" jsonschema:"whether its own files cannot be changed"`
	User           string   `json:"user,omitempty" jsonschema:"user it runs as; empty is root, or the image's"`
	CapAdd         []string `json:"cap_add,omitempty" jsonschema:"capabilities it has besides the usual ones"`
	CapDrop        []string `json:"cap_drop,omitempty" jsonschema:"usual capabilities that it has not"`
	PidMode        string   `json:"pid_mode,omitempty" jsonschema:"host where it sees all processes"`
}

func (s *server) addInspect(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_inspect", Title: "Container in detail",
		Description: "Returns how one container is set up and what became of it: state, exit code, whether it ran out of memory, restarts and their policy, health check with its last output, limits, mounts, networks, ports, labels. Of environment variables only the names are given, never the values.",
	}}, inspect)
}

func inspect(ctx context.Context, e *engine, in nameInput) (string, inspectOutput, error) {
	res, err := e.ContainerInspect(ctx, in.Name, client.ContainerInspectOptions{})
	if err != nil {
		return "", inspectOutput{}, err
	}
	c := &res.Container
	if c.State == nil {
		c.State = &container.State{}
	}
	if c.Config == nil {
		c.Config = &container.Config{}
	}
	if c.HostConfig == nil {
		c.HostConfig = &container.HostConfig{}
	}
	out := setUp(c)
	out.State = stateOf(c.State)
	out.Health = healthOf(c)
	out.addNetworks(c)
	out.addMounts(c.Mounts)
	out.addNames(c.Config)
	return out.text(), *out, nil
}

func setUp(c *container.InspectResponse) *inspectOutput {
	h := c.HostConfig
	out := &inspectOutput{
		ID: answer.Line(c.ID, 64), Name: answer.Line(strings.TrimPrefix(c.Name, "/"), 128), Image: answer.Line(c.Config.Image, 200), ImageID: shortID(c.Image),
		Command: command(append([]string{c.Path}, c.Args...), 600), Created: moment(c.Created),
		Restart:     inspectRestart{string(h.RestartPolicy.Name), h.RestartPolicy.MaximumRetryCount, c.RestartCount},
		NetworkMode: answer.Line(string(h.NetworkMode), 128), LogDriver: answer.Line(h.LogConfig.Type, 40), Driver: answer.Line(c.Driver, 40), WorkingDir: answer.Line(c.Config.WorkingDir, 200),
		Limits: inspectLimits{
			MemoryBytes: h.Memory, MemorySwapBytes: h.MemorySwap, CPUs: round(float64(h.NanoCPUs) / 1e9),
			CPUShares: h.CPUShares, CpusetCPUs: answer.Line(h.CpusetCpus, 60), ShmBytes: h.ShmSize,
		},
		Security: inspectSecurity{
			Privileged: h.Privileged, ReadOnlyRootfs: h.ReadonlyRootfs, User: answer.Line(c.Config.User, 60),
			CapAdd: plainAll(h.CapAdd, 40), CapDrop: plainAll(h.CapDrop, 40), PidMode: answer.Line(string(h.PidMode), 80),
		},
	}
	if out.Restart.Policy == "" {
		out.Restart.Policy = "no"
	}
	if h.CPUQuota > 0 && h.CPUPeriod > 0 {
		out.Limits.CPUs = round(float64(h.CPUQuota) / float64(h.CPUPeriod))
	}
	if h.PidsLimit != nil && *h.PidsLimit > 0 {
		out.Limits.PIDs = *h.PidsLimit
	}
	return out
}

func stateOf(st *container.State) inspectState {
	out := inspectState{
		Status: answer.Line(string(st.Status), 20), Pid: st.Pid, ExitCode: st.ExitCode, OOMKilled: st.OOMKilled,
		Error: answer.Line(cmdmask.Text(answer.Cut(st.Error, 4000)), 400), StartedAt: moment(st.StartedAt), FinishedAt: moment(st.FinishedAt),
	}
	return out
}

func healthOf(c *container.InspectResponse) *inspectHealth {
	h := c.State.Health
	if h == nil || h.Status == container.NoHealthcheck {
		return nil
	}
	out := &inspectHealth{Status: answer.Line(string(h.Status), 20), FailingStreak: h.FailingStreak}
	if check := c.Config.Healthcheck; check != nil && len(check.Test) > 1 {
		args := check.Test[1:]
		if check.Test[0] == "CMD-SHELL" {
			args = append([]string{"sh", "-c"}, args...)
		}
		out.Check = command(args, 300)
	}
	if n := len(h.Log); n > 0 && h.Log[n-1] != nil {
		out.LastExitCode, out.LastOutput = h.Log[n-1].ExitCode, answer.Line(cmdmask.Text(answer.Cut(strings.TrimSpace(h.Log[n-1].Output), 2000)), 300)
	}
	return out
}

func (o *inspectOutput) addNetworks(c *container.InspectResponse) {
	o.Networks, o.Ports = []inspectNet{}, []string{}
	if c.NetworkSettings == nil {
		return
	}
	for _, name := range sortedKeys(c.NetworkSettings.Networks, &o.NotAllListed) {
		n := inspectNet{Name: answer.Line(name, 80)}
		if e := c.NetworkSettings.Networks[name]; e != nil {
			if e.IPAddress.IsValid() {
				n.Address = fmt.Sprintf("%s/%d", e.IPAddress, e.IPPrefixLen)
			}
			if e.GlobalIPv6Address.IsValid() {
				n.IPv6 = fmt.Sprintf("%s/%d", e.GlobalIPv6Address, e.GlobalIPv6PrefixLen)
			}
			if e.Gateway.IsValid() {
				n.Gateway = e.Gateway.String()
			}
			names := e.DNSNames
			if len(names) == 0 {
				names = e.Aliases
			}
			n.Names = plainAll(names, 80)
		}
		o.Networks = append(o.Networks, n)
	}
	o.Ports = append(o.Ports, bound(c.NetworkSettings.Ports)...)
	if len(o.Ports) > listMost {
		o.Ports, o.NotAllListed = o.Ports[:listMost], true
	}
}

// bound returns ports as docker ps writes them, each once.
func bound(m network.PortMap) []string {
	var out []string
	for port, bindings := range m {
		inside := answer.Line(port.String(), 40)
		if len(bindings) == 0 {
			out = append(out, inside)
		}
		for _, b := range bindings {
			at := "*"
			if b.HostIP.IsValid() && !b.HostIP.IsUnspecified() {
				at = address(b.HostIP)
			}
			out = append(out, at+":"+answer.Line(b.HostPort, 12)+"->"+inside)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *inspectOutput) addMounts(list []container.MountPoint) {
	o.Mounts = []inspectMount{}
	if len(list) > listMost {
		list, o.NotAllListed = list[:listMost], true
	}
	for _, m := range list {
		source := m.Source
		if m.Name != "" {
			source = m.Name
		}
		o.Mounts = append(o.Mounts, inspectMount{answer.Line(string(m.Type), 12), answer.Line(source, 200), answer.Line(m.Destination, 200), !m.RW})
	}
	slices.SortFunc(o.Mounts, func(a, b inspectMount) int { return strings.Compare(a.Destination, b.Destination) })
}

func (o *inspectOutput) addNames(c *container.Config) {
	env := map[string]bool{}
	for _, e := range c.Env {
		variable, _, _ := strings.Cut(e, "=")
		env[variable] = true
	}
	o.Environment, o.Labels = []string{}, []string{}
	for _, variable := range sortedKeys(env, &o.NotAllListed) {
		o.Environment = append(o.Environment, answer.Line(variable, 80))
	}
	for _, label := range sortedKeys(c.Labels, &o.NotAllListed) {
		value := cmdmask.Masked
		if !cmdmask.Secret(label) {
			value = cmdmask.Text(answer.Cut(c.Labels[label], 500))
		}
		o.Labels = append(o.Labels, answer.Line(label, 80)+"="+answer.Line(value, 120))
	}
}

// sortedKeys returns the keys of m in their order, and notes where they are too many.
func sortedKeys[V any](m map[string]V, more *bool) []string {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) > listMost {
		*more = true
		keys = keys[:listMost]
	}
	return keys
}

func plainAll(list []string, limit int) []string {
	var out []string
	for _, s := range list[:min(len(list), listMost)] {
		out = append(out, answer.Line(s, limit))
	}
	return out
}

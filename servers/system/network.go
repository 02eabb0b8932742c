package system

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	gonet "net"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds on the answers, in characters.
const (
	networkChars = 4000
	portsChars   = 6000
)

func addNetwork(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_local_network_status", Title: "Network status",
		Description: "Returns the network interfaces of this machine with their addresses, traffic, errors and drops since start, and how many TCP connections there are in each state.",
	}, networkStatus)
	typed.Add(srv, spec{
		Name: "list_listening_ports", Title: "Listening ports",
		Description: "Returns the TCP ports that this machine listens on and its open UDP ports, each with its address and the process that holds it. Answers which program holds a port and whether it is reachable from other machines.",
	}, listeningPorts)
}

type networkOutput struct {
	Interfaces []interfaceEntry `json:"interfaces" jsonschema:"those that are up first"`
	TCPStates  map[string]int   `json:"tcp_states" jsonschema:"how many connections there are in each state"`
}

type interfaceEntry struct {
	Name          string   `json:"name"`
	Up            bool     `json:"up"`
	Addresses     []string `json:"addresses" jsonschema:"with the length of the network"`
	ReceivedBytes uint64   `json:"received_bytes" jsonschema:"since start"`
	SentBytes     uint64   `json:"sent_bytes" jsonschema:"since start"`
	Errors        uint64   `json:"errors" jsonschema:"in both directions, since start"`
	Drops         uint64   `json:"drops" jsonschema:"in both directions, since start"`
}

func networkStatus(ctx context.Context, _ noInput) (string, networkOutput, error) {
	out := networkOutput{Interfaces: []interfaceEntry{}, TCPStates: map[string]int{}}
	interfaces, err := net.InterfacesWithContext(ctx)
	if err != nil {
		return "", out, fmt.Errorf("list interfaces: %w", err)
	}
	counters := map[string]net.IOCountersStat{}
	if list, err := net.IOCountersWithContext(ctx, true); err == nil {
		for _, c := range list {
			counters[c.Name] = c
		}
	}
	for _, i := range interfaces {
		e := interfaceEntry{Name: plain(i.Name, 24), Up: slices.Contains(i.Flags, "up"), Addresses: []string{}}
		for _, a := range i.Addrs {
			e.Addresses = append(e.Addresses, plain(a.Addr, 60))
		}
		c := counters[i.Name]
		e.ReceivedBytes, e.SentBytes, e.Errors, e.Drops = c.BytesRecv, c.BytesSent, c.Errin+c.Errout, c.Dropin+c.Dropout
		out.Interfaces = append(out.Interfaces, e)
	}
	// Those that are up first: a container host has hundreds that are not.
	slices.SortStableFunc(out.Interfaces, func(a, b interfaceEntry) int { return cmp.Compare(btoi(b.Up), btoi(a.Up)) })
	out.Interfaces = out.Interfaces[:min(len(out.Interfaces), 200)]
	var rows [][]string
	for _, e := range out.Interfaces {
		row := []string{e.Name, "down", plain(strings.Join(e.Addresses, " "), 90), "", "", ""}
		if e.Up {
			row[1] = "up"
		}
		if _, ok := counters[e.Name]; ok {
			row[3], row[4], row[5] = size(e.ReceivedBytes), size(e.SentBytes), fmt.Sprintf("%d / %d", e.Errors, e.Drops)
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	b.WriteString("## Network\n\n" + tcpStates(ctx, out.TCPStates) + "\n")
	b.WriteString(answer.Table([]string{"interface", "state", "addresses", "received", "sent", "errors / drops"}, rows, networkChars-b.Len()))
	return b.String(), out, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tcpStates counts the connections in each state, and says how many there are.
func tcpStates(ctx context.Context, states map[string]int) string {
	connections, err := net.ConnectionsWithoutUidsWithContext(ctx, "tcp")
	if err != nil {
		return "TCP connections: not readable.\n"
	}
	for _, c := range connections {
		states[c.Status]++
	}
	if len(states) == 0 {
		return "TCP connections: none.\n"
	}
	return "TCP connections: " + counts(states) + ".\n"
}

// counts prints "12 ESTABLISHED, 3 TIME_WAIT", the most first.
func counts(n map[string]int) string {
	keys := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
	}
	return strings.Join(parts, ", ")
}

type socket struct {
	protocol, address string
	port              uint32
	pid               int32
}

type portsOutput struct {
	Ports []portEntry `json:"ports" jsonschema:"by protocol and number"`
}

type portEntry struct {
	Protocol  string `json:"protocol" jsonschema:"tcp or udp"`
	Address   string `json:"address" jsonschema:"that it is bound to"`
	Port      uint32 `json:"port"`
	Reachable string `json:"reachable_from" jsonschema:"by the address alone: everywhere, its network, or this machine"`
	PID       int32  `json:"pid,omitempty" jsonschema:"process that holds it; left out where this user may not see it"`
	Process   string `json:"process,omitempty" jsonschema:"name of the process"`
}

func listeningPorts(ctx context.Context, _ noInput) (string, portsOutput, error) {
	out := portsOutput{Ports: []portEntry{}}
	connections, err := net.ConnectionsWithoutUidsWithContext(ctx, "inet")
	if err != nil {
		return "", out, fmt.Errorf("list sockets: %w", err)
	}
	var found []socket
	for _, c := range connections {
		const tcp, udp = 1, 2 // SOCK_STREAM and SOCK_DGRAM, on every system
		switch {
		case c.Type == tcp && c.Status == "LISTEN":
			found = append(found, socket{"tcp", c.Laddr.IP, c.Laddr.Port, c.Pid})
		case c.Type == udp && c.Raddr.Port == 0:
			found = append(found, socket{"udp", c.Laddr.IP, c.Laddr.Port, c.Pid})
		}
	}
	if len(found) == 0 {
		return "No port is open, or this process may not see it.", out, nil
	}
	slices.SortFunc(found, func(a, b socket) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.port, b.port), cmp.Compare(a.address, b.address), cmp.Compare(a.pid, b.pid))
	})
	found = slices.Compact(found)
	names := map[int32]string{}
	rows := make([][]string, 0, len(found))
	hidden := false
	for _, s := range found {
		owner, e := "?", portEntry{Protocol: s.protocol, Address: s.address, Port: s.port, Reachable: reach(s.address)}
		if s.pid > 0 {
			e.PID, e.Process = s.pid, processName(ctx, s.pid, names)
			owner = strconv.Itoa(int(s.pid)) + " " + e.Process
		}
		out.Ports = append(out.Ports, e)
		hidden = hidden || s.pid <= 0
		rows = append(rows, []string{s.protocol, endpoint(s.address, s.port), reach(s.address), owner})
	}
	const title = "## Listening ports\n\n"
	note := ""
	if hidden {
		note = "\n? is a process that this user may not see.\n"
	}
	return title + answer.Table([]string{"", "address", "reachable from", "process"}, rows, portsChars-len(title)-len(note)) + note, out, nil
}

func processName(ctx context.Context, pid int32, known map[int32]string) string {
	if name, ok := known[pid]; ok {
		return name
	}
	name := ""
	if p, err := process.NewProcessWithContext(ctx, pid); err == nil {
		if n, err := p.NameWithContext(ctx); err == nil {
			name = plain(n, 40)
		}
	}
	known[pid] = name
	return name
}

// reach says from where a listening address can be reached, as far as the
// address alone says so: a firewall may say less.
func reach(address string) string {
	ip := gonet.ParseIP(address)
	switch {
	case address == "*" || ip.IsUnspecified():
		return "everywhere"
	case ip.IsLoopback():
		return "this machine"
	}
	return "its network"
}

func endpoint(ip string, port uint32) string {
	return gonet.JoinHostPort(ip, strconv.FormatUint(uint64(port), 10))
}

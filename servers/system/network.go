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
)

// Bounds on the answers, in characters.
const (
	networkChars = 4000
	portsChars   = 6000
)

func addNetwork(srv *mcp.Server) {
	add(srv, spec{
		name: "get_local_network_status", title: "Network status",
		description: "Returns the network interfaces of this machine with their addresses, traffic, errors and drops since start, and how many TCP connections there are in each state.",
	}, networkStatus)
	add(srv, spec{
		name: "list_listening_ports", title: "Listening ports",
		description: "Returns the TCP ports that this machine listens on and its open UDP ports, each with its address and the process that holds it. Answers which program holds a port and whether it is reachable from other machines.",
	}, listeningPorts)
}

func networkStatus(ctx context.Context, _ noInput) (string, error) {
	interfaces, err := net.InterfacesWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("list interfaces: %w", err)
	}
	counters := map[string]net.IOCountersStat{}
	if list, err := net.IOCountersWithContext(ctx, true); err == nil {
		for _, c := range list {
			counters[c.Name] = c
		}
	}
	var rows [][]string
	for _, i := range interfaces {
		state := "down"
		if slices.Contains(i.Flags, "up") {
			state = "up"
		}
		var addresses []string
		for _, a := range i.Addrs {
			addresses = append(addresses, a.Addr)
		}
		row := []string{plain(i.Name, 24), state, plain(strings.Join(addresses, " "), 90), "", "", ""}
		if c, ok := counters[i.Name]; ok {
			row[3], row[4] = size(c.BytesRecv), size(c.BytesSent)
			row[5] = fmt.Sprintf("%d / %d", c.Errin+c.Errout, c.Dropin+c.Dropout)
		}
		rows = append(rows, row)
	}
	// Those that are up first: a container host has hundreds that are not.
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(b[1], a[1]) })
	var b strings.Builder
	b.WriteString("## Network\n\n" + tcpStates(ctx) + "\n")
	b.WriteString(table([]string{"interface", "state", "addresses", "received", "sent", "errors / drops"}, rows, networkChars-b.Len()))
	return b.String(), nil
}

func tcpStates(ctx context.Context) string {
	connections, err := net.ConnectionsWithoutUidsWithContext(ctx, "tcp")
	if err != nil {
		return "TCP connections: not readable.\n"
	}
	states := map[string]int{}
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

func listeningPorts(ctx context.Context, _ noInput) (string, error) {
	connections, err := net.ConnectionsWithoutUidsWithContext(ctx, "inet")
	if err != nil {
		return "", fmt.Errorf("list sockets: %w", err)
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
		return "No port is open, or this process may not see it.", nil
	}
	slices.SortFunc(found, func(a, b socket) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.port, b.port), cmp.Compare(a.address, b.address), cmp.Compare(a.pid, b.pid))
	})
	found = slices.Compact(found)
	names := map[int32]string{}
	rows := make([][]string, 0, len(found))
	hidden := false
	for _, s := range found {
		owner := "?"
		if s.pid > 0 {
			owner = strconv.Itoa(int(s.pid)) + " " + processName(ctx, s.pid, names)
		}
		hidden = hidden || s.pid <= 0
		rows = append(rows, []string{s.protocol, endpoint(s.address, s.port), reach(s.address), owner})
	}
	const title = "## Listening ports\n\n"
	note := ""
	if hidden {
		note = "\n? is a process that this user may not see.\n"
	}
	return title + table([]string{"", "address", "reachable from", "process"}, rows, portsChars-len(title)-len(note)) + note, nil
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

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	probing "github.com/prometheus-community/pro-bing"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const pingChars = 2500

// pingWait is how long the last reply is waited for.
const pingWait = 2 * time.Second

type pingInput struct {
	Host  string `json:"host" jsonschema:"name or address of the host"`
	Count int    `json:"count,omitempty" jsonschema:"how many packets, one a second, 1 to 10; a number outside is brought to the nearest"`
}

type pingOutput struct {
	Address  string  `json:"address" jsonschema:"address that was pinged"`
	Sent     int     `json:"sent" jsonschema:"packets sent"`
	Received int     `json:"received" jsonschema:"packets that came back"`
	MinMS    float64 `json:"min_ms,omitempty" jsonschema:"shortest round trip"`
	AvgMS    float64 `json:"avg_ms,omitempty" jsonschema:"mean round trip"`
	MaxMS    float64 `json:"max_ms,omitempty" jsonschema:"longest round trip"`
}

func (s *server) addPing(srv *mcp.Server) {
	add(srv, spec{
		Name: "ping_host", Title: "Ping",
		Description: "Sends ICMP echo requests to a host, one a second, and returns which came back, round-trip times and packet loss. Many hosts do not answer pings though they are up: check_port tells more about those. Internal hosts are refused unless the operator opened them.",
		Defaults:    map[string]any{"count": 4},
		Bounds:      map[string][2]int{"count": {1, 10}},
	}, s.ping)
}

func (s *server) ping(ctx context.Context, in pingInput) (string, pingOutput, error) {
	count := clamp(in.Count, 1, 10)
	t, err := s.guard.Resolve(ctx, in.Host, 0)
	if err != nil {
		return "", pingOutput{}, err
	}
	var lines []string
	p, err := echo(ctx, t, count, func(r *probing.Packet) {
		lines = append(lines, fmt.Sprintf("reply from %s: seq=%d ttl=%d time=%s", r.IPAddr, r.Seq+1, r.TTL, ms(r.Rtt)))
	})
	switch {
	case ctx.Err() != nil:
		return "", pingOutput{}, errors.New("canceled")
	case isPermission(err):
		return "", pingOutput{}, errors.New(mayNotPing("ping_host"))
	case err != nil:
		return "", pingOutput{}, fmt.Errorf("ping %s: %s. check_port may tell more", t.Name, plain(err.Error(), 200))
	}
	stats := p.Statistics()
	if stats.PacketsRecv < stats.PacketsSent {
		lines = append(lines, fmt.Sprintf("%d of %d not answered", stats.PacketsSent-stats.PacketsRecv, stats.PacketsSent))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Ping %s (%s)\n\n```\n%s\n", t.Name, stats.IPAddr, strings.Join(lines, "\n"))
	fmt.Fprintf(&b, "%d sent, %d received, %.0f %% lost\n", stats.PacketsSent, stats.PacketsRecv, stats.PacketLoss)
	if stats.PacketsRecv > 0 {
		fmt.Fprintf(&b, "round trip min/avg/max = %s / %s / %s\n", ms(stats.MinRtt), ms(stats.AvgRtt), ms(stats.MaxRtt))
	}
	b.WriteString("```\n")
	if stats.PacketsRecv == 0 {
		b.WriteString("No reply. The host may be down, or may not answer pings: try check_port with a port that it should serve.\n")
	}
	out := pingOutput{Address: stats.IPAddr.String(), Sent: stats.PacketsSent, Received: stats.PacketsRecv}
	if stats.PacketsRecv > 0 {
		out.MinMS, out.AvgMS, out.MaxMS = millis(stats.MinRtt), millis(stats.AvgRtt), millis(stats.MaxRtt)
	}
	return b.String(), out, nil
}

// echo sends the packets. Most systems let every program ping by a socket made
// for that, which some are set up not to give; the raw socket of the privileged is
// tried then. Windows has the latter only.
func echo(ctx context.Context, t egress.Target, count int, onReply func(*probing.Packet)) (*probing.Pinger, error) {
	run := func(privileged bool) (*probing.Pinger, error) {
		p := probing.New("")
		p.SetIPAddr(&net.IPAddr{IP: t.Addrs[0].AsSlice()}) // checked: nothing is resolved again
		p.SetLogger(probing.NoopLogger{})
		p.SetPrivileged(privileged)
		p.Count, p.Timeout = count, time.Duration(count)*time.Second+pingWait
		p.OnRecv = onReply
		return p, p.RunWithContext(ctx)
	}
	if runtime.GOOS == "windows" {
		return run(true)
	}
	p, err := run(false)
	if isPermission(err) {
		return run(true)
	}
	return p, err
}

// isPermission reports whether a socket was denied. A kernel that has no sockets
// for pings says that it does not know the protocol.
func isPermission(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EPROTONOSUPPORT)
}

// mayNotPing says what an operator can do so that a tool may send ICMP packets.
func mayNotPing(tool string) string {
	s := tool + " may not send ICMP packets here. Use check_port in its place, or let an operator allow it: "
	switch runtime.GOOS {
	case "linux":
		if tool == "ping_host" {
			s += `"sysctl -w net.ipv4.ping_group_range='0 2147483647'" lets every user ping, or `
		}
		return s + `"setcap cap_net_raw+ep" on the program file gives the right to this program alone (in a container: the capability NET_RAW)`
	case "windows":
		return s + "run this server as an administrator"
	}
	return s + "run this server as root"
}

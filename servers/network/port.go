package network

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const portChars = 1000

type portInput struct {
	Host       string  `json:"host" jsonschema:"name or address of the host"`
	Port       int     `json:"port" jsonschema:"TCP port, 1 to 65535"`
	TimeoutSec float64 `json:"timeout_sec,omitempty" jsonschema:"seconds to wait, 0.5 to 10; a number outside is brought to the nearest"`
}

type portOutput struct {
	State     string  `json:"state" jsonschema:"open, refused, timeout or unreachable"`
	Address   string  `json:"address,omitempty" jsonschema:"address and port that answered"`
	ElapsedMS float64 `json:"elapsed_ms" jsonschema:"how long it took"`
}

func (s *server) addPort(srv *mcp.Server) {
	add(srv, spec{
		Name: "check_port", Title: "Check port",
		Description: "Tries to open a TCP connection to a port of a host and says whether it is reachable, refused, or does not answer in time (perhaps for a firewall). Sends nothing over the connection. Internal hosts are refused unless the operator opened them.",
		Defaults:    map[string]any{"timeout_sec": 3},
	}, s.checkPort)
}

// checkPort says what came of a connection. That a port is closed is an answer
// and no error: it is what was asked.
func (s *server) checkPort(ctx context.Context, in portInput) (string, portOutput, error) {
	if err := checkPortNumber(in.Port); err != nil {
		return "", portOutput{}, err
	}
	limit := seconds(in.TimeoutSec, 0.5, 10)
	t, err := s.guard.Resolve(ctx, in.Host, in.Port)
	if err != nil {
		return "", portOutput{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	at := net.JoinHostPort(t.Name, strconv.Itoa(in.Port))
	start := time.Now()
	conn, err := s.guard.Connect(ctx, "tcp", t, uint16(in.Port))
	elapsed := time.Since(start)
	out := portOutput{ElapsedMS: millis(elapsed)}
	switch {
	case err == nil:
		out.State, out.Address = "open", conn.RemoteAddr().String()
		conn.Close()
		return fmt.Sprintf("%s is reachable: %s answered in %s.", at, out.Address, ms(elapsed)), out, nil
	case isRefused(err):
		out.State = "refused"
		return fmt.Sprintf("%s refused the connection after %s: the host is up, but nothing listens on that port.", at, ms(elapsed)), out, nil
	case isTimeout(err):
		out.State = "timeout"
		return fmt.Sprintf("%s did not answer within %s. A firewall may drop the connection, or the host is down; ping_host or traceroute may tell.", at, limit), out, nil
	case ctx.Err() != nil:
		return "", out, failure(at, ctx.Err(), limit)
	}
	out.State = "unreachable"
	return fmt.Sprintf("%s is not reachable: %s.", at, plain(err.Error(), 300)), out, nil
}

package dockerhost

import (
	"context"
	"net"
	"strings"

	"github.com/Microsoft/go-winio"
)

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return winio.DialPipeContext(ctx, strings.ReplaceAll(path, "/", `\`))
}

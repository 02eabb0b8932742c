// Command cmd serves the doubles on one port of loopback, for a look by hand or for a
// program under test: each below its name, and what is to go wrong by POST /faults/NAME
// with a Fault as JSON, or DELETE for nothing.
//
//	go run ./internal/upstreamtest/doubles/cmd -listen 127.0.0.1:9090
//	curl -d '{"status": 429, "retry_after": "1", "times": 1}' http://127.0.0.1:9090/faults/jina
//	curl http://127.0.0.1:9090/jina/http://harbour.example/lighthouse
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9090", "address to listen on")
	flag.Parse()
	srv := &http.Server{Addr: *listen, Handler: doubles.Handler(doubles.NewWeb()), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(os.Stderr, "doubles listen on http://%s; their key is %s\n", *listen, doubles.Key)
	fmt.Fprintln(os.Stderr, "error:", srv.ListenAndServe())
}

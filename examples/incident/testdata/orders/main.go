// Command orders is the service of the incident: it writes an order to its disk every moment,
// and ends when it cannot.
package main

import (
	"bytes"
	"fmt"
	"os"
)

func main() {
	f, err := os.OpenFile("/data/queue", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(bytes.Repeat([]byte("order\n"), 1<<16))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal: cannot keep the order:", err)
		os.Exit(1)
	}
	select {}
}

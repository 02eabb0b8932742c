// Command guest is what runs in the containers of the tests. Its first argument
// says what it does:
//
//	talk N          N lines on both streams, of several levels
//	fill MIB SIZE   so many MiB of lines of SIZE bytes
//	burn            a processor in full
//	write           files that are not of the image
//	fail CODE       an end with that code
//	check           what a health check would: fails while /bad is there
//
// All but fail and check go on until they are told to end.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	number := func(i int) int {
		n, _ := strconv.Atoi(os.Args[i])
		return n
	}
	switch os.Args[1] {
	case "talk":
		talk(number(2))
	case "fill":
		fill(number(2), number(3))
	case "burn":
		go func() {
			for i := 0; ; i++ {
			}
		}()
	case "write":
		_ = os.WriteFile("/new file", make([]byte, 100_000), 0o600)
		_ = os.MkdirAll("/etc/app", 0o700)
		_ = os.WriteFile("/etc/app/conf", nil, 0o600)
		_ = os.Remove("/seed")
	case "fail":
		fmt.Fprintln(os.Stderr, "FATAL: cannot open the database")
		os.Exit(number(2))
	case "check":
		fmt.Println("checked")
		return
	}
	<-time.After(200 * time.Millisecond) // so that this is the last line, whichever stream is read first
	fmt.Println("ready")
	<-end
	fmt.Println("told to end")
}

func talk(n int) {
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Printf("INFO request %d served\n", i)
		case 1:
			fmt.Fprintf(os.Stderr, "{\"level\":\"error\",\"msg\":\"request %d failed\"}\n", i)
		case 2:
			fmt.Printf("level=warn msg=\"request %d is slow\"\n", i)
		case 3:
			fmt.Fprintf(os.Stderr, "ERROR request %d\n\tat a.go:1\n", i)
		case 4:
			fmt.Printf("\x1b[32mplain %d\x1b[0m \x07 \u200b\n", i)
		}
	}
}

func fill(mib, size int) {
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	text := strings.Repeat("x", size)
	for i := range mib << 20 / size {
		fmt.Fprintf(w, "%d %s\n", i, text)
	}
	_ = w.Flush()
}

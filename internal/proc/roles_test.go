package proc_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// A role is what the test binary does as a child; it returns the exit status.
type role func(arg string) int

func roles() map[string]role {
	all := map[string]role{
		"exit":     exits,
		"cat":      cat,
		"slow":     slow,
		"deaf":     deaf,
		"stubborn": stubborn,
		"flood":    flood,
		"say":      say,
	}
	maps.Copy(all, systemRoles())
	maps.Copy(all, limitRoles())
	return all
}

// exits leaves at once with the status arg.
func exits(arg string) int {
	fmt.Fprintln(os.Stderr, "leaving with", arg)
	code, err := strconv.Atoi(arg)
	if err != nil {
		panic(err)
	}
	return code
}

// cat is a well-behaved server: it answers, and leaves at the end of its input.
// With an arg it says first that it is there.
func cat(arg string) int {
	if arg != "" {
		announce(arg)
	}
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	return 0
}

// slow needs some time after the end of its input.
func slow(string) int {
	announce("slow")
	_, _ = io.Copy(io.Discard, os.Stdin)
	<-time.After(300 * time.Millisecond)
	return 7
}

// deaf never looks at its input.
func deaf(arg string) int {
	announce("deaf" + arg)
	<-time.After(time.Hour)
	return 0
}

// stubborn does not even leave when it is asked to.
func stubborn(arg string) int {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	return deaf(arg)
}

// flood writes arg MiB to standard error and leaves.
func flood(arg string) int {
	n, err := strconv.Atoi(arg)
	if err != nil {
		panic(err)
	}
	line := append(bytes.Repeat([]byte("x"), 127), '\n')
	block := bytes.Repeat(line, 1<<20/len(line))
	for range n {
		if _, err := os.Stderr.Write(block); err != nil {
			return 1
		}
	}
	fmt.Fprintln(os.Stderr, "the last line")
	return 0
}

// say writes arg to standard output and leaves.
func say(arg string) int {
	fmt.Fprintln(os.Stdout, arg)
	return 0
}

func announce(name string) {
	fmt.Fprintf(os.Stdout, "pid %s %d\n", name, os.Getpid())
}

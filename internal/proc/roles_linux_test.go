package proc_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limitRoles are children that reach for what they may not have.
func limitRoles() map[string]role {
	return map[string]role{"try": try, "eat": eat, "spin": spin, "breed": breed, "open": openMany}
}

// try does each of "VERB TARGET;…" and says what came of it, a line each.
func try(arg string) int {
	for what := range strings.SplitSeq(arg, ";") {
		verb, target, _ := strings.Cut(what, " ")
		var err error
		switch verb {
		case "read":
			_, err = os.ReadFile(target)
		case "list":
			_, err = os.ReadDir(target)
		case "write":
			err = os.WriteFile(target, []byte("x"), 0o600)
		case "open": // for writing, and writes nothing: what is tried may be a file of the system
			var f *os.File
			if f, err = os.OpenFile(target, os.O_WRONLY, 0); err == nil {
				err = f.Close()
			}
		case "truncate":
			err = os.Truncate(target, 0)
		case "remove":
			err = os.Remove(target)
		case "run":
			err = exec.Command(target).Run()
		case "kill":
			pid, _ := strconv.Atoi(target)
			err = syscall.Kill(pid, 0)
		case "tcp", "udp", "unix":
			var d net.Dialer
			var c net.Conn
			if c, err = d.DialContext(context.Background(), verb, target); err == nil {
				_ = c.Close()
			}
		case "listen":
			var l net.Listener
			if l, err = new(net.ListenConfig).Listen(context.Background(), "tcp", target); err == nil {
				_ = l.Close()
			}
		default:
			panic(verb)
		}
		said := "ok"
		if err != nil {
			said = err.Error()
		}
		fmt.Printf("%s: %s\n", what, said)
	}
	return 0
}

// eat takes arg MiB of memory and says so.
func eat(arg string) int {
	n, _ := strconv.Atoi(arg)
	var all [][]byte
	for range n {
		all = append(all, bytes.Repeat([]byte("x"), 1<<20))
	}
	fmt.Println("ate", len(all))
	return 0
}

// spin says how much processor time it got in a while, in percent of a core.
func spin(string) int {
	const while = 600 * time.Millisecond
	var spinning sync.WaitGroup
	end := time.Now().Add(while)
	for range 4 {
		spinning.Go(func() {
			for time.Now().Before(end) {
				continue
			}
		})
	}
	spinning.Wait()
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	fmt.Println(int64(time.Duration(used.Utime.Nano()+used.Stime.Nano()) * 100 / while))
	return 0
}

// breed starts arg processes and says how many there are.
func breed(arg string) int {
	n, _ := strconv.Atoi(arg)
	made := 0
	for range n {
		if exec.Command("sleep", "30").Start() != nil {
			break
		}
		made++
	}
	fmt.Println(made)
	return 1
}

// openMany opens arg files and says how many it could.
func openMany(arg string) int {
	n, _ := strconv.Atoi(arg)
	var files []*os.File
	for range n {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		files = append(files, f)
	}
	fmt.Println(len(files))
	return 0
}

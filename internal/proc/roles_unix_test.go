//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

func systemRoles() map[string]role {
	return map[string]role{
		"tree":     family,
		"orphaner": orphaner,
		"holder":   holder,
		"bare":     bare,
		"gateway":  gateway,
	}
}

// treeSize is how many processes a family has.
const treeSize = 5

// family starts helpers in every way they come: in the same group, in a group
// of its own, in a session of its own, and forked twice so that its parent is
// gone. All tell their pids on the standard output that they inherit. None
// looks at its input, and arg names what they are.
func family(arg string) int {
	run(arg, "-same", syscall.SysProcAttr{})
	run(arg, "-group", syscall.SysProcAttr{Setpgid: true})
	run(arg, "-session", syscall.SysProcAttr{Setsid: true})
	if err := helper("orphaner", arg, syscall.SysProcAttr{}).Run(); err != nil {
		panic(err)
	}
	return roles()[arg]("-root")
}

// orphaner leaves a helper in a session of its own and goes.
func orphaner(arg string) int {
	run(arg, "-orphan", syscall.SysProcAttr{Setsid: true})
	return 0
}

// holder goes at once and leaves a helper that holds all of its pipes open.
func holder(arg string) int {
	run(arg, "-holder", syscall.SysProcAttr{Setsid: true})
	return 5
}

// bare starts a helper in a session of its own and without the environment that
// would give it away, and stays until it is asked to end. arg names what the
// helper is.
func bare(arg string) int {
	c := exec.Command("/usr/bin/env", "-i", roleVar+"="+arg, argVar+"=-bare", os.Args[0])
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		panic(err)
	}
	return deaf("-root")
}

func run(role, arg string, attr syscall.SysProcAttr) {
	if err := helper(role, arg, attr).Start(); err != nil {
		panic(err)
	}
}

func helper(role, arg string, attr syscall.SysProcAttr) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVar+"="+role, argVar+"="+arg)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &attr
	return c
}

// gatewaySize is how many processes a gateway has below it.
const gatewaySize = treeSize + 4

// gateway keeps trees as a program does that uses the package, relays what they
// say, and then does what arg tells: it stays, or leaves without stopping them.
func gateway(arg string) int {
	s := proc.New(proc.Options{})
	shell := proc.Command{Path: "sh", Args: []string{"-c", `
		sleep 1000 & echo pid shell-one $!
		sleep 1000 & echo pid shell-two $!
		echo pid shell-root $$; wait`}, Env: proc.Environ(os.Environ(), nil)}
	// Only its session gives the helper away once its parent is gone.
	bare := shell
	bare.Args = []string{"-c", "env -i sleep 1000 & echo pid bare $!; wait"}
	all := command("tree", "stubborn")
	var relays sync.WaitGroup
	for _, c := range []proc.Command{all, shell, bare} {
		p, err := s.Start(context.Background(), c)
		if err != nil {
			panic(err)
		}
		relays.Go(func() {
			lines := bufio.NewScanner(p.Stdout())
			for lines.Scan() {
				fmt.Println(lines.Text())
			}
		})
	}
	if arg == "leaves" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	<-time.After(time.Hour)
	relays.Wait()
	return 0
}

package usage_test

import (
	"os"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/bench/usage"
)

func TestCPUCountsFinerThanTicks(t *testing.T) {
	p := usage.Of(os.Getpid())
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	// One burst after the other until the clock moved: a loaded machine may
	// give this process little time, but not none.
	const tick = time.Second / usage.TicksPerSecond
	for used := time.Duration(0); used == 0; {
		for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			continue // burn CPU time of this process
		}
		after, err := p.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if used = after - before; used < 0 || used > 100*tick {
			t.Fatalf("1 ms of spinning cost %v", used)
		}
	}
	if after, _ := p.CPU(); after%tick == 0 {
		t.Errorf("CPU = %v, a whole number of ticks: the fine clock was not used", after)
	}
}

func TestMemory(t *testing.T) {
	p := usage.Of(os.Getpid())
	if err := p.ResetPeak(); err != nil {
		t.Skipf("this kernel does not reset the peak: %v", err)
	}
	before, err := p.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	block := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		block[i] = 1 // makes the page resident
	}
	now, err := p.RSS()
	if err != nil {
		t.Fatal(err)
	}
	peak, err := p.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	const slack = 8 << 20 // the test's own heap moves too
	if grown := peak - before; grown < size-slack {
		t.Errorf("the peak grew by %d bytes after %d were touched", grown, size)
	}
	if now < size-slack {
		t.Errorf("RSS = %d with %d bytes in use (first: %d)", now, size, block[0])
	}
}

func TestEndedProcess(t *testing.T) {
	p := usage.Of(1<<22 + 1) // above the largest number that the kernel gives
	if _, err := p.CPU(); err == nil {
		t.Error("CPU of no process: want an error")
	}
	if _, err := p.RSS(); err == nil {
		t.Error("RSS of no process: want an error")
	}
	if _, err := p.PeakRSS(); err == nil {
		t.Error("PeakRSS of no process: want an error")
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	if free, err := usage.Available(); err != nil || free < 1<<20 || free > 1<<50 {
		t.Errorf("Available = %d, %v", free, err)
	}
}

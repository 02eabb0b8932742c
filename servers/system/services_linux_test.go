package system_test

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/system"
)

// bus runs a real D-Bus of its own and returns its address.
func bus(t *testing.T) string {
	t.Helper()
	program := testenv.Program(t, "dbus-daemon")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "--session", "--nofork", "--print-address=1", "--address=unix:dir="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// fakeSystemd answers as systemd's manager does.
type fakeSystemd struct{ hang chan struct{} }

type fakeUnit struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	JobID                                           uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

func (f fakeSystemd) ListUnits() ([]fakeUnit, *dbus.Error) {
	row := func(name, description, load, active, sub string) fakeUnit {
		return fakeUnit{name, description, load, active, sub, "", "/x", 0, "", "/"}
	}
	return []fakeUnit{
		row("cron.service", "Regular jobs", "loaded", "active", "running"), row("nginx.service", "A web\x1b[31m server", "loaded", "failed", "failed"),
		row("old.service", "", "not-found", "inactive", "dead"), row("dev-sda.device", "Disk", "loaded", "active", "plugged"), row("apt.service", "Packages", "loaded", "inactive", "dead"),
	}, nil
}

func (f fakeSystemd) LoadUnit(name string) (dbus.ObjectPath, *dbus.Error) {
	switch name {
	case "hang.service":
		<-f.hang
	case "nginx.service":
		return "/org/freedesktop/systemd1/unit/nginx", nil
	}
	return "/org/freedesktop/systemd1/unit/none", nil
}

// fakeProperties are those of one unit.
type fakeProperties map[string]map[string]dbus.Variant

func (p fakeProperties) GetAll(face string) (map[string]dbus.Variant, *dbus.Error) {
	return p[face], nil
}

func serveSystemd(t *testing.T, address string) {
	t.Helper()
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang); conn.Close() })
	v := dbus.MakeVariant
	const unit = "org.freedesktop.systemd1.Unit"
	for _, e := range []error{
		conn.Export(fakeSystemd{hang}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"),
		conn.Export(fakeProperties{
			unit:                               {"Description": v("A web server"), "LoadState": v("loaded"), "ActiveState": v("failed"), "SubState": v("failed"), "UnitFileState": v("enabled"), "StateChangeTimestamp": v(uint64(1893456000000000)), "FragmentPath": v("/lib/systemd/system/nginx.service")},
			"org.freedesktop.systemd1.Service": {"MainPID": v(uint32(0)), "NRestarts": v(uint32(5)), "ExecMainStatus": v(int32(1)), "Result": v("exit-code"), "MemoryCurrent": v(uint64(1<<64 - 1)), "TasksCurrent": v(uint64(3))},
		}, "/org/freedesktop/systemd1/unit/nginx", "org.freedesktop.DBus.Properties"),
		conn.Export(fakeProperties{unit: {"LoadState": v("not-found")}}, "/org/freedesktop/systemd1/unit/none", "org.freedesktop.DBus.Properties"),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	if r, err := conn.RequestName("org.freedesktop.systemd1", dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(r, err)
	}
}

func TestServices(t *testing.T) {
	address := bus(t)
	serveSystemd(t, address)
	cs := connectTo(t, system.WithManager(system.Systemd(address)))
	text, isError := call(t, cs, "list_services", nil)
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^## Services: 3 of 3$`, `^\| nginx \| failed \| failed \(failed\) \| A web\?\[31m server \|\n\| cron \| running \| active \(running\) \| Regular jobs \|\n\| apt \| stopped \|`)
	text, _ = call(t, cs, "list_services", map[string]any{"state": "running", "filter": "JOBS", "limit": -5})
	mustMatch(t, text, `^## Services: 1 of 1$`)
	text, isError = call(t, cs, "get_service_status", map[string]any{"name": "nginx"})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^## nginx\.service: failed$`, `^- exit status: 1$`, `^- restarts: 5$`, `^- result: exit-code$`, `^- starts by itself: enabled$`, `^- state since: 2030-01-01T00:00:00Z$`, `^- tasks: 3$`)
	if strings.Contains(text, "memory") {
		t.Errorf("what is not known is shown: %s", text)
	}
	for name, want := range map[string]string{
		"none": "there is no service none.service", "-h": "no name of a service", "a;b": "no name of a service", "../x": "no name of a service", "": "no name of a service", "a\x00": "no name of a service",
		strings.Repeat("x", 300): "no name of a service", "a b": "there is no service", "$(id)": "no name of a service",
	} {
		if text, isError := call(t, cs, "get_service_status", map[string]any{"name": name}); !isError || !strings.Contains(text, want) {
			t.Errorf("%q: %s", name, text)
		}
	}
	if text, isError := call(t, cs, "list_services", map[string]any{"state": "x"}); !isError {
		t.Error(text)
	}
	// One that never answers costs no more than the caller's patience.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := system.Systemd(address).Status(ctx, "hang"); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if text, isError := call(t, connectTo(t, system.WithManager(system.Systemd("unix:path=/none"))), "list_services", nil); !isError || !strings.Contains(text, "out of reach") {
		t.Error(text)
	}
}

package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	systemdName    = "org.freedesktop.systemd1"
	systemdPath    = dbus.ObjectPath("/org/freedesktop/systemd1")
	systemdManager = systemdName + ".Manager"
)

// systemd asks systemd over the system's D-Bus, as systemctl does.
type systemd struct {
	address string // of the bus; empty: the system's
}

func newManager() manager { return systemd{} }

// connect returns a connection that ends with ctx.
func (m systemd) connect(ctx context.Context) (*dbus.Conn, error) {
	if m.address == "" {
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			return nil, &noManagerError{"Systemd does not run this machine (it may be a container), so its services are not known. Call list_top_processes and list_listening_ports for what runs"}
		}
	}
	var conn *dbus.Conn
	var err error
	if m.address == "" {
		conn, err = dbus.SystemBusPrivate(dbus.WithContext(ctx))
	} else {
		conn, err = dbus.Dial(m.address, dbus.WithContext(ctx))
	}
	if err == nil {
		if err = conn.Auth(nil); err == nil {
			err = conn.Hello()
		}
		if err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("systemd cannot be asked, for the system's D-Bus is out of reach: %s", plain(err.Error(), 200))
	}
	return conn, nil
}

// A unit is one row of what ListUnits returns.
type unit struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	JobID                                           uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

func (m systemd) list(ctx context.Context) ([]service, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var units []unit
	if err := conn.Object(systemdName, systemdPath).CallWithContext(ctx, systemdManager+".ListUnits", 0).Store(&units); err != nil {
		return nil, asked(ctx, err)
	}
	var all []service
	for _, u := range units {
		if name, ok := strings.CutSuffix(u.Name, ".service"); ok && u.Load != "not-found" {
			all = append(all, service{Name: plain(name, 80), Description: plain(u.Description, 100), State: unitState(u.Active), Detail: plain(u.Active+" ("+u.Sub+")", 60)})
		}
	}
	return all, nil
}

func asked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("systemd did not answer in time")
	}
	return fmt.Errorf("systemd says: %s", plain(err.Error(), 200))
}

func unitState(active string) string {
	switch active {
	case "active", "reloading":
		return "running"
	case "failed":
		return "failed"
	case "activating":
		return "starting"
	case "deactivating":
		return "stopping"
	}
	return "stopped"
}

func (m systemd) status(ctx context.Context, name string) (serviceOutput, error) {
	if strings.ContainsAny(name, " ()$") {
		return serviceOutput{}, errNoService(name)
	}
	if !strings.Contains(name, ".") || strings.HasSuffix(name, ".") {
		name = strings.TrimSuffix(name, ".") + ".service"
	}
	conn, err := m.connect(ctx)
	if err != nil {
		return serviceOutput{}, err
	}
	defer conn.Close()
	var at dbus.ObjectPath
	if err := conn.Object(systemdName, systemdPath).CallWithContext(ctx, systemdManager+".LoadUnit", 0, name).Store(&at); err != nil {
		return serviceOutput{}, asked(ctx, err)
	}
	p := map[string]dbus.Variant{}
	for _, face := range []string{".Unit", ".Service"} {
		var some map[string]dbus.Variant
		err := conn.Object(systemdName, at).CallWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, systemdName+face).Store(&some)
		if err != nil && face == ".Unit" {
			return serviceOutput{}, asked(ctx, err)
		}
		maps.Copy(p, some)
	}
	if str(p, "LoadState") == "not-found" {
		return serviceOutput{}, errNoService(name)
	}
	return unitOutput(name, p), nil
}

func unitOutput(name string, p map[string]dbus.Variant) serviceOutput {
	out := serviceOutput{Properties: map[string]string{}}
	out.Name, out.Description = plain(name, 80), plain(str(p, "Description"), 100)
	out.State, out.Detail = unitState(str(p, "ActiveState")), plain(str(p, "ActiveState")+" ("+str(p, "SubState")+")", 60)
	out.PID = int(num(p, "MainPID"))
	put := func(key, value string) {
		if value != "" {
			out.Properties[key] = plain(value, 200)
		}
	}
	put("starts by itself", str(p, "UnitFileState"))
	put("file", str(p, "FragmentPath"))
	put("result", str(p, "Result"))
	if t := num(p, "StateChangeTimestamp"); t > 0 {
		put("state since", time.UnixMicro(int64(t)).UTC().Format(time.RFC3339))
	}
	if n := num(p, "NRestarts"); n > 0 {
		put("restarts", fmt.Sprint(n))
	}
	if out.State == "failed" || num(p, "ExecMainStatus") > 0 {
		put("exit status", fmt.Sprint(num(p, "ExecMainStatus")))
	}
	const unset = 1 << 63 // systemd's word for not known is a larger number
	if n := num(p, "MemoryCurrent"); n > 0 && n < unset {
		put("memory", size(n))
	}
	if n := num(p, "TasksCurrent"); n > 0 && n < unset {
		put("tasks", fmt.Sprint(n))
	}
	return out
}

func str(p map[string]dbus.Variant, key string) string {
	s, _ := p[key].Value().(string)
	return s
}

func num(p map[string]dbus.Variant, key string) uint64 {
	switch n := p[key].Value().(type) {
	case uint32:
		return uint64(n)
	case uint64:
		return n
	case int32:
		return uint64(max(n, 0))
	}
	return 0
}

package system

import "context"

// A Bus is a manager on a D-Bus that a test runs.
type Bus struct{ systemd }

// Systemd returns the manager that is asked on a bus.
func Systemd(address string) Bus { return Bus{systemd{address}} }

// Status returns what is known of a service.
func (b Bus) Status(ctx context.Context, name string) (string, error) {
	out, err := b.status(ctx, name+".service")
	return out.State, err
}

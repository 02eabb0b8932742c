package system

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// kernelLog returns the records of the kernel's log and when it started to count.
func kernelLog(ctx context.Context) ([]string, time.Time, error) {
	const most = 50_000
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, time.Time{}, errors.New("this user may not (kernel.dmesg_restrict); an operator can give the program the capability CAP_SYSLOG")
	case err != nil:
		return nil, time.Time{}, err
	}
	defer unix.Close(fd)
	var records []string
	buf := make([]byte, 8<<10)
	for len(records) < most && ctx.Err() == nil {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // records were overwritten meanwhile
			continue
		case err != nil, n == 0: // the end
			return records, kernelStart(), nil
		}
		records = append(records, string(buf[:n]))
	}
	return records, kernelStart(), nil
}

func kernelStart() time.Time {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &up); err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up.Nano()))
}

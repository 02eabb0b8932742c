package system

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc/mgr"
)

// scm asks the service manager of Windows, with no more rights than to look.
type scm struct{}

func newManager() manager { return scm{} }

func openManager() (windows.Handle, error) {
	h, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return 0, fmt.Errorf("the service manager cannot be asked: %w", err)
	}
	return h, nil
}

func (scm) list(ctx context.Context) ([]service, error) {
	h, err := openManager()
	if err != nil {
		return nil, err
	}
	defer windows.CloseServiceHandle(h)
	var buf []byte
	var need, count uint32
	for {
		var p *byte
		if len(buf) > 0 {
			p = &buf[0]
		}
		err = windows.EnumServicesStatusEx(h, windows.SC_ENUM_PROCESS_INFO, windows.SERVICE_WIN32, windows.SERVICE_STATE_ALL, p, uint32(len(buf)), &need, &count, nil, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, windows.ERROR_MORE_DATA) || need == 0 || len(buf) > 16<<20 || ctx.Err() != nil {
			return nil, fmt.Errorf("list services: %w", err)
		}
		buf = make([]byte, len(buf)+int(need))
	}
	if count == 0 {
		return nil, nil
	}
	found := unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&buf[0])), count)
	all := make([]service, 0, count)
	for _, s := range found {
		all = append(all, service{
			Name: plain(windows.UTF16PtrToString(s.ServiceName), 80), Description: plain(windows.UTF16PtrToString(s.DisplayName), 100),
			State: scmState(s.ServiceStatusProcess.CurrentState, s.ServiceStatusProcess.Win32ExitCode), PID: int(s.ServiceStatusProcess.ProcessId),
		})
	}
	return all, nil
}

// scmState returns the state; one that stopped with an exit status has failed,
// unless it was never started.
func scmState(state, exit uint32) string {
	switch state {
	case windows.SERVICE_RUNNING, windows.SERVICE_PAUSED:
		return "running"
	case windows.SERVICE_START_PENDING, windows.SERVICE_CONTINUE_PENDING:
		return "starting"
	case windows.SERVICE_STOP_PENDING, windows.SERVICE_PAUSE_PENDING:
		return "stopping"
	}
	if exit != 0 && exit != uint32(windows.ERROR_SERVICE_NEVER_STARTED) {
		return "failed"
	}
	return "stopped"
}

func (scm) status(_ context.Context, name string) (serviceOutput, error) {
	h, err := openManager()
	if err != nil {
		return serviceOutput{}, err
	}
	defer windows.CloseServiceHandle(h)
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return serviceOutput{}, errNoService(name)
	}
	sh, err := windows.OpenService(h, p, windows.SERVICE_QUERY_STATUS|windows.SERVICE_QUERY_CONFIG)
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) || errors.Is(err, windows.ERROR_INVALID_NAME) {
		return serviceOutput{}, errNoService(name)
	}
	if err != nil {
		return serviceOutput{}, fmt.Errorf("service %s: %w", plain(name, 80), err)
	}
	s := mgr.Service{Name: name, Handle: sh}
	defer s.Close()
	status, err := s.Query()
	if err != nil {
		return serviceOutput{}, fmt.Errorf("service %s: %w", plain(name, 80), err)
	}
	out := serviceOutput{Properties: map[string]string{}}
	out.Name, out.State, out.PID = plain(name, 80), scmState(uint32(status.State), status.Win32ExitCode), int(status.ProcessId)
	if status.Win32ExitCode != 0 {
		out.Properties["exit status"] = fmt.Sprint(status.Win32ExitCode)
	}
	if c, err := s.Config(); err == nil {
		out.Description = plain(c.DisplayName, 100)
		out.Properties["user"] = plain(c.ServiceStartName, 80)
		out.Properties["starts by itself"] = map[uint32]string{mgr.StartAutomatic: "automatic", mgr.StartManual: "manual", mgr.StartDisabled: "disabled"}[c.StartType]
	}
	return out, nil
}

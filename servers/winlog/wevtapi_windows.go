package winlog

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The functions of the event log service, loaded when they are first called.
var (
	wevtapi              = windows.NewLazySystemDLL("wevtapi.dll")
	evtClose             = wevtapi.NewProc("EvtClose")
	evtQuery             = wevtapi.NewProc("EvtQuery")
	evtNext              = wevtapi.NewProc("EvtNext")
	evtRender            = wevtapi.NewProc("EvtRender")
	evtFormatMessage     = wevtapi.NewProc("EvtFormatMessage")
	evtOpenPublisher     = wevtapi.NewProc("EvtOpenPublisherMetadata")
	evtOpenPublisherEnum = wevtapi.NewProc("EvtOpenPublisherEnum")
	evtNextPublisherID   = wevtapi.NewProc("EvtNextPublisherId")
	evtOpenChannelEnum   = wevtapi.NewProc("EvtOpenChannelEnum")
	evtNextChannelPath   = wevtapi.NewProc("EvtNextChannelPath")
	evtOpenLog           = wevtapi.NewProc("EvtOpenLog")
	evtGetLogInfo        = wevtapi.NewProc("EvtGetLogInfo")
)

const (
	queryChannelPath = 0x1
	queryReverse     = 0x200
	renderEventXML   = 1
	formatEvent      = 1
	openChannelPath  = 1

	logLastWriteTime = 2
	logFileSize      = 3
	logRecords       = 5

	errAccessDenied    = syscall.Errno(5)
	errNotEnough       = syscall.Errno(122) // of a buffer
	errNoMore          = syscall.Errno(259)
	errTimedOut        = syscall.Errno(1460)
	errInvalidName     = syscall.Errno(123)
	errInvalidPath     = syscall.Errno(15000)
	errInvalidQuery    = syscall.Errno(15001)
	errChannelNotFound = syscall.Errno(15007)

	// maxBuffer bounds what one event may be rendered to, in bytes.
	maxBuffer = 4 << 20
)

// A handle is one of the service's. It must be closed.
type handle uintptr

func (h handle) close() {
	if h != 0 {
		_, _, _ = evtClose.Call(uintptr(h))
	}
}

// call calls p and returns its result, or the error of one that is zero. Pointers are
// made into numbers in its arguments, so what they point to must not move.
//
//go:uintptrescapes
func call(p *windows.LazyProc, args ...uintptr) (uintptr, error) {
	if err := p.Find(); err != nil {
		return 0, err
	}
	r, _, err := p.Call(args...)
	if r != 0 {
		return r, nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != 0 {
		return 0, errno
	}
	return 0, fmt.Errorf("%s failed", p.Name)
}

func openQuery(channel, query string) (handle, error) {
	path, err := windows.UTF16PtrFromString(channel)
	if err != nil {
		return 0, err
	}
	q, err := windows.UTF16PtrFromString(query)
	if err != nil {
		return 0, err
	}
	h, err := call(evtQuery, 0, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(q)), queryChannelPath|queryReverse)
	runtime.KeepAlive(path)
	runtime.KeepAlive(q)
	return handle(h), err
}

// next returns some of the events of a query, or errNoMore. It waits two seconds at
// most, and then returns errTimedOut.
func (h handle) next(events []handle) (int, error) {
	var n uint32
	_, err := call(evtNext, uintptr(h), uintptr(len(events)), uintptr(unsafe.Pointer(&events[0])), 2000, 0, uintptr(unsafe.Pointer(&n)))
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// xml returns an event as XML. The buffer is used where it is large enough; the one
// that it returns is for the next event.
func (h handle) xml(buf []uint16) (string, []uint16, error) {
	for {
		var used, properties uint32 // bytes
		_, err := call(evtRender, 0, uintptr(h), renderEventXML, uintptr(2*len(buf)), uintptr(unsafe.Pointer(&buf[0])),
			uintptr(unsafe.Pointer(&used)), uintptr(unsafe.Pointer(&properties)))
		if errors.Is(err, errNotEnough) && int(used) > 2*len(buf) && used <= maxBuffer {
			buf = make([]uint16, used/2+1)
			continue
		}
		if err != nil {
			return "", buf, err
		}
		return windows.UTF16ToString(buf), buf, nil
	}
}

// publisher opens the texts of a provider; 0 where it has none.
func publisher(name string) handle {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0
	}
	h, err := call(evtOpenPublisher, 0, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	runtime.KeepAlive(p)
	if err != nil {
		return 0
	}
	return handle(h)
}

// message returns the text of an event, in the words of its provider; empty where it
// has none.
func (h handle) message(provider handle) string {
	buf := make([]uint16, 1024)
	for {
		var used uint32 // characters
		_, err := call(evtFormatMessage, uintptr(provider), uintptr(h), 0, 0, 0, formatEvent,
			uintptr(len(buf)), uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&used)))
		if errors.Is(err, errNotEnough) && int(used) > len(buf) && used <= maxBuffer/2 {
			buf = make([]uint16, used)
			continue
		}
		if err != nil {
			return ""
		}
		return windows.UTF16ToString(buf)
	}
}

// names returns all channels or all providers.
func names(open, next *windows.LazyProc) ([]string, error) {
	h, err := call(open, 0, 0)
	if err != nil {
		return nil, err
	}
	defer handle(h).close()
	var list []string
	for len(list) < 20_000 {
		buf := make([]uint16, 1024)
		var used uint32
		_, err := call(next, h, uintptr(len(buf)), uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&used)))
		if errors.Is(err, errNoMore) {
			break
		}
		if err != nil {
			return list, err
		}
		list = append(list, windows.UTF16ToString(buf))
	}
	return list, nil
}

// A variant is a value of the service, of a type with at most 64 bits.
type variant struct {
	value uint64
	count uint32
	kind  uint32
}

func openChannel(name string) (handle, error) {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	h, err := call(evtOpenLog, 0, uintptr(unsafe.Pointer(p)), openChannelPath)
	runtime.KeepAlive(p)
	return handle(h), err
}

// info returns a property of a log; 0 where it has none.
func (h handle) info(property uintptr) uint64 {
	var v variant
	var used uint32
	_, err := call(evtGetLogInfo, uintptr(h), property, unsafe.Sizeof(v), uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&used)))
	if err != nil || v.kind == 0 {
		return 0
	}
	return v.value
}

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// The launcher is the first process of a sandbox. It hears orders on a socket, one
// JSON object a packet, files of ours beside it, and answers in the same way.
const (
	// Command is the hidden command of the program that runs Launch.
	Command = "sandbox-init"

	socketFD  = 3
	maxPacket = 160 << 10 // the kernel's usual buffer of a socket has room for it
	maxFiles  = 5
)

// A plan is the first packet: what to make.
type plan struct {
	Level   string   `json:"level"`
	UID     int      `json:"uid"`     // ours where it is not root who starts this
	Drop    bool     `json:"drop"`    // become UID
	Prefix  []string `json:"prefix"`  // folders of the interpreter
	Home    string   `json:"home"`    // folder of the host, for landlock
	Disk    int64    `json:"disk"`    // bytes
	Memory  int64    `json:"memory"`  // bytes
	Procs   int      `json:"procs"`   // processes and threads
	Counted int      `json:"counted"` // processes of UID that are there already and count
	Network bool     `json:"network"` // listen for a proxy, and send the socket with the first report
}

// An order is what the launcher is asked.
type order struct {
	ID     uint64   `json:"id"`
	Do     string   `json:"do"` // start, signal, open, list or probe
	Argv   []string `json:"argv,omitempty"`
	Env    []string `json:"env,omitempty"`
	Path   string   `json:"path,omitempty"`
	Write  bool     `json:"write,omitempty"`
	Max    int      `json:"max,omitempty"`
	PID    int      `json:"pid,omitempty"`
	Signal int      `json:"signal,omitempty"`
	Probe  *traps   `json:"probe,omitempty"`
}

// A report is what the launcher says: the answer to an order, or with Exit the end of
// a process.
type report struct {
	ID    uint64           `json:"id,omitempty"`
	Error string           `json:"error,omitempty"`
	Kind  sandbox.Kind     `json:"kind,omitempty"`
	PID   int              `json:"pid,omitempty"`
	Exit  bool             `json:"exit,omitempty"`
	Code  int              `json:"code,omitempty"`
	File  *sandbox.File    `json:"file,omitempty"`
	List  *sandbox.Listing `json:"list,omitempty"`
	Leaks []string         `json:"leaks,omitempty"`
	Notes []string         `json:"notes,omitempty"`
}

func (r report) err() error {
	switch {
	case r.Error == "":
		return nil
	case r.Kind != "":
		return &sandbox.Error{Kind: r.Kind, Text: r.Error}
	}
	return errors.New(r.Error)
}

// receive reads one packet and its files from a socket.
func receive(fd int, v any) ([]int, error) {
	buf, oob := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, on, flags, _, err := unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, on, flags, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	return unpack(buf[:n], oob[:on], flags, v)
}

func unpack(b, oob []byte, flags int, v any) ([]int, error) {
	files, err := filesOf(oob)
	if err == nil && len(b) == 0 {
		err = io.EOF
	}
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a packet was cut")
	}
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func filesOf(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []int
	for i := range all {
		some, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, some...)
	}
	return files, nil
}

// pack makes a packet of v.
func pack(v any, files []int) (b, oob []byte, err error) {
	if b, err = json.Marshal(v); err != nil {
		return nil, nil, err
	}
	if len(b) > maxPacket {
		return nil, nil, &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("it is too long: at most %d characters in one piece; write it to a file and run that", sandbox.MaxLine)}
	}
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	return b, oob, nil
}

func closeAll(files []int) {
	for _, fd := range files {
		_ = unix.Close(fd)
	}
}

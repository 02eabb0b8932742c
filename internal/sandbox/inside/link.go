package inside

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The kinds of frames, as the program has them: to it, and from it.
const (
	toStart, toPut, toGet, toList, toLimits, toListen          = 's', 'p', 'g', 'l', 'm', 'n'
	toData, toFinish, toCredit, toSignal, toDrop, toSayNothing = 'd', 'e', 'c', 'k', 'x', '.'
	fromReply, fromData, fromEnd, fromExit, fromConn, fromGot  = 'r', 'd', 'e', 'z', 'o', 'a'
)

const (
	headSize = 9
	maxReply = 1 << 20
	maxData  = 64 << 10
	piece    = 32 << 10
	window   = 256 << 10 // what comes of a stream before more of it is asked for
	pulse    = 45 * time.Second
)

// An order opens a channel.
type order struct {
	Argv  []string          `json:"argv,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	Talks bool              `json:"talks,omitempty"`
	Path  string            `json:"path"`
	Max   int64             `json:"max"`
}

// A reply is what comes back for it.
type reply struct {
	Error  string  `json:"error"` // a word of refusals
	Python string  `json:"python"`
	File   *entry  `json:"file"`
	Limits *limits `json:"limits"`
	List   *struct {
		Files []entry `json:"files"`
		More  bool    `json:"more"`
	} `json:"list"`
}

type entry struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Kind     string `json:"kind"`
	Modified int64  `json:"modified"`
}

// limits are how much is used, and how often a limit was met.
type limits struct {
	Memory int64 `json:"memory"`
	OOM    int64 `json:"oom"`
	Full   int64 `json:"full"`
}

// A link is the connection with the program.
type link struct {
	way   Way
	out   chan []byte
	tasks sync.WaitGroup

	quit chan struct{} // closed when it has ended, or is to
	once sync.Once
	why  error // set before quit is closed

	mu       sync.Mutex
	last     uint32
	channels map[uint32]*channel
	outlet   outlet
}

// A channel is a process or a file.
type channel struct {
	l       *link
	id      uint32
	replies chan reply
	exit    chan int
	streams map[byte]*stream
	conn    *conn // of code to the proxy
}

func newLink(w Way, o outlet) *link {
	l := &link{way: w, outlet: o, out: make(chan []byte, 8), quit: make(chan struct{}), channels: map[uint32]*channel{}}
	l.channels[0] = newChannel(l, 0, nil) // the one by which the program says that it is there
	l.tasks.Go(l.write)
	l.tasks.Go(func() { l.end(l.read()) })
	return l
}

// end ends the link. The first reason counts.
func (l *link) end(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.quit)
	})
}

// close waits for those who read and write. The link has ended.
func (l *link) close() {
	_ = l.way.In.Close()  // what was not sent is of no use
	_ = l.way.Out.Close() // nobody reads it
	l.tasks.Wait()
}

func (l *link) write() {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		frame := []byte(nil)
		select {
		case frame = <-l.out:
		case <-tick.C: // or the program takes us for dead
			frame = pack(toSayNothing, 0, nil)
		case <-l.quit:
			return
		}
		if _, err := l.way.In.Write(frame); err != nil {
			l.end(fmt.Errorf("the connection to it broke: %w", err))
			return
		}
	}
}

func pack(kind byte, id uint32, body []byte) []byte {
	frame := make([]byte, 0, headSize+len(body))
	frame = binary.BigEndian.AppendUint32(append(frame, kind), id)
	return append(binary.BigEndian.AppendUint32(frame, uint32(len(body))), body...)
}

var errLink = errors.New("the sandbox has ended")

// send queues a frame.
func (l *link) send(ctx context.Context, kind byte, id uint32, body []byte) error {
	if !l.push(ctx.Done(), pack(kind, id, body)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errLink
	}
	return nil
}

// push queues a frame, unless the link ends or stop is closed before.
func (l *link) push(stop <-chan struct{}, frame []byte) bool {
	select {
	case <-l.quit:
		return false
	default:
	}
	select {
	case l.out <- frame:
		return true
	case <-l.quit:
	case <-stop:
	}
	return false
}

// read takes frames until there is none, or one that cannot be. It waits for nobody.
func (l *link) read() error {
	var head [headSize]byte
	for {
		if _, err := io.ReadFull(l.way.Out, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("its first process has ended")
			}
			return fmt.Errorf("the connection to it broke: %w", err)
		}
		kind, id, n := head[0], binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:])
		if n > maxReply || n > maxData && kind != fromReply {
			return damaged("a frame of %d bytes", n)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(l.way.Out, body); err != nil {
			return fmt.Errorf("the connection to it broke within a frame: %w", err)
		}
		if err := l.take(kind, id, body); err != nil {
			return err
		}
	}
}

// take handles a frame.
func (l *link) take(kind byte, id uint32, body []byte) error {
	if kind == fromConn && id >= fromInside {
		return l.connected(id)
	}
	l.mu.Lock()
	c, last := l.channels[id], l.last
	if id >= fromInside {
		last = l.outlet.last
	}
	l.mu.Unlock()
	if id > last {
		return damaged("a channel that nobody has opened")
	}
	if c == nil {
		return nil // it was dropped meanwhile
	}
	return c.take(kind, body)
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("what came out of it cannot be read ("+format+"); code in it has disturbed what holds it", args...)
}

// take handles a frame of a channel.
func (c *channel) take(kind byte, body []byte) error {
	switch kind {
	case fromReply:
		var r reply
		if err := json.Unmarshal(body, &r); err != nil {
			return damaged("a reply")
		}
		select {
		case c.replies <- r:
		default:
			return damaged("a reply that nobody has asked for")
		}
	case fromData, fromEnd:
		if len(body) == 0 || c.streams[body[0]] == nil {
			return damaged("a stream that is not there")
		}
		return c.streams[body[0]].take(body[1:], kind == fromEnd)
	case fromExit:
		if len(body) != 4 {
			return damaged("an exit code")
		}
		select {
		case c.exit <- int(binary.BigEndian.Uint32(body) & 0xff):
		default:
			return damaged("a second end of a process")
		}
	case fromGot:
		if c.conn == nil {
			return damaged("a receipt for nothing")
		}
		return c.conn.more(body)
	default:
		return damaged("a frame of kind %q", kind)
	}
	return nil
}

// register makes a channel with streams.
func (l *link) register(streams ...byte) *channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c := newChannel(l, l.last, streams)
	l.channels[c.id] = c
	return c
}

func newChannel(l *link, id uint32, streams []byte) *channel {
	c := &channel{l: l, id: id, replies: make(chan reply, 2), exit: make(chan int, 1), streams: map[byte]*stream{}}
	for _, n := range streams {
		c.streams[n] = &stream{c: c, n: n, room: window, news: make(chan struct{}, 1)}
	}
	return c
}

// open opens a channel and waits for the reply.
func (l *link) open(ctx context.Context, kind byte, o order, streams ...byte) (*channel, reply, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, reply{}, err
	}
	c := l.register(streams...)
	if err := l.send(ctx, kind, c.id, body); err != nil {
		c.forget()
		return nil, reply{}, err
	}
	r, err := c.reply(ctx)
	if err != nil {
		c.drop()
		return nil, r, err
	}
	return c, r, nil
}

// reply waits for one. Its error is one of the program, of ctx or of the link.
func (c *channel) reply(ctx context.Context) (reply, error) {
	select {
	case r := <-c.replies:
		return r, r.err()
	default:
	}
	select {
	case r := <-c.replies:
		return r, r.err()
	case <-c.l.quit:
		return reply{}, errLink
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

func (c *channel) forget() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	delete(c.l.channels, c.id)
}

// drop ends the channel on both sides. It does not wait long.
func (c *channel) drop() {
	c.forget()
	for _, s := range c.streams {
		_ = s.Close() // it never fails
	}
	c.tell(toDrop, nil)
}

// tell sends a frame where that can be done soon. Where the link has ended, so has
// what it is about.
func (c *channel) tell(kind byte, body []byte) {
	stop := make(chan struct{})
	late := time.AfterFunc(interrupted, func() { close(stop) })
	defer late.Stop()
	c.l.push(stop, pack(kind, c.id, body))
}

// feed sends input of the channel.
func (c *channel) feed(stop <-chan struct{}, b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		n := min(len(b), piece)
		if !c.l.push(stop, pack(toData, c.id, b[:n])) {
			return sent, errLink
		}
		sent, b = sent+n, b[n:]
	}
	return sent, nil
}

// signal signals the group of a process.
func (c *channel) signal(number byte) { c.tell(toSignal, []byte{number}) }

// A stream is what a process prints, or a file.
type stream struct {
	c *channel
	n byte

	mu     sync.Mutex
	held   []byte
	room   int // what may still come
	taken  int // what was read since more was asked for
	ended  bool
	closed bool
	news   chan struct{}
}

func (s *stream) take(b []byte, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return damaged("more behind the end of a stream")
	}
	s.ended = last
	if s.room -= len(b); s.room < 0 {
		return damaged("more than was asked for")
	}
	if !s.closed {
		s.held = append(s.held, b...)
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
	return nil
}

// Read returns what has come, and asks for more.
func (s *stream) Read(p []byte) (int, error) {
	for {
		n, more, err := s.some(p)
		if more > 0 {
			body := binary.BigEndian.AppendUint32([]byte{s.n}, uint32(more))
			s.c.l.push(nil, pack(toCredit, s.c.id, body)) // where the link has ended, nothing comes
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-s.news:
		case <-s.c.l.quit:
			if n, _, err := s.some(p); n > 0 || err != nil {
				return n, err
			}
			return 0, io.ErrUnexpectedEOF
		}
	}
}

func (s *stream) some(p []byte) (n, more int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, 0, io.ErrClosedPipe
	}
	n = copy(p, s.held)
	s.held = s.held[n:]
	if len(s.held) == 0 {
		s.held = nil
	}
	if n == 0 && s.ended {
		return 0, 0, io.EOF
	}
	if s.taken += n; s.taken >= window/2 && !s.ended {
		more, s.taken = s.taken, 0
		s.room += more
	}
	return n, more, nil
}

// Close gives the rest up.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.held = true, nil
	select {
	case s.news <- struct{}{}:
	default:
	}
	return nil
}

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	readSize  = 64 << 10  // what Linux holds in a pipe
	flushSize = 256 << 10 // answers are gathered up to this
)

// Main runs a server as a process of its own:
//
//	[-tools N] [-http ADDR]
//
// It serves stdio or, with -http, prints the endpoint's URL as its one line on
// stdout and serves that. It returns at the end of stdin in either case, so a
// server never outlives the process that holds the other end.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	tools := flags.Int("tools", 0, "number of dummy tools beside echo and payload")
	addr := flags.String("http", "", "serve streamable HTTP on this address instead of stdio")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := New(Options{Tools: *tools})
	if *addr == "" {
		return s.ServeStdio(stdin, stdout)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	// A connection that a client opened ahead of its requests is left alone: were
	// it closed, the first request on it could be lost, and count as an error.
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Hour}
	var running sync.WaitGroup
	var served error
	running.Go(func() { served = server.Serve(listener) })
	_, err = fmt.Fprintf(stdout, "http://%s/mcp\n", listener.Addr())
	if err == nil {
		_, err = io.Copy(io.Discard, stdin)
	}
	// What is cut off now is cut off on purpose: the other end has gone.
	_ = server.Close()
	running.Wait()
	if !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return err
}

// ServeStdio answers the messages that in holds, one a line, until its end.
// Answers to messages that arrived together leave together.
func (s *Server) ServeStdio(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, readSize)
	var line, answers []byte
	for {
		var err error
		line, err = readLine(r, line[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := s.Answer(answers, line)
		if len(answer.Own) > len(answers) {
			answers = answer.Own
			if len(answer.Shared) > 0 {
				if _, err := out.Write(answers); err != nil {
					return err
				}
				if _, err := out.Write(answer.Shared); err != nil {
					return err
				}
				answers = answers[:0]
			}
			answers = append(answers, '\n')
		}
		waiting, _ := r.Peek(r.Buffered())
		if len(answers) == 0 || len(answers) < flushSize && bytes.IndexByte(waiting, '\n') >= 0 {
			continue
		}
		if _, err := out.Write(answers); err != nil {
			return err
		}
		answers = answers[:0]
	}
}

// readLine appends the next line, of any length, to dst.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		dst = append(dst, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

// ServeHTTP answers one POST with one JSON message. There is no stream to GET
// and no session to DELETE.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	msg, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := s.Answer(make([]byte, 0, len(msg)+256), msg)
	if len(answer.Own) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(answer.Own) + len(answer.Shared))}
	// A failed write means that the client has gone; there is nobody to tell.
	if _, err := w.Write(answer.Own); err == nil && len(answer.Shared) > 0 {
		_, _ = w.Write(answer.Shared)
	}
}

// readBody reads a request's body, in one piece where its length is known.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	msg := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, msg)
	return msg, err
}

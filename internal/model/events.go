package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const maxEvent = 4 << 20

// events reads server-sent events, and hands over the data of each until one returns
// false.
func events(body io.Reader, each func(data []byte) (more bool, err error)) error {
	s := bufio.NewScanner(body)
	s.Buffer(make([]byte, 0, 16<<10), maxEvent)
	var data []byte
	for s.Scan() {
		line := bytes.TrimSuffix(s.Bytes(), []byte("\r"))
		if len(line) > 0 {
			if v, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if data != nil {
					data = append(data, '\n')
				}
				data = append(data, bytes.TrimPrefix(v, []byte(" "))...)
			}
			continue
		}
		if data == nil {
			continue
		}
		more, err := each(data)
		if err != nil || !more {
			return err
		}
		data = nil
	}
	if err := s.Err(); err != nil {
		return err
	}
	if data != nil { // the last line had no empty one behind it
		_, err := each(data)
		return err
	}
	return nil
}

// errCutShort is the error for a stream that ended before its last event.
var errCutShort = errors.New("the stream ended in the middle")

// counter tells of the growth of an answer.
type counter struct {
	tell func(int)
	n    int
}

func (c *counter) add(s string) {
	c.n += len([]rune(s))
	if c.tell != nil && s != "" {
		c.tell(c.n)
	}
}

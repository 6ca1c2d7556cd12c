package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// flow is one tunnel full of bulk; moved counts bytes found right, at whichever end checks them.
type flow struct {
	conn     net.Conn
	seed     uint64
	bytes    uint64
	moved    atomic.Uint64
	stopping *atomic.Bool
}

func (f *flow) download() error {
	if _, err := f.conn.Write(request(opSource, f.seed, f.bytes)); err != nil {
		return err
	}
	stream := newPattern(f.seed)
	buffer := make([]byte, readBufferSize)
	for {
		n, err := f.conn.Read(buffer)
		if wrong := stream.check(buffer[:n]); wrong != nil {
			return wrong
		}
		f.moved.Store(stream.total)
		if err == nil {
			continue
		}
		if err != io.EOF {
			return fmt.Errorf("a tunnel failed after %d bytes: %w", stream.total, err)
		}
		if f.bytes != 0 && stream.total == f.bytes {
			return nil
		}
		// A short stream is lost bytes, whatever the reason; only a run without a length may end anywhere.
		if f.bytes != 0 {
			return wrongBytes{fmt.Sprintf("only %d of %d bytes arrived", stream.total, f.bytes)}
		}
		return fmt.Errorf("a tunnel ended after %d bytes", stream.total)
	}
}

// upload stops at whole blocks, because those are what the sink acknowledges, and then waits for the last one.
func (f *flow) upload() error {
	if _, err := f.conn.Write(request(opSink, f.seed, 0)); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- f.readAcks() }()
	stream := newPattern(f.seed)
	wanted := func() bool { return f.bytes == 0 && !f.stopping.Load() || stream.total < f.bytes }
	for stream.total%blockSize != 0 || wanted() {
		if _, err := f.conn.Write(stream.next(chunkSize)); err != nil {
			// The sink may have found a wrong byte and left, which is the better reason.
			select {
			case reason := <-failed:
				return reason
			case <-time.After(time.Second):
				return fmt.Errorf("a tunnel failed after %d bytes: %w", stream.total, err)
			}
		}
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	deadline := time.After(bulkDeadline / 2)
	for f.moved.Load() != stream.total {
		select {
		case err := <-failed:
			return err
		case <-poll.C:
		case <-deadline:
			return wrongBytes{fmt.Sprintf("%d bytes sent, only %d ever acknowledged", stream.total, f.moved.Load())}
		}
	}
	return nil
}

func (f *flow) readAcks() error {
	var ack [ackSize]byte
	for {
		if _, err := io.ReadFull(f.conn, ack[:]); err != nil {
			return fmt.Errorf("a tunnel failed after %d acknowledged bytes: %w", f.moved.Load(), err)
		}
		count := binary.BigEndian.Uint64(ack[:])
		if count == notIntact {
			return wrongBytes{fmt.Sprintf("the sink found a wrong one after byte %d", f.moved.Load())}
		}
		f.moved.Store(count)
	}
}

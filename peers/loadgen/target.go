package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	chunkSize      = 64 << 10
	readBufferSize = 256 << 10
	// Echo buffers are small because thousands of idle tunnels hold one each.
	echoBufferSize = 4 << 10
	// Longer than any bulk run, so that the verdict is always heard.
	drainTime = 2 * time.Minute
)

func runTarget(args []string) error {
	flags := flag.NewFlagSet("target", flag.ExitOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	_ = flags.Parse(args)
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go serveTarget(conn)
	}
}

func serveTarget(conn net.Conn) {
	defer conn.Close()
	op, seed, number, rest, err := readRequest(conn)
	if err != nil {
		return
	}
	switch op {
	case opEcho:
		echo(conn, rest)
	case opSource:
		source(conn, seed, number)
	case opSink:
		sink(conn, seed)
	case opStall:
		time.Sleep(time.Duration(number) * time.Millisecond)
	default:
		fmt.Fprintf(os.Stderr, "loadgen target: a connection began with %#02x, which is no request\n", op)
	}
}

func echo(conn net.Conn, first []byte) {
	if len(first) > 0 {
		if _, err := conn.Write(first); err != nil {
			return
		}
	}
	buffer := make([]byte, echoBufferSize)
	for {
		n, err := conn.Read(buffer)
		if n > 0 {
			if _, err := conn.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func source(conn net.Conn, seed, length uint64) {
	stream := newPattern(seed)
	for length == 0 || stream.total < length {
		piece := chunkSize
		if length != 0 {
			piece = int(min(chunkSize, length-stream.total))
		}
		if _, err := conn.Write(stream.next(piece)); err != nil {
			return
		}
	}
}

func sink(conn net.Conn, seed uint64) {
	stream := newPattern(seed)
	buffer := make([]byte, readBufferSize)
	acknowledged := uint64(0)
	for {
		n, err := conn.Read(buffer)
		if wrong := stream.check(buffer[:n]); wrong != nil {
			fmt.Fprintln(os.Stderr, "loadgen target:", wrong)
			_ = acknowledge(conn, notIntact)
			drain(conn)
			return
		}
		if whole := stream.total - stream.total%blockSize; whole > acknowledged {
			acknowledged = whole
			if err := acknowledge(conn, whole); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drain takes what is still on its way: closing over unread bytes would reset the connection, and the reset would
// overtake the acknowledgement that says what was wrong.
func drain(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.Copy(io.Discard, conn)
}

func acknowledge(conn net.Conn, count uint64) error {
	var ack [ackSize]byte
	binary.BigEndian.PutUint64(ack[:], count)
	_, err := conn.Write(ack[:])
	return err
}

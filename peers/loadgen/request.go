package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// What a connection to the target begins with says what the target does with it. Echo is a single byte, so that a new
// tunnel can be proven with two; the others carry a seed and a number.
const (
	opEcho   = 'E' // sends everything back
	opSource = 'D' // sends the pattern of the seed: number bytes and then an end, or without end for 0
	opSink   = 'U' // checks the pattern of the seed and acknowledges every block
	opStall  = 'Z' // reads nothing for number milliseconds, then leaves

	requestSize = 17
)

func request(op byte, seed, number uint64) []byte {
	header := make([]byte, requestSize)
	header[0] = op
	binary.BigEndian.PutUint64(header[1:], seed)
	binary.BigEndian.PutUint64(header[9:], number)
	return header
}

// readRequest returns what came behind the operation byte of an echo: the first bytes to send back.
func readRequest(conn net.Conn) (op byte, seed, number uint64, rest []byte, err error) {
	var header [requestSize]byte
	n, err := conn.Read(header[:])
	if err != nil {
		return 0, 0, 0, nil, err
	}
	if header[0] == opEcho {
		return opEcho, 0, 0, header[1:n], nil
	}
	if _, err := io.ReadFull(conn, header[n:]); err != nil {
		return 0, 0, 0, nil, fmt.Errorf("a request of %d bytes instead of %d: %w", n, requestSize, err)
	}
	return header[0], binary.BigEndian.Uint64(header[1:]), binary.BigEndian.Uint64(header[9:]), nil, nil
}

// An acknowledgement counts the bytes found right so far; notIntact says that a byte was wrong.
const (
	ackSize   = 8
	notIntact = ^uint64(0)
)

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"
)

// kube-apiserver gives a dial this long.
const dialTimeout = 30 * time.Second

// dialer opens one more connection to the target, through whatever is measured.
type dialer func() (net.Conn, error)

func newDialer(frontend, address, target string, who identity) (dialer, error) {
	switch frontend {
	case "direct":
		network := "tcp"
		if strings.HasPrefix(address, "/") {
			network = "unix"
		}
		return func() (net.Conn, error) { return net.DialTimeout(network, address, dialTimeout) }, nil
	case "connect-uds":
		return connectThrough(target, func() (net.Conn, error) { return net.DialTimeout("unix", address, dialTimeout) }), nil
	case "connect-tcp":
		config, err := who.config()
		if err != nil {
			return nil, err
		}
		plain := &net.Dialer{Timeout: dialTimeout}
		return connectThrough(target, func() (net.Conn, error) { return tls.DialWithDialer(plain, "tcp", address, config) }), nil
	case "grpc-uds":
		return func() (net.Conn, error) { return dialGRPC(address, target) }, nil
	}
	return nil, fmt.Errorf("there is no frontend %q", frontend)
}

// connectThrough asks as kube-apiserver does, and like it takes no bytes behind the answer's head.
func connectThrough(target string, open dialer) dialer {
	ask := []byte("CONNECT " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	return func() (net.Conn, error) {
		conn, err := open()
		if err != nil {
			return nil, err
		}
		if err := handshake(conn, ask); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

func handshake(conn net.Conn, ask []byte) error {
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(ask); err != nil {
		return err
	}
	var buffer [4096]byte
	size := 0
	for {
		n, err := conn.Read(buffer[size:])
		size += n
		if end := bytes.Index(buffer[:size], []byte("\r\n\r\n")); end >= 0 {
			if !bytes.HasPrefix(buffer[:size], []byte("HTTP/1.1 200")) {
				return fmt.Errorf("the proxy answered %q", buffer[:min(size, 300)])
			}
			if end+4 != size {
				return fmt.Errorf("the proxy sent %d bytes behind its answer before it was asked for any", size-end-4)
			}
			return conn.SetDeadline(time.Time{})
		}
		if err != nil || size == len(buffer) {
			return fmt.Errorf("no answer to CONNECT (%q): %w", buffer[:min(size, 300)], err)
		}
	}
}

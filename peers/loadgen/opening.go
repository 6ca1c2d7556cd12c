package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// prove sends one byte through a fresh tunnel and waits for it: "open" means nothing before bytes have gone both ways.
func prove(conn io.ReadWriter, first bool) error {
	message := []byte{'x'}
	if first {
		message = []byte{opEcho, 'x'}
	}
	if _, err := conn.Write(message); err != nil {
		return err
	}
	var back [1]byte
	if _, err := io.ReadFull(conn, back[:]); err != nil {
		return err
	}
	if back[0] != 'x' {
		return wrongBytes{"an echo came back changed"}
	}
	return nil
}

// newTunnels dials, proves and closes, so many at a time without a pause. The latency is from dial to proof;
// the rate counts tunnels that were also closed.
func newTunnels(o options, dial dialer, r *result) error {
	from := time.Now().Add(o.warmup)
	until := from.Add(o.window)
	var mu sync.Mutex
	var samples []time.Duration
	var workers sync.WaitGroup
	for range o.tunnels {
		workers.Go(func() {
			for time.Now().Before(until) {
				took, err := openOnce(dial)
				done := time.Now()
				mu.Lock()
				r.RequestsTotal++
				if err != nil {
					r.fail(fmt.Errorf("a tunnel could not be opened: %w", err))
				} else if done.After(from) && done.Before(until) {
					samples = append(samples, took)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	workers.Wait()
	r.Seconds = o.window.Seconds()
	r.RequestsPerSecond = float64(len(samples)) / o.window.Seconds()
	r.Latency = summarize(samples)
	return nil
}

// openOnce says how long it took until the tunnel had carried a byte both ways; closing it comes on top.
func openOnce(dial dialer) (time.Duration, error) {
	begun := time.Now()
	conn, err := dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = prove(conn, true)
	return time.Since(begun), err
}

// hold opens tunnels and keeps them idle until its standard input ends; then each must still carry a byte.
func hold(o options, dial dialer, r *result) error {
	began := time.Now()
	conns, err := openAll(o.tunnels, func() (net.Conn, error) {
		conn, err := dial()
		if err != nil {
			return nil, err
		}
		return conn, prove(conn, true)
	})
	if err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	if err := printJSON(map[string]any{"holding": len(conns), "seconds": r.Seconds}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, conn := range conns {
		if err := prove(conn, false); err != nil {
			return fmt.Errorf("an idle tunnel no longer works: %w", err)
		}
		go conn.Close()
	}
	return nil
}

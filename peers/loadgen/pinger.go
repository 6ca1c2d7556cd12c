package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pingSize = 1 << 10
	// No tunnel on loopback takes so long for one request unless something holds it up.
	stuckAfter = 250 * time.Millisecond
)

// pinger sends 1 KB, waits for all of it to come back, compares it, and begins again.
type pinger struct {
	conn    net.Conn
	stop    atomic.Bool
	ended   chan error
	total   atomic.Uint64
	mu      sync.Mutex
	samples []time.Duration
	begun   time.Time
}

func startPinger(conn net.Conn) (*pinger, error) {
	if _, err := conn.Write([]byte{opEcho}); err != nil {
		return nil, err
	}
	p := &pinger{conn: conn, ended: make(chan error, 1), begun: time.Now()}
	go func() { p.ended <- p.run() }()
	return p, nil
}

func (p *pinger) run() error {
	var out, in [pingSize]byte
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], rand.Uint64())
	_, _ = rand.NewChaCha8(key).Read(out[:])
	for number := uint64(1); !p.stop.Load(); number++ {
		binary.LittleEndian.PutUint64(out[:], number)
		begun := time.Now()
		p.mu.Lock()
		p.begun = begun
		p.mu.Unlock()
		if _, err := p.conn.Write(out[:]); err != nil {
			return err
		}
		if _, err := io.ReadFull(p.conn, in[:]); err != nil {
			return fmt.Errorf("no answer to request %d: %w", number, err)
		}
		took := time.Since(begun)
		if !bytes.Equal(out[:], in[:]) {
			return wrongBytes{fmt.Sprintf("the answer to request %d is not what was sent", number)}
		}
		p.total.Add(1)
		p.mu.Lock()
		p.samples = append(p.samples, took)
		p.mu.Unlock()
	}
	return nil
}

// take hands over the samples since the last call.
func (p *pinger) take() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	samples := p.samples
	p.samples = nil
	return samples
}

// waiting is the age of the request that has no answer yet.
func (p *pinger) waiting() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.begun)
}

// window measures for a while, or until a request has gone without an answer for so long that it counts as frozen. The
// request still open at the end counts with its age: a pause must not hide in the one sample that never came.
func (p *pinger) window(d, frozenAfter time.Duration) (samples []time.Duration, frozen bool, err error) {
	p.take()
	for end := time.Now().Add(d); time.Now().Before(end); {
		select {
		case err := <-p.ended:
			if err == nil {
				err = fmt.Errorf("the ping-pong tunnel ended")
			}
			return p.take(), false, err
		case <-time.After(min(20*time.Millisecond, time.Until(end))):
		}
		if p.waiting() >= frozenAfter {
			return append(p.take(), p.waiting()), true, nil
		}
	}
	// A request that got stuck late in the window still has its time to be answered before it counts as frozen.
	for p.waiting() > stuckAfter {
		if p.waiting() >= frozenAfter {
			return append(p.take(), p.waiting()), true, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return append(p.take(), p.waiting()), false, nil
}

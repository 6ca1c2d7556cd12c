package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Long enough for any sized run on a slow machine; a run that takes longer hangs.
const bulkDeadline = 60 * time.Second

func bulkDown(o options, dial dialer, r *result) error {
	return runBulk(o, dial, r, func(f *flow) error {
		err := f.download()
		if f.stopping.Load() && !errors.As(err, new(wrongBytes)) {
			return nil
		}
		return err
	}, true)
}

func bulkUp(o options, dial dialer, r *result) error {
	return runBulk(o, dial, r, (*flow).upload, false)
}

func runBulk(o options, dial dialer, r *result, run func(*flow) error, closeToStop bool) error {
	conns, err := openAll(o.tunnels, dial)
	if err != nil {
		return err
	}
	var stopping atomic.Bool
	flows := make([]*flow, len(conns))
	ended := make(chan error, len(conns))
	base := rand.Uint64()
	began := time.Now()
	for i, conn := range conns {
		f := &flow{conn: conn, seed: base + uint64(i), bytes: o.bytes - o.bytes%blockSize, stopping: &stopping}
		flows[i] = f
		go func() { ended <- run(f) }()
	}
	running := len(flows)
	if o.bytes == 0 {
		failed := func(err error) { r.fail(err); running-- }
		wait(o.warmup, ended, failed)
		before := movedBy(flows)
		from := time.Now()
		wait(o.window, ended, failed)
		summarizeBulk(r, before, movedBy(flows), time.Since(from))
		stopping.Store(true)
		if closeToStop {
			for _, f := range flows {
				go f.conn.Close()
			}
		}
	}
	deadline := time.After(bulkDeadline)
	for ; running > 0; running-- {
		select {
		case err := <-ended:
			if err != nil {
				r.fail(err)
			}
		case <-deadline:
			return fmt.Errorf("%d of %d tunnels hang: %v bytes moved", running, len(flows), movedBy(flows))
		}
	}
	if o.bytes != 0 {
		summarizeBulk(r, make([]uint64, len(flows)), movedBy(flows), time.Since(began))
	}
	for _, moved := range movedBy(flows) {
		r.BytesTotal += moved
	}
	for _, f := range flows {
		go f.conn.Close()
	}
	return nil
}

// wait lets the flows run; one that ends during that time has failed.
func wait(d time.Duration, ended <-chan error, failed func(error)) {
	timer := time.After(d)
	for {
		select {
		case <-timer:
			return
		case err := <-ended:
			if err == nil {
				err = errors.New("a bulk tunnel ended before it was told to")
			}
			failed(err)
		}
	}
}

func movedBy(flows []*flow) []uint64 {
	moved := make([]uint64, len(flows))
	for i, f := range flows {
		moved[i] = f.moved.Load()
	}
	return moved
}

func summarizeBulk(r *result, before, after []uint64, elapsed time.Duration) {
	var sum, slowest uint64
	slowest = ^uint64(0)
	for i := range before {
		moved := after[i] - before[i]
		sum += moved
		slowest = min(slowest, moved)
	}
	r.Seconds = elapsed.Seconds()
	r.BytesPerSecond = float64(sum) / elapsed.Seconds()
	if sum > 0 {
		// 1 means that every tunnel got the same share.
		r.SlowestShare = float64(slowest) * float64(len(before)) / float64(sum)
	}
}

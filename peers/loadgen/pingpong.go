package main

import (
	"time"
)

func pingPong(o options, dial dialer, r *result) error {
	conns, err := openAll(o.tunnels, dial)
	if err != nil {
		return err
	}
	pingers := make([]*pinger, len(conns))
	for i, conn := range conns {
		if pingers[i], err = startPinger(conn); err != nil {
			return err
		}
	}
	time.Sleep(o.warmup)
	for _, p := range pingers {
		p.take()
	}
	from := time.Now()
	time.Sleep(o.window)
	elapsed := time.Since(from).Seconds()
	var samples []time.Duration
	for _, p := range pingers {
		samples = append(samples, p.take()...)
		p.stop.Store(true)
	}
	r.Seconds = elapsed
	r.RequestsPerSecond = float64(len(samples)) / elapsed
	r.Latency = summarize(samples)
	deadline := time.After(o.frozen)
	for _, p := range pingers {
		select {
		case err := <-p.ended:
			if err != nil {
				r.fail(err)
			}
		case <-deadline:
			r.Frozen = true
		}
		r.RequestsTotal += p.total.Load()
		go p.conn.Close()
	}
	return nil
}

// besideBulk pings on one tunnel while another one moves as much as it can.
func besideBulk(o options, dial dialer, r *result) error {
	conn, err := dial()
	if err != nil {
		return err
	}
	p, err := startPinger(conn)
	if err != nil {
		return err
	}
	bulk := make(chan error, 1)
	go func() {
		beside := o
		beside.tunnels = 1
		// The bulk begins before the measured window and ends after it.
		beside.warmup, beside.window = o.warmup/2, o.window+o.warmup
		bulk <- bulkDown(beside, dial, r)
	}()
	time.Sleep(o.warmup)
	samples, frozen, err := p.window(o.window, o.frozen)
	if err != nil {
		return err
	}
	if err := <-bulk; err != nil {
		return err
	}
	r.Frozen = frozen
	r.Latency = summarize(samples)
	r.RequestsPerSecond = float64(len(samples)) / o.window.Seconds()
	p.stop.Store(true)
	return nil
}

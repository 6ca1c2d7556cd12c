package main

import (
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// stalledReader: a caller asks for endless bulk and never reads it.
func stalledReader(o options, dial dialer, r *result) error {
	return besideStall(o, dial, r, func() (end func(), err error) {
		conn, err := dial()
		if err != nil {
			return nil, err
		}
		_, err = conn.Write(request(opSource, rand.Uint64(), 0))
		return func() { leave(conn) }, err
	})
}

// stalledEndpoint: a caller sends all it can to an endpoint that never reads, and that leaves by itself in the end.
func stalledEndpoint(o options, dial dialer, r *result) error {
	stay := o.settle + o.window + o.frozen
	return besideStall(o, dial, r, func() (end func(), err error) {
		conn, err := dial()
		if err != nil {
			return nil, err
		}
		gone := time.Now().Add(stay)
		if _, err := conn.Write(request(opStall, 0, uint64(stay.Milliseconds()))); err != nil {
			return nil, err
		}
		go flood(conn)
		return func() { time.Sleep(time.Until(gone)); leave(conn) }, nil
	})
}

func flood(conn net.Conn) {
	stream := newPattern(rand.Uint64())
	for {
		if _, err := conn.Write(stream.next(chunkSize)); err != nil {
			return
		}
	}
}

// besideStall pings on one tunnel before and while another one is stalled, lets the slow party leave, and then asks
// whether new tunnels work.
func besideStall(o options, dial dialer, r *result, begin func() (func(), error)) error {
	conn, err := dial()
	if err != nil {
		return err
	}
	p, err := startPinger(conn)
	if err != nil {
		return err
	}
	time.Sleep(o.warmup)
	quiet, _, err := p.window(o.window, o.frozen)
	if err != nil {
		return err
	}
	r.Quiet = summarize(quiet)
	end, err := begin()
	if err != nil {
		return err
	}
	filling, frozen, err := p.window(o.settle, o.frozen)
	var beside []time.Duration
	if err == nil && !frozen {
		beside, frozen, err = p.window(o.window, o.frozen)
	}
	if err != nil {
		r.fail(err)
	}
	r.Frozen = frozen || err != nil
	r.Latency = summarize(beside)
	if all := slices.Concat(filling, beside); len(all) > 0 {
		r.LongestPause = float64(slices.Max(all).Microseconds())
	}
	r.RequestsPerSecond = float64(len(beside)) / o.window.Seconds()
	r.Seconds = o.window.Seconds()
	p.stop.Store(true)
	end()
	left := time.Now()
	again := servesWithin(o.again, dial)
	r.ServesAgain = &again
	r.AgainAfterSeconds = time.Since(left).Seconds()
	return nil
}

// servesWithin tries a new tunnel every second; one that hangs does not keep the others from trying.
func servesWithin(limit time.Duration, dial dialer) bool {
	deadline := time.After(limit)
	served := make(chan error, 64)
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	try := func() {
		_, err := openOnce(dial)
		served <- err
	}
	go try()
	for {
		select {
		case err := <-served:
			if err == nil {
				return true
			}
		case <-retry.C:
			go try()
		case <-deadline:
			return false
		}
	}
}

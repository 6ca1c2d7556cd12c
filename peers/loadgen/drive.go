package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"time"
)

type options struct {
	frontend string
	scenario string
	tunnels  int
	bytes    uint64
	warmup   time.Duration
	window   time.Duration
	settle   time.Duration
	frozen   time.Duration
	again    time.Duration
}

// result is the one object a run prints. Counts and rates are those of the measured window, totals those of the process.
type result struct {
	Scenario          string   `json:"scenario"`
	Frontend          string   `json:"frontend"`
	Tunnels           int      `json:"tunnels"`
	Seconds           float64  `json:"seconds"`
	Intact            bool     `json:"intact"`
	Problem           string   `json:"problem,omitempty"`
	BytesTotal        uint64   `json:"bytesTotal,omitempty"`
	BytesPerSecond    float64  `json:"bytesPerSecond,omitempty"`
	SlowestShare      float64  `json:"slowestTunnelShare,omitempty"`
	RequestsTotal     uint64   `json:"requestsTotal,omitempty"`
	RequestsPerSecond float64  `json:"requestsPerSecond,omitempty"`
	Latency           *latency `json:"latencyMicros,omitempty"`
	Quiet             *latency `json:"quietMicros,omitempty"`
	Frozen            bool     `json:"frozen,omitempty"`
	LongestPause      float64  `json:"longestPauseMicros,omitempty"`
	ServesAgain       *bool    `json:"servesAgain,omitempty"`
	AgainAfterSeconds float64  `json:"againAfterSeconds,omitempty"`
	CPUSeconds        float64  `json:"cpuSeconds"`
}

// fail notes why a run did not go as it should: wrong bytes are kept apart from connections that failed.
func (r *result) fail(err error) {
	var wrong wrongBytes
	if errors.As(err, &wrong) {
		r.Intact = false
	}
	if r.Problem == "" || !r.Intact {
		r.Problem = err.Error()
	}
}

var scenarios = map[string]func(options, dialer, *result) error{
	"bulk-down":        bulkDown,
	"bulk-up":          bulkUp,
	"ping-pong":        pingPong,
	"new-tunnels":      newTunnels,
	"hold":             hold,
	"stalled-reader":   stalledReader,
	"stalled-endpoint": stalledEndpoint,
	"beside-bulk":      besideBulk,
}

func runDrive(args []string) error {
	var o options
	var who identity
	flags := flag.NewFlagSet("drive", flag.ExitOnError)
	flags.StringVar(&o.frontend, "frontend", "connect-uds", "direct, connect-uds, connect-tcp or grpc-uds")
	address := flags.String("address", "", "where the frontend is: a socket's path or HOST:PORT")
	target := flags.String("target", "", "HOST:PORT of loadgen target, as seen by the agent")
	flags.StringVar(&o.scenario, "scenario", "", "what to do")
	flags.IntVar(&o.tunnels, "tunnels", 1, "how many tunnels")
	flags.Uint64Var(&o.bytes, "bytes", 0, "bulk: exactly so many bytes a tunnel (whole MiB), instead of a time")
	flags.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "time before the measured window")
	flags.DurationVar(&o.window, "window", 2*time.Second, "measured window")
	flags.DurationVar(&o.settle, "settle", time.Second, "stalled-*: time for buffers to fill")
	flags.DurationVar(&o.frozen, "frozen-after", 3*time.Second, "stalled-*: a request older than this counts as frozen")
	flags.DurationVar(&o.again, "again-within", 4*time.Second, "stalled-*: time to serve again once the slow party left")
	identityFlags(flags, &who)
	_ = flags.Parse(args)
	run, known := scenarios[o.scenario]
	if !known {
		return fmt.Errorf("there is no scenario %q", o.scenario)
	}
	dial, err := newDialer(o.frontend, *address, *target, who)
	if err != nil {
		return err
	}
	r := result{Scenario: o.scenario, Frontend: o.frontend, Tunnels: o.tunnels, Intact: true}
	if err := run(o, dial, &r); err != nil {
		r.fail(err)
	}
	r.CPUSeconds = cpuSeconds()
	return printJSON(r)
}

// openAll dials so many tunnels, a few at a time, and proves none of them yet.
func openAll(count int, dial dialer) ([]net.Conn, error) {
	const atATime = 32
	conns := make([]net.Conn, count)
	failures := make(chan error, count)
	slots := make(chan struct{}, atATime)
	for i := range conns {
		slots <- struct{}{}
		go func() {
			var err error
			conns[i], err = dial()
			<-slots
			failures <- err
		}()
	}
	var first error
	for range conns {
		if err := <-failures; err != nil && first == nil {
			first = fmt.Errorf("a tunnel could not be opened: %w", err)
		}
	}
	return conns, first
}

package main

import (
	"slices"
	"time"
)

// latency is a distribution in microseconds, from every single sample.
type latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func summarize(samples []time.Duration) *latency {
	if len(samples) == 0 {
		return nil
	}
	slices.Sort(samples)
	at := func(share float64) float64 {
		return float64(samples[int(share*float64(len(samples)-1))].Nanoseconds()) / 1e3
	}
	return &latency{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}

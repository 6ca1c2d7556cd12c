// Command loadgen is both ends of the benchmark: the target behind the tunnel, the driver in front of it, and a plain
// relay to compare with. It is native and measures its own CPU time, so that a table can show it was not what limits.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

const usage = `usage: loadgen target [--listen HOST:PORT]
       loadgen drive --frontend direct|connect-uds|connect-tcp|grpc-uds --address ADDRESS --target HOST:PORT --scenario NAME ...
       loadgen relay --listen unix:PATH|tls:HOST:PORT --to tls:HOST:PORT|tcp:HOST:PORT --cert FILE --key FILE --ca FILE
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	commands := map[string]func([]string) error{"target": runTarget, "drive": runDrive, "relay": runRelay}
	run, known := commands[os.Args[1]]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func printJSON(value any) error {
	return json.NewEncoder(os.Stdout).Encode(value)
}

// cpuSeconds is what this process has used so far, in user and kernel mode.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime)
}

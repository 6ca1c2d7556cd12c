package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
)

// runRelay is one hop of the plainest tunnel there could be: every connection becomes one connection to the next hop,
// with mutual TLS between the hops. It multiplexes nothing, so it is a limit and not a competitor.
func runRelay(args []string) error {
	flags := flag.NewFlagSet("relay", flag.ExitOnError)
	listen := flags.String("listen", "", "unix:PATH or tls:HOST:PORT")
	to := flags.String("to", "", "tls:HOST:PORT or tcp:HOST:PORT")
	var who identity
	identityFlags(flags, &who)
	_ = flags.Parse(args)
	config, err := who.config()
	if err != nil {
		return err
	}
	listener, err := listenAt(*listen, config)
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	for {
		near, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer near.Close()
			far, err := dialTo(*to, config)
			if err != nil {
				return
			}
			defer far.Close()
			ended := make(chan struct{}, 2)
			go copyUntilEnd(far, near, ended)
			go copyUntilEnd(near, far, ended)
			<-ended
		}()
	}
}

func listenAt(where string, config *tls.Config) (net.Listener, error) {
	if path, isUnix := strings.CutPrefix(where, "unix:"); isUnix {
		return net.Listen("unix", path)
	}
	if address, isTLS := strings.CutPrefix(where, "tls:"); isTLS {
		return tls.Listen("tcp", address, config)
	}
	return nil, errors.New("--listen must be unix:PATH or tls:HOST:PORT")
}

func dialTo(where string, config *tls.Config) (net.Conn, error) {
	if address, isTLS := strings.CutPrefix(where, "tls:"); isTLS {
		return tls.Dial("tcp", address, config)
	}
	if address, isTCP := strings.CutPrefix(where, "tcp:"); isTCP {
		return net.Dial("tcp", address)
	}
	return nil, errors.New("--to must be tls:HOST:PORT or tcp:HOST:PORT")
}

// copyUntilEnd hides ReadFrom and WriteTo from io.CopyBuffer, which would bring smaller buffers of its own.
func copyUntilEnd(to io.Writer, from io.Reader, ended chan<- struct{}) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, chunkSize))
	ended <- struct{}{}
}

func identityFlags(flags *flag.FlagSet, who *identity) {
	flags.StringVar(&who.cert, "cert", "", "certificate (PEM file)")
	flags.StringVar(&who.key, "key", "", "its key (PEM file)")
	flags.StringVar(&who.ca, "ca", "", "authority of the other side (PEM file)")
}

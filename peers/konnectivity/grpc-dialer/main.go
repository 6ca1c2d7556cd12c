// Command grpc-dialer lends upstream's konnectivity-client library, the one inside kube-apiserver, to programs that are
// not written in Go. A caller connects over TCP, sends "host:port\n", reads "OK\n" or "ERR <text>\n", and from then on
// the connection is the tunnel. The protocol knows no half-close: when either side ends, both are closed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

const (
	// kube-apiserver gives both the connection to the socket and the caller's dial this long.
	dialTimeout = 30 * time.Second
	// One read becomes one DATA packet, so this bounds the packet well below gRPC's 4 MiB message limit.
	bufferSize = 64 << 10
)

func main() {
	uds := flag.String("uds", "", "path of the proxy-server's gRPC frontend socket")
	listen := flag.String("listen", "127.0.0.1:0", "address to accept callers on; port 0 picks a free one")
	share := flag.Bool("share", false, "one connection to the frontend for all targets, not one for each")
	flag.Parse()
	if *uds == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: grpc-dialer --uds PATH [--listen HOST:PORT] [--share]")
		os.Exit(2)
	}
	dialTarget := func(target string) (net.Conn, error) { return dial(*uds, target) }
	if *share {
		var err error
		if dialTarget, err = sharedDialer(*uds); err != nil {
			fmt.Fprintln(os.Stderr, "grpc-dialer:", err)
			os.Exit(1)
		}
	}
	if err := serve(dialTarget, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "grpc-dialer:", err)
		os.Exit(1)
	}
}

func serve(dialTarget func(target string) (net.Conn, error), listen string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	for {
		caller, err := listener.Accept()
		if err != nil {
			return err
		}
		go handle(caller, dialTarget)
	}
}

func handle(caller net.Conn, dialTarget func(target string) (net.Conn, error)) {
	defer caller.Close()
	reader := bufio.NewReaderSize(caller, bufferSize)
	target, err := readTarget(caller, reader)
	if err != nil {
		answerError(caller, err)
		return
	}
	remote, err := dialTarget(target)
	if err != nil {
		answerError(caller, err)
		return
	}
	defer remote.Close()
	if _, err := io.WriteString(caller, "OK\n"); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	go pipe(remote, reader, ended)
	go pipe(caller, remote, ended)
	<-ended
}

func readTarget(caller net.Conn, reader *bufio.Reader) (string, error) {
	if err := caller.SetReadDeadline(time.Now().Add(dialTimeout)); err != nil {
		return "", err
	}
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("the first line must be host:port: %w", err)
	}
	target := strings.TrimSpace(string(line))
	if _, _, err := net.SplitHostPort(target); err != nil {
		return "", fmt.Errorf("the first line must be host:port: %w", err)
	}
	return target, caller.SetReadDeadline(time.Time{})
}

// dial opens a session of its own for every target: kube-apiserver's tunnels are single-use.
func dial(uds, target string) (net.Conn, error) {
	toSocket := func(ctx context.Context, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", uds)
	}
	// The context given here lives as long as the tunnel, so the time limit has to be an option instead.
	tunnel, err := client.CreateSingleUseGrpcTunnel(context.Background(), uds,
		grpc.WithContextDialer(toSocket),
		grpc.WithBlock(),
		grpc.WithReturnConnectionError(),
		grpc.WithTimeout(dialTimeout),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	return tunnel.DialContext(ctx, "tcp", target)
}

// pipe hides ReadFrom and WriteTo from io.CopyBuffer, which would otherwise bring smaller buffers of its own.
func pipe(to io.Writer, from io.Reader, ended chan<- struct{}) {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, bufferSize))
	if err != nil && !errors.Is(err, net.ErrClosed) {
		fmt.Fprintln(os.Stderr, "grpc-dialer: tunnel ended:", err)
	}
	ended <- struct{}{}
}

func answerError(caller net.Conn, err error) {
	fmt.Fprintf(caller, "ERR %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
}

package main

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

// grpcConn is a tunnel of upstream's client library together with the socket it runs on.
type grpcConn struct {
	net.Conn
	socket *atomic.Pointer[net.Conn]
}

// dialGRPC opens a session of its own for every target, as kube-apiserver does: its tunnels are single-use.
func dialGRPC(uds, target string) (net.Conn, error) {
	socket := new(atomic.Pointer[net.Conn])
	toSocket := func(ctx context.Context, _ string) (net.Conn, error) {
		var plain net.Dialer
		conn, err := plain.DialContext(ctx, "unix", uds)
		if err == nil {
			socket.Store(&conn)
		}
		return conn, err
	}
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
	conn, err := tunnel.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	return grpcConn{conn, socket}, nil
}

// leave ends a connection as the end of its process would. The library's own Close waits ten seconds for an answer that
// a stalled tunnel does not get, and only then lets go of the socket.
func leave(conn net.Conn) {
	if tunnel, isTunnel := conn.(grpcConn); isTunnel {
		if socket := tunnel.socket.Load(); socket != nil {
			(*socket).Close()
		}
	}
	go conn.Close()
}

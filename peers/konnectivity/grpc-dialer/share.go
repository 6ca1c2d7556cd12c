package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/proto/client"
)

// sharedDialer opens one gRPC connection for all targets. The library has no such thing, but the protocol allows it:
// each target gets a Proxy stream, and gRPC itself waits when the server takes no more of them.
func sharedDialer(uds string) (func(target string) (net.Conn, error), error) {
	toSocket := func(ctx context.Context, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", uds)
	}
	connection, err := grpc.NewClient("passthrough:///"+uds,
		grpc.WithContextDialer(toSocket),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	service := client.NewProxyServiceClient(connection)
	return func(target string) (net.Conn, error) { return dialOnStream(service, target) }, nil
}

func dialOnStream(service client.ProxyServiceClient, target string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := service.Proxy(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	request := &client.DialRequest{Protocol: "tcp", Address: target, Random: rand.Int63()}
	err = stream.Send(&client.Packet{
		Type:    client.PacketType_DIAL_REQ,
		Payload: &client.Packet_DialRequest{DialRequest: request},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	packet, err := stream.Recv()
	if err != nil {
		cancel()
		return nil, err
	}
	answer := packet.GetDialResponse()
	if answer == nil || answer.Error != "" {
		cancel()
		return nil, fmt.Errorf("the dial was answered with %v", packet)
	}
	near, far := net.Pipe()
	id := answer.ConnectID
	go func() {
		defer far.Close()
		receive(stream, far)
	}()
	go func() {
		defer cancel()
		send(stream, far, id)
	}()
	return near, nil
}

func receive(stream client.ProxyService_ProxyClient, to io.Writer) {
	for {
		packet, err := stream.Recv()
		if err != nil || packet.GetCloseResponse() != nil {
			return
		}
		if _, err := to.Write(packet.GetData().GetData()); err != nil {
			return
		}
	}
}

func send(stream client.ProxyService_ProxyClient, from io.Reader, id int64) {
	buffer := make([]byte, bufferSize)
	for {
		count, err := from.Read(buffer)
		if err != nil {
			return
		}
		data := &client.Data{ConnectID: id, Data: buffer[:count]}
		packet := &client.Packet{Type: client.PacketType_DATA, Payload: &client.Packet_Data{Data: data}}
		if stream.Send(packet) != nil {
			return
		}
	}
}

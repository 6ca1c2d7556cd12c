package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// identity is a certificate and the authority its peer is checked against.
type identity struct{ cert, key, ca string }

func (i identity) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(i.cert, i.key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(i.ca)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", i.ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      authority,
		ClientCAs:    authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   "localhost",
	}, nil
}

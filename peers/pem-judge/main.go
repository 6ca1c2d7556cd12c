// Command pem-judge says what Go reads in PEM texts. It takes a JSON list of cases on standard input, each with its text in
// base64, and answers with a JSON list.
//
// A case of the kind "request" is read as Kubernetes reads spec.request of a CertificateSigningRequest (ParseCSR of
// k8s.io/kubernetes/pkg/apis/certificates): the first block that encoding/pem finds, parsed by crypto/x509. What its signer
// would put into a certificate is the answer. A case of the kind "bundle" is read as crypto/x509 reads a CA bundle.
package main

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
)

type question struct {
	Kind string `json:"kind"`
	Text []byte `json:"text"`
}

type request struct {
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	// Every part of the subject, as "2.5.4.3=text".
	Parts      []string `json:"parts"`
	DNSNames   []string `json:"dnsNames"`
	Addresses  []string `json:"addresses"`
	Emails     []string `json:"emails"`
	URIs       []string `json:"uris"`
	Extensions []string `json:"extensions"`
	Key        string   `json:"key"`
	// Hash of the whole block, so that two readers can tell that they read the same one.
	Hash          string `json:"hash"`
	SignatureFits bool   `json:"signatureFits"`
}

type bundle struct {
	// Hashes of the certificates.
	Certificates []string `json:"certificates"`
	// Blocks that are labelled as certificates and cannot be parsed.
	Broken int `json:"broken"`
}

type answer struct {
	Error   string   `json:"error,omitempty"`
	Request *request `json:"request,omitempty"`
	Bundle  *bundle  `json:"bundle,omitempty"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, "pem-judge: standard input must be a JSON list of cases:", err)
		os.Exit(2)
	}
	answers := make([]answer, 0, len(questions))
	for _, asked := range questions {
		if asked.Kind == "bundle" {
			answers = append(answers, answer{Bundle: readBundle(asked.Text)})
			continue
		}
		found, err := readRequest(asked.Text)
		if err != nil {
			answers = append(answers, answer{Error: err.Error()})
			continue
		}
		answers = append(answers, answer{Request: found})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "pem-judge:", err)
		os.Exit(1)
	}
}

func readRequest(text []byte) (*request, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, fmt.Errorf("PEM block type must be CERTIFICATE REQUEST")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	found := &request{
		CommonName:    csr.Subject.CommonName,
		Organizations: append([]string{}, csr.Subject.Organization...),
		Parts:         []string{},
		DNSNames:      append([]string{}, csr.DNSNames...),
		Addresses:     []string{},
		Emails:        append([]string{}, csr.EmailAddresses...),
		URIs:          []string{},
		Extensions:    []string{},
		Key:           keyName(csr.PublicKey),
		Hash:          hashOf(block.Bytes),
		SignatureFits: csr.CheckSignature() == nil,
	}
	for _, part := range csr.Subject.Names {
		found.Parts = append(found.Parts, fmt.Sprintf("%s=%v", part.Type, part.Value))
	}
	for _, address := range csr.IPAddresses {
		found.Addresses = append(found.Addresses, address.String())
	}
	for _, uri := range csr.URIs {
		found.URIs = append(found.URIs, uri.String())
	}
	for _, extension := range csr.Extensions {
		found.Extensions = append(found.Extensions, extension.Id.String())
	}
	return found, nil
}

func keyName(key any) string {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return key.Params().Name
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", key.N.BitLen())
	default:
		return fmt.Sprintf("%T", key)
	}
}

// readBundle is x509.CertPool.AppendCertsFromPEM, but keeps what it finds in order and counts what it passes over.
func readBundle(text []byte) *bundle {
	found := &bundle{Certificates: []string{}}
	for len(text) > 0 {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			found.Broken++
			continue
		}
		found.Certificates = append(found.Certificates, hashOf(block.Bytes))
	}
	return found
}

func hashOf(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

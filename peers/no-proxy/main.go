// Command no-proxy asks Go's own reading of NO_PROXY. It takes a JSON list of questions on standard input and answers
// with a JSON list of booleans: does a request to that host and port go past the proxy?
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

type question struct {
	NoProxy string `json:"noProxy"`
	Host    string `json:"host"`
	Port    string `json:"port"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, "no-proxy: standard input must be a JSON list of questions:", err)
		os.Exit(2)
	}
	answers := make([]bool, 0, len(questions))
	for _, asked := range questions {
		answers = append(answers, bypasses(asked))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "no-proxy:", err)
		os.Exit(1)
	}
}

func bypasses(asked question) bool {
	config := httpproxy.Config{HTTPSProxy: "http://proxy.invalid:3128", NoProxy: asked.NoProxy}
	target := &url.URL{Scheme: "https", Host: net.JoinHostPort(asked.Host, asked.Port)}
	proxy, err := config.ProxyFunc()(target)
	return err == nil && proxy == nil
}

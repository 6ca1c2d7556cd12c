//go:build suite

// Package konnectivity only keeps the upstream integration suite's own dependencies in go.mod; nothing compiles it.
package konnectivity

import _ "sigs.k8s.io/apiserver-network-proxy/tests/framework"

//go:build tools

// Package ignition names the programs that are built from the real module, so that go.mod keeps what they need.
package ignition

import (
	_ "github.com/coreos/ignition/v2/internal"
	_ "github.com/coreos/ignition/v2/validate"
)

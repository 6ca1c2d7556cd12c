package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

const (
	blockSize = 1 << 20
	// Every piece of this size begins with its own number, so a piece lost, doubled or moved shows, also by whole blocks.
	stampEvery = 64 << 10
)

// pattern is an endless stream that sender and receiver each make for themselves: a random block keyed by the seed,
// repeated, with running numbers stamped into it. Checking a byte costs one memory comparison; a tunnel's bytes in
// another tunnel differ from the first one on, because every tunnel has a seed of its own.
type pattern struct {
	seed  uint64
	block []byte
	at    int
	pass  uint64
	total uint64
}

func newPattern(seed uint64) *pattern {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	p := &pattern{seed: seed, block: make([]byte, blockSize)}
	_, _ = rand.NewChaCha8(key).Read(p.block)
	p.stamp()
	return p
}

func (p *pattern) stamp() {
	for at := 0; at < blockSize; at += stampEvery {
		number := p.pass*(blockSize/stampEvery) + uint64(at/stampEvery)
		binary.LittleEndian.PutUint64(p.block[at:], p.seed^number)
	}
}

// next gives the following bytes, at least one and at most n; they are valid until the next call.
func (p *pattern) next(n int) []byte {
	if p.at == blockSize {
		p.at = 0
		p.pass++
		p.stamp()
	}
	piece := p.block[p.at:min(p.at+n, blockSize)]
	p.at += len(piece)
	p.total += uint64(len(piece))
	return piece
}

// check compares what arrived with what must come next.
func (p *pattern) check(got []byte) error {
	for len(got) > 0 {
		offset := p.total
		want := p.next(len(got))
		if !bytes.Equal(want, got[:len(want)]) {
			first := 0
			for want[first] == got[first] {
				first++
			}
			return wrongBytes{fmt.Sprintf("byte %d is %#02x instead of %#02x", offset+uint64(first), got[first], want[first])}
		}
		got = got[len(want):]
	}
	return nil
}

// wrongBytes is corruption, as opposed to a connection that failed.
type wrongBytes struct{ text string }

func (w wrongBytes) Error() string { return w.text }

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"io"

	spec "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/validate"
	"github.com/vincent-petithory/dataurl"
)

// render follows data URLs only. The references it followed are gone from its answer: Ignition keeps them in its own
// cache, where they mean nothing any more.
func render(raw []byte) answer {
	top := judge(raw)
	if !top.OK {
		return top
	}
	rendered, err := inPlace(*top.Config)
	if err != nil {
		return answer{Error: err.Error(), Report: []entry{}}
	}
	rendered.Ignition.Config = types.IgnitionConfig{}
	r := validate.ValidateWithContext(rendered, nil)
	return answer{OK: !r.IsFatal(), Report: entries(r), Config: &rendered}
}

func inPlace(config types.Config) (types.Config, error) {
	if replace := config.Ignition.Config.Replace; replace.Source != nil {
		replacement, err := referenced(replace)
		if err != nil {
			return types.Config{}, err
		}
		return inPlace(replacement)
	}
	result := config
	for _, reference := range config.Ignition.Config.Merge {
		child, err := referenced(reference)
		if err != nil {
			return types.Config{}, err
		}
		if child, err = inPlace(child); err != nil {
			return types.Config{}, err
		}
		result = spec.Merge(result, child)
	}
	return result, nil
}

func referenced(reference types.Resource) (types.Config, error) {
	raw, err := content(reference)
	if err != nil {
		return types.Config{}, err
	}
	a := judge(raw)
	if !a.OK {
		return types.Config{}, errors.New(a.Error)
	}
	return *a.Config, nil
}

func content(reference types.Resource) ([]byte, error) {
	url, err := dataurl.DecodeString(*reference.Source)
	if err != nil {
		return nil, err
	}
	raw := url.Data
	if reference.Compression != nil && *reference.Compression == "gzip" {
		reader, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if raw, err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
	function, sum, err := reference.Verification.HashParts()
	if err != nil || function == "" {
		return raw, err
	}
	return raw, verified(function, sum, raw)
}

func verified(function, sum string, raw []byte) error {
	var digest []byte
	switch function {
	case "sha256":
		hash := sha256.Sum256(raw)
		digest = hash[:]
	case "sha512":
		hash := sha512.Sum512(raw)
		digest = hash[:]
	}
	wanted, err := hex.DecodeString(sum)
	if err != nil || !bytes.Equal(wanted, digest) {
		return errors.New("hash verification failed")
	}
	return nil
}

// ignition-judge answers what the real Ignition module makes of configs: one question a line on stdin, one answer a
// line on stdout, both JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	spec "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/validate"
	"github.com/coreos/vcontext/report"
)

// question asks for the verdict on Config, for what Render becomes once the configs it refers to are in their places,
// or else for the merge of Child over Parent.
type question struct {
	Config *[]byte `json:"config"`
	Render *[]byte `json:"render"`
	Parent []byte  `json:"parent"`
	Child  []byte  `json:"child"`
}

type entry struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

type answer struct {
	OK     bool          `json:"ok"`
	Error  string        `json:"error,omitempty"`
	Report []entry       `json:"report"`
	Config *types.Config `json:"config,omitempty"`
}

func entries(r report.Report) []entry {
	list := []entry{}
	for _, e := range r.Entries {
		steps := make([]string, len(e.Context.Path))
		for i, step := range e.Context.Path {
			steps[i] = fmt.Sprint(step)
		}
		list = append(list, entry{Kind: e.Kind.String(), Path: strings.Join(steps, "."), Message: e.Message})
	}
	return list
}

func judge(raw []byte) answer {
	config, r, err := spec.ParseCompatibleVersion(raw)
	if err != nil {
		return answer{Error: err.Error(), Report: entries(r)}
	}
	return answer{OK: !r.IsFatal(), Report: entries(r), Config: &config}
}

// merge is asked only of valid configs; whether their merge is valid, duplicates included, is its verdict.
func merge(parent, child []byte) answer {
	above, below := judge(parent), judge(child)
	if !above.OK || !below.OK {
		return answer{Error: "parent or child is not valid", Report: append(above.Report, below.Report...)}
	}
	merged := spec.Merge(*above.Config, *below.Config)
	r := validate.ValidateWithContext(merged, nil)
	return answer{OK: !r.IsFatal(), Report: entries(r), Config: &merged}
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for questions.More() {
		var q question
		if err := questions.Decode(&q); err != nil {
			fmt.Fprintln(os.Stderr, "ignition-judge: a question is not JSON:", err)
			os.Exit(1)
		}
		var a answer
		switch {
		case q.Config != nil:
			a = judge(*q.Config)
		case q.Render != nil:
			a = render(*q.Render)
		default:
			a = merge(q.Parent, q.Child)
		}
		if err := answers.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, "ignition-judge:", err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		os.Exit(1)
	}
}

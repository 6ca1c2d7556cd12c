// Reads one JSON string a line and answers, as JSON, what Go's own parsers make of it.
package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func answer(value any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(value)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		duration, durationErr := time.ParseDuration(text)
		integer, integerErr := strconv.ParseInt(text, 0, 64)
		boolean, booleanErr := strconv.ParseBool(text)
		fields, fieldsErr := csv.NewReader(strings.NewReader(text)).Read()
		record, _ := json.Marshal(fields)
		if err := output.Encode(map[string]string{
			"duration": answer(duration, durationErr),
			"integer":  answer(integer, integerErr),
			"boolean":  answer(boolean, booleanErr),
			"csv":      answer(string(record), fieldsErr),
		}); err != nil {
			panic(err)
		}
	}
}

// Service adapter that deploys @NAME@: a server with its own password for each service instance.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

const version = "@NAME@ 0.1.0"

var subcommands = map[string]func(section) (any, error){
	"generate-manifest":     generateManifest,
	"dashboard-url":         dashboardURL,
	"create-binding":        createBinding,
	"delete-binding":        deleteBinding,
	"generate-plan-schemas": generatePlanSchemas,
}

// A section is the input of a subcommand. Each value is an id, the text of a JSON document, or YAML.
type section map[string]string

// decode reads a JSON document. One that is absent leaves the target unchanged.
func (s section) decode(name string, target any) error {
	if s[name] == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s[name]), target); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// A userError is one that the user can fix. All others are for the operator: they must not contain secrets.
type userError string

func (e userError) Error() string { return string(e) }

func main() {
	arguments := os.Args[1:]
	if len(arguments) == 1 && arguments[0] == "--version" {
		fmt.Println(version)
		return
	}
	answer, err := handle(arguments, os.Stdin)
	if err != nil {
		var forUser userError
		if errors.As(err, &forUser) {
			fmt.Println(forUser)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if answer != nil {
		fmt.Println(string(answer))
	}
}

func handle(arguments []string, stdin io.Reader) ([]byte, error) {
	document, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	if len(arguments) != 1 || subcommands[arguments[0]] == nil {
		return nil, fmt.Errorf("expected one argument, a subcommand: %s", names(subcommands))
	}
	name := strings.ReplaceAll(arguments[0], "-", "_")
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(document, &sections); err != nil {
		return nil, err
	}
	var call section
	if err := json.Unmarshal(sections[name], &call); err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	answer, err := subcommands[arguments[0]](call)
	if err != nil || answer == nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func names[V any](named map[string]V) string {
	list := []string{}
	for name := range named {
		list = append(list, name)
	}
	if len(list) == 0 {
		return "none"
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

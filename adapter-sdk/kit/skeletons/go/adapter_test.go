package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Runs `odb-adapter check` as a test.
func TestItFollowsTheProtocol(t *testing.T) {
	adapter := filepath.Join(t.TempDir(), "@NAME@")
	if built, err := exec.Command("go", "build", "-o", adapter).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, built)
	}
	checked, err := exec.Command("odb-adapter", "check", "--inputs", "adapter-check.yml", adapter).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, checked)
	}
}

package devenv

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	mariaDBVersion  = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)(-MariaDB)?`)
	temporalVersion = regexp.MustCompile(`Server (\d+)\.(\d+)\.(\d+)`)
)

// checkMariaDBVersion refuses servers without SKIP LOCKED or without CHECKs that are enforced.
func checkMariaDBVersion(ctx context.Context, path string) error {
	out, err := command(ctx, path, "--no-defaults", "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	found := mariaDBVersion.FindStringSubmatch(string(out))
	if found == nil {
		return fmt.Errorf("%s does not tell its version: %q", path, strings.TrimSpace(string(out)))
	}
	need := []string{"8", "0", "16"}
	if found[4] != "" {
		need = []string{"10", "6", "0"}
	}
	if versionNumber(found[1:4]) < versionNumber(need) {
		return fmt.Errorf("%s is version %s; MySQL 8.0.16 or MariaDB 10.6 is needed", path, found[0])
	}
	return nil
}

// checkTemporalVersion refuses servers on which a signal does not cut a start delay short. One that
// tells no version is taken at its word.
func checkTemporalVersion(ctx context.Context, path string) error {
	out, err := command(ctx, path, "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	found := temporalVersion.FindStringSubmatch(string(out))
	if found != nil && versionNumber(found[1:4]) < versionNumber([]string{"1", "29", "0"}) {
		return fmt.Errorf("%s brings Temporal server %s; 1.29 is needed, which its release %s brings: update it, or take it off PATH to have one built",
			path, strings.Join(found[1:4], "."), TemporalVersion)
	}
	return nil
}

// versionNumber makes the three parts of a version comparable.
func versionNumber(parts []string) (n int) {
	for _, part := range parts {
		i, _ := strconv.Atoi(part) // the patterns let digits through only
		n = n*1000 + i
	}
	return n
}

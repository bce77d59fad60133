package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// chromiumPackages hold a browser, and letters for it to draw.
var chromiumPackages = []string{"chromium", "fonts-dejavu-core"}

// FindChromium gives the browser that tests of the console drive, and installs it by apt-get where it is missing and
// that may be done. dir is the project's .dev folder. Several processes may call it at once.
func FindChromium(ctx context.Context, dir string, report Report) (string, error) {
	bin, err := filepath.Abs(filepath.Join(dir, "bin"))
	if err == nil {
		err = os.MkdirAll(bin, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("make the folder for binaries: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(bin, ".lock"), report)
	if err != nil {
		return "", err
	}
	defer unlock()
	look := func() string { return which(bin, "chromium", "chromium-browser", "google-chrome") }
	if path := look(); path != "" {
		return path, nil
	}
	if why := mayNotInstall(); why != "" {
		return "", fmt.Errorf("the browser Chromium is missing, and %s. Debian or Ubuntu: sudo apt-get install chromium", why)
	}
	if err := aptInstall(ctx, report, chromiumPackages); err != nil {
		return "", err
	}
	if path := look(); path != "" {
		return path, nil
	}
	return "", errors.New("the package chromium was installed and holds no chromium")
}

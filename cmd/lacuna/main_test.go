package main

import (
	"testing"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

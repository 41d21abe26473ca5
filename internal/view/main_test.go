package view

import (
	"os"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

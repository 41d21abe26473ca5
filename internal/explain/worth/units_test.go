package worth_test

import "github.com/stepscope/stepscope/internal/testing/explaintest"

const us = explaintest.US

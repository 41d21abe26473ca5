package explain_test

import "github.com/stepscope/stepscope/internal/testing/explaintest"

const us, ms = explaintest.US, explaintest.MS

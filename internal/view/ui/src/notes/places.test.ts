import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, target } from "./places";

test("a note leads to its view of the capture that is open, and of its server", () => {
  const address = kept({ tab: "timeline", c: "0:decode-1", theme: "dark", step: "8" });
  assert.equal(address, "#tab=timeline&step=8");
  assert.deepEqual({ ...target({ address, server: "" }, { tab: "summary", theme: "light" }) }, { tab: "timeline", step: "8", theme: "light" });
  assert.deepEqual({ ...target({ address, server: "decode-1" }, { c: "20260101-run:prefill-0" }) }, { tab: "timeline", step: "8", c: "20260101-run:decode-1" });
  assert.deepEqual({ ...target({ address, server: "" }, { c: "20260101-run" }) }, { tab: "timeline", step: "8", c: "20260101-run" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Column, csvLine, filtered, sorted } from "./table";

interface Row {
  name: string;
  n: number;
}

const rows: Row[] = [{ name: "b", n: 2 }, { name: "C", n: NaN }, { name: "a", n: 10 }, { name: "d", n: 2 }];
const columns: Column<Row>[] = [{ id: "name", title: "", text: (r) => r.name }, { id: "n", title: "", text: (r) => String(r.n), num: (r) => r.n }];

test("rows are sorted by a column, either way, and what is no number stands last", () => {
  for (const [sort, want] of [["name", "abCd"], ["-name", "dCba"], ["n", "bdaC"], ["-n", "abdC"], ["nothing", "bCad"]]) {
    assert.equal(sorted(rows, columns, sort).map((r) => r.name).join(""), want, sort);
  }
  const endless: Row[] = [{ name: "x", n: 1 }, { name: "y", n: Infinity }, { name: "z", n: Infinity }, { name: "n", n: NaN }];
  assert.equal(sorted(endless, columns, "-n").map((r) => r.name).join(""), "yzxn");
});

test("a filter wants all words", () => {
  const names = ["nvjet_sm90 GEMM", "ampere_gemm splitK", "ncclDevKernel"];
  assert.deepEqual(filtered(names, (n) => n, " gemm  SPLIT"), ["ampere_gemm splitK"]);
  assert.deepEqual(filtered(names, (n) => n, ""), names);
});

test("values of a spreadsheet are no formulas", () => {
  assert.equal(csvLine(["a", 1.5, NaN, 'say "x", y', "=HYPERLINK(1)", "-2", "x\ny"]), 'a,1.5,,"say ""x"", y",\'=HYPERLINK(1),\'-2,"x\ny"\r\n');
});

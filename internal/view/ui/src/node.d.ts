// What tests use of node.

declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  const assert: {
    equal(got: unknown, want: unknown, message?: string): void;
    deepEqual(got: unknown, want: unknown, message?: string): void;
    throws(run: () => unknown, how?: RegExp): void;
    ok(value: unknown, message?: string): asserts value;
  };
  export default assert;
}

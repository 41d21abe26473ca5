"use strict";
// The hand-over, in the order of its phases:
//
//   blocked   the browser wants a click before it opens a tab
//   knocking  PING every 50 ms: Perfetto drops messages until it listens, so only a PONG tells that it does
//   settling  it listens; wait until the PONGs to earlier PINGs have come in, so that the last one proves something
//   loading   Perfetto is ready, the trace is not read yet
//   sent      the buffer was posted, followed by one PING: messages keep their order, so its PONG says "taken"
//   done, failed
(() => {
  const setup = JSON.parse(document.body.dataset.setup);
  const PING_MS = 50, SETTLE_MS = 250, HINT_MS = setup.patience / 12;
  const $ = (id) => document.getElementById(id);
  const seconds = (ms) => `${Math.round(ms / 1000)} s`;

  let phase = "blocked";
  let perfetto = null; // the tab we opened
  let trace = null;    // ArrayBuffer, once read; null again when it was given away
  let reading = false;
  let knock = 0, settle = 0, hint = 0, limit = 0; // timers

  function mark(step, state, note = "") {
    $(step).className = state;
    $(step).querySelector(".note").textContent = note;
  }

  function say(text, kind = "") {
    $("status").className = kind;
    $("status").textContent = text;
  }

  function offer(label) {
    $("go").textContent = label;
    $("go").hidden = false;
  }

  function stopTimers() {
    clearInterval(knock); clearTimeout(settle); clearTimeout(hint); clearTimeout(limit);
  }

  function report(body) {
    // keepalive: the person may close the page the moment Perfetto shows the trace.
    return fetch("report", {method: "POST", body: JSON.stringify(body), keepalive: true}).catch(() => {});
  }

  function fail(step, text) {
    stopTimers();
    phase = "failed";
    delete document.body.dataset.reported;
    for (const id of ["open", "give"]) { // reading goes on by itself
      if ($(id).className === "active") mark(id, "");
    }
    mark(step, "failed");
    say(text, "failed");
    offer("Try again");
    $("help").hidden = step === "read"; // what cannot be read cannot be saved either
    report({state: "failed", reason: text}).then(() => { document.body.dataset.reported = "failed"; });
  }

  // read fetches the trace into one buffer of its exact size: growing one would need the memory twice.
  async function read() {
    if (trace || reading) return;
    reading = true;
    mark("read", "active");
    try {
      const answer = await fetch("trace", {cache: "no-store"}).catch(() => {
        throw new Error("stepscope has ended. Start it again.");
      });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      const size = Number(answer.headers.get("Content-Length"));
      let bytes;
      try {
        bytes = new Uint8Array(size);
      } catch {
        throw new Error("The trace is larger than this browser can hold in one piece. Cut it to fewer steps first.");
      }
      const stream = answer.body.getReader();
      let have = 0;
      for (;;) {
        const {done, value} = await stream.read().catch(() => {
          throw new Error("Reading the trace was interrupted. stepscope may have been stopped.");
        });
        if (done) break;
        if (have + value.length > size) throw new Error("The file grew while it was being read. Wait until its writer has finished.");
        bytes.set(value, have);
        have += value.length;
        $("read").querySelector("progress").value = have / size;
        $("read").querySelector(".note").textContent = `${Math.floor(100 * have / size)} %`;
      }
      if (have !== size) throw new Error("The file shrank while it was being read.");
      trace = bytes.buffer;
      mark("read", "done");
      if (phase === "loading") send();
    } catch (err) {
      fail("read", err.message);
    } finally {
      reading = false;
    }
  }

  // open needs a click in most browsers, so it is tried once without and then left to the button.
  function open() {
    stopTimers();
    perfetto?.close(); // of an earlier try
    perfetto = window.open(setup.link);
    if (!perfetto || perfetto.closed) {
      phase = "blocked";
      mark("open", "");
      say("Your browser opens the Perfetto tab only after a click.");
      offer("Open in Perfetto");
      return;
    }
    phase = "knocking";
    $("go").hidden = true;
    $("help").hidden = true;
    mark("open", "active", "waiting for Perfetto");
    mark("give", "");
    say("");
    knock = setInterval(ping, PING_MS);
    hint = setTimeout(() => {
      say(`Perfetto has not answered yet. If its tab shows an error, ${new URL(setup.origin).host} cannot be reached from here.`);
      $("help").hidden = false;
    }, HINT_MS);
    limit = setTimeout(() => fail("open", `Perfetto did not answer within ${seconds(setup.patience)}. Check the network.`), setup.patience);
  }

  function ping() {
    if (perfetto.closed) {
      fail(phase === "sent" ? "give" : "open", "The Perfetto tab was closed before it had the trace.");
      return;
    }
    // Until its page is there the tab has another origin, and the browser drops this.
    perfetto.postMessage("PING", setup.origin);
  }

  function send() {
    phase = "sent";
    mark("give", "active", "passing it on");
    const message = {perfetto: {
      buffer: trace,
      title: setup.title,
      fileName: setup.fileName,
      keepApiOpen: true, // else Perfetto stops listening and cannot confirm
    }};
    try {
      perfetto.postMessage(message, {targetOrigin: setup.origin, transfer: [trace]});
    } catch (err) {
      fail("give", `The browser could not pass the trace on: ${err.message}`);
      return;
    }
    trace = null;
    ping();
    knock = setInterval(() => perfetto.closed && ping(), 500);
    limit = setTimeout(() => fail("give", `Perfetto did not confirm the trace within ${seconds(setup.patience)}. The trace may be too large for it: cut it to fewer steps.`), setup.patience);
  }

  async function finish() {
    stopTimers();
    phase = "done";
    mark("give", "done");
    await report({state: "done"});
    $("go").hidden = true;
    $("help").hidden = true;
    say("Perfetto has the trace. You can close this page.", "done");
    document.title = "✓ " + document.title;
  }

  function ready() {
    stopTimers();
    mark("open", "done");
    say("");
    $("help").hidden = true;
    if (trace) {
      send();
    } else {
      phase = "loading";
      knock = setInterval(() => perfetto.closed && ping(), 500);
      read();
    }
  }

  window.addEventListener("message", (event) => {
    if (event.origin !== setup.origin || event.source !== perfetto || event.data !== "PONG") return;
    switch (phase) {
      case "knocking":
        phase = "settling";
        stopTimers();
        // fallthrough
      case "settling":
        clearTimeout(settle);
        settle = setTimeout(ready, SETTLE_MS);
        break;
      case "sent":
        finish();
    }
  });

  $("go").addEventListener("click", () => { open(); read(); });
  $("go").hidden = true;
  read();
  open();
})();

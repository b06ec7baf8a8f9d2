import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { suite, test } from "node:test";

import { LarderError } from "../../src/errors.ts";
import { buildImage } from "../../testbed/built-image.ts";
import { until } from "../../testbed/until.ts";
import { filesOf } from "../image/files-of.ts";
import { bytesOf, failureOf, pair, sample } from "./client.ts";

const blobs = /\/blobs\//;

/** An image that is resolved, so that what follows hits its one layer. */
async function resolved(...args: Parameters<typeof pair>) {
  const all = await pair(...args);
  const image = await all.from.image(all.name);
  const layer = image.layers[0];
  if (layer === undefined) throw new Error("no layer");
  const blob = all.image.layers[0]?.blob ?? Buffer.alloc(0);
  all.at.seen.length = 0;
  return { ...all, layer, blob, ranges: () => all.at.seen.map(({ headers }) => headers.range) };
}

suite("a blob over a bad connection", () => {
  test("a connection that drops mid-blob resumes with a Range request from the byte reached", async (t) => {
    const { at, layer, blob, ranges } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.deepEqual(ranges(), [undefined, "bytes=100000-"]);
  });

  for (const compression of ["none", "gzip", "zstd"] as const) {
    test(`a layer (${compression}) that drops again and again is unpacked whole, inside the same hash and the same decompressor`, async (t) => {
      const content = randomBytes(300_000);
      const layer = { entries: [{ path: "images/a.tar", content }], compression };
      const { at, from, name } = await pair(t, buildImage({ layers: [layer] }));
      const image = await from.image(name);
      at.misbehave(blobs, { kind: "cut", after: 70_001 }, 3);
      at.misbehave(blobs, { kind: "cut", after: 250_003, ignoreRange: true });
      assert.deepEqual(await filesOf(image), { "a.tar": content });
      assert.equal(from.notices.length, 4);
    });
  }

  test("the user is told of each retry: what, why and for how long it waits", async (t) => {
    const { at, layer, from } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    await bytesOf(layer);
    const [notice] = from.notices;
    assert.ok(notice?.kind === "retry");
    assert.match(notice.what, /^layer 1 of 1 of .*team\/app:1$/);
    assert.match(notice.why, /connection/);
    assert.equal(notice.delayMs, 750);
  });

  test("a registry that ignores Range restarts that blob, and the bytes already read are not handed on twice", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    at.misbehave(blobs, { kind: "ignore range" });
    assert.deepEqual(await bytesOf(layer), blob);
  });

  test("a 200 answer to a Range request means from the start, also when it is cut before the byte reached", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    at.misbehave(blobs, { kind: "cut", after: 50_000, ignoreRange: true });
    at.misbehave(blobs, { kind: "cut", after: 150_000, ignoreRange: true });
    assert.deepEqual(await bytesOf(layer), blob);
  });

  for (const [name, value] of [
    ["later than asked", "bytes 200000-299999/300000"],
    ["unreadable", "bytes everything"],
    ["missing its unit", "100000-299999/300000"],
  ] as const) {
    test(`a Content-Range that is ${name} is not trusted: the blob is asked for from the start`, async (t) => {
      const { at, layer, blob, ranges } = await resolved(t);
      at.misbehave(blobs, { kind: "cut", after: 100_000 });
      at.misbehave(blobs, { kind: "headers", headers: { "Content-Range": value } });
      assert.deepEqual(await bytesOf(layer), blob);
      assert.deepEqual(ranges(), [undefined, "bytes=100000-", undefined]);
    });
  }

  test("a Content-Range of another total size is an error naming both sizes", async (t) => {
    const { at, layer } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    const headers = { "Content-Range": "bytes 100000-299999/310000" };
    at.misbehave(blobs, { kind: "headers", headers });
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "digest");
    assert.match(error.message, /300000 bytes.*310000/);
  });

  test("a 416 to a Range request is answered by asking from the start", async (t) => {
    const { at, layer, blob, ranges } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    at.misbehave(blobs, { kind: "answer", status: 416 });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.deepEqual(ranges(), [undefined, "bytes=100000-", undefined]);
  });

  test("a blob that got further starts the count of tries anew", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 20_000 }, 12);
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(at.seen.length, 13);
  });

  test("a blob that gets no further fails after 6 tries", async (t) => {
    const { at, layer } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 0 }, Infinity);
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "network");
    assert.match(error.message, /^cannot get layer 1 of 1 of .*team\/app:1 from .*tried 6 times/);
    assert.equal(at.seen.length, 6);
  });

  test("a registry that ignores Range and cuts at the same byte each time fails after 6 tries more", async (t) => {
    const { at, layer } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000, ignoreRange: true }, Infinity);
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "network");
    assert.ok(at.seen.length <= 7, `${at.seen.length} requests`);
  });

  test("no byte for as long as a stall may last counts as a drop, and is resumed", async (t) => {
    const { at, layer, blob, ranges, from } = await resolved(t, sample(), {
      limits: { stallMs: 100 },
    });
    at.misbehave(blobs, { kind: "stall", after: 100_000 });
    at.misbehave(blobs, { kind: "stall" });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.deepEqual(ranges(), [undefined, "bytes=100000-", "bytes=100000-"]);
    assert.ok(
      from.notices.every((notice) => notice.kind === "retry" && /no byte/.test(notice.why)),
    );
  });

  test("slow bytes are no stall", async (t) => {
    const { at, layer, blob } = await resolved(t, sample(), { limits: { stallMs: 500 } });
    at.misbehave(blobs, { kind: "slow", bytes: 30_000, everyMs: 80 });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(at.seen.length, 1);
  });

  test("the time that the reader takes is no stall of the registry", async (t) => {
    // Larger than all that sockets and the read-ahead hold, so that the network waits for the reader.
    const large = buildImage({
      layers: [{ tar: Buffer.alloc(32_000_000, 7), compression: "none" }],
    });
    const { at, layer } = await resolved(t, large, { limits: { stallMs: 400 } });
    let length = 0;
    for await (const chunk of layer.open(new AbortController().signal)) {
      if (length === 0) await new Promise((resolve) => setTimeout(resolve, 900));
      length += chunk.length;
    }
    assert.equal(length, 32_000_000);
    assert.equal(at.seen.length, 1);
  });

  test("a pull that is over leaves no listener on its signal", async (t) => {
    const { at, from, name } = await pair(t);
    const { signal } = new AbortController();
    at.misbehave(blobs, { kind: "cut", after: 10 }, 3);
    await bytesOf((await from.image(name, signal)).layers[0], signal);
    const listeners = () => getEventListeners(signal, "abort").length;
    await until("no listener is left", () => listeners() === 0);
  });

  test("the time that a slow reader takes is not counted as time without progress", async (t) => {
    const { at, layer, from, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "cut", after: 100_000 });
    const chunks: Buffer[] = [];
    for await (const chunk of layer.open(new AbortController().signal)) {
      chunks.push(chunk);
      from.clock.leap(600_000);
    }
    assert.deepEqual(Buffer.concat(chunks), blob);
  });

  test("a blob longer than declared is never read beyond that: refused at its Content-Length, with both sizes", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "bytes", body: Buffer.concat([blob, Buffer.alloc(10)]) });
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "digest");
    assert.match(error.message, /300000 bytes.*300010/);
    assert.equal(at.seen.length, 1);
  });

  test("a blob longer than declared without a Content-Length is refused at the first byte too many", async (t) => {
    const { at, layer, blob } = await resolved(t);
    const body = Buffer.concat([blob, Buffer.alloc(1_000_000)]);
    at.misbehave(blobs, { kind: "bytes", body, chunked: true });
    let length = 0;
    const error = await failureOf(
      (async () => {
        for await (const chunk of layer.open(new AbortController().signal)) length += chunk.length;
      })(),
    );
    assert.equal(error.code, "digest");
    assert.match(error.message, /300000 bytes/);
    assert.ok(length <= 300_000);
  });

  test("a blob shorter than declared is refused at its Content-Length, with both sizes", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "bytes", body: blob.subarray(0, 1000) });
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "digest");
    assert.match(error.message, /300000 bytes.*1000/);
  });

  test("a blob that ends early without a Content-Length is resumed, and in the end refused with both sizes", async (t) => {
    const { at, layer, blob } = await resolved(t);
    const body = blob.subarray(0, 1000);
    at.misbehave(blobs, { kind: "bytes", body, chunked: true });
    assert.deepEqual(await bytesOf(layer), blob);
    at.misbehave(blobs, { kind: "bytes", body, chunked: true }, Infinity);
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "digest");
    assert.match(error.message, /300000 bytes.*1000/);
  });

  test("a Content-Encoding header changes nothing: bytes are handed on as sent", async (t) => {
    const { at, layer, blob } = await resolved(t);
    at.misbehave(blobs, { kind: "headers", headers: { "Content-Encoding": "gzip" } });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(at.seen[0]?.headers["accept-encoding"], "identity");
  });

  test("reading ends early: the connection is closed and nothing waits", async (t) => {
    const { at, layer } = await resolved(t);
    at.misbehave(blobs, { kind: "stall", after: 100_000 });
    for await (const chunk of layer.open(new AbortController().signal)) {
      assert.ok(chunk.length > 0);
      break;
    }
    await until("the connection is closed", () => at.connections === 0);
  });

  test("an abort stops a blob that has stalled, at once and as interrupted", async (t) => {
    const { at, layer } = await resolved(t);
    at.misbehave(blobs, { kind: "stall", after: 100_000 });
    const stop = new AbortController();
    const started = performance.now();
    const error = await failureOf(
      (async () => {
        let length = 0;
        for await (const chunk of layer.open(stop.signal)) {
          length += chunk.length;
          if (length === 100_000) stop.abort();
        }
      })(),
    );
    assert.equal(error.code, "interrupted");
    assert.ok(performance.now() - started < 2_000);
    await until("the connection is closed", () => at.connections === 0);
  });

  test("an abort while it waits for the next try ends the wait", async (t) => {
    const waits = new AbortController();
    const { at, from } = await pair(t, sample(), {
      clock: {
        monotonic: () => performance.now(),
        date: () => Date.now(),
        sleep: (_, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
            waits.abort();
          }),
      },
    });
    at.misbehave(/manifests/, { kind: "answer", status: 503 });
    const error = await failureOf(from.image(`${at.host}/team/app:1`, waits.signal));
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "interrupted");
  });

  test("two layers are read at the same time", async (t) => {
    const { layer, blob } = await resolved(t);
    const both = await Promise.all([bytesOf(layer), bytesOf(layer)]);
    assert.deepEqual(both, [blob, blob]);
  });

  test("a kept-open connection that the registry has closed meanwhile is no failure", async (t) => {
    const { at, layer, blob, from } = await resolved(t);
    // The connection that resolving left open is dropped at its next request.
    at.misbehave(blobs, { kind: "drop" });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.deepEqual(from.notices, []);
  });

  test("closing the client closes its connections", async (t) => {
    const { at, from } = await resolved(t);
    assert.ok(at.connections > 0);
    from.registry.close();
    await until("no connection is open", () => at.connections === 0);
  });
});

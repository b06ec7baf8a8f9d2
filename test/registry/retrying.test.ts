import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { client, failureOf, pair, sample, server } from "./client.ts";

const manifests = /\/manifests\//;

suite("a registry that fails", () => {
  for (const status of [408, 429, 500, 502, 503, 504]) {
    test(`a ${status} is tried again`, async (t) => {
      const { at, from, name, image } = await pair(t);
      at.misbehave(manifests, { kind: "answer", status }, 2);
      assert.equal((await from.image(name)).digest, image.digest);
      assert.equal(from.notices.length, 2);
    });
  }

  for (const [status, code] of [
    [400, "registry"],
    [403, "auth"],
    [404, "not-found"],
    [405, "registry"],
    [410, "registry"],
  ] as const) {
    test(`a ${status} fails at once, as ${code}`, async (t) => {
      const { at, from, name } = await pair(t);
      at.misbehave(manifests, { kind: "answer", status }, Infinity);
      const error = await failureOf(from.image(name));
      assert.equal(error.code, code);
      assert.ok(error.message.includes(`answered ${status}`));
      assert.ok(error.message.includes(name));
      assert.equal(at.seen.length, 1);
    });
  }

  test("a request is tried at most 6 times, with delays that double", async (t) => {
    const { at, from, name } = await pair(t);
    at.misbehave(manifests, { kind: "answer", status: 500 }, Infinity);
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "registry");
    assert.match(error.message, /500 Internal Server Error.*tried 6 times/);
    assert.equal(at.seen.length, 6);
    assert.deepEqual(from.clock.sleeps, [750, 1_500, 3_000, 6_000, 12_000]);
  });

  test("delays have jitter: between half and all of the backoff", async (t) => {
    const delays = async (random: number) => {
      const { at, from, name } = await pair(t, sample(), { random: () => random });
      at.misbehave(manifests, { kind: "answer", status: 500 });
      await from.image(name);
      return from.clock.sleeps;
    };
    assert.deepEqual(await delays(0), [500]);
    assert.deepEqual(await delays(0.999), [999.5]);
  });

  for (const status of [429, 503]) {
    test(`a ${status} honours Retry-After in seconds`, async (t) => {
      const { at, from, name } = await pair(t);
      at.misbehave(manifests, { kind: "answer", status, headers: { "Retry-After": "42" } });
      await from.image(name);
      assert.deepEqual(from.clock.sleeps, [42_000]);
    });

    test(`a ${status} honours Retry-After as a date`, async (t) => {
      const { at, from, name } = await pair(t);
      const date = new Date(Date.UTC(2026, 0, 1) + 31_000).toUTCString();
      at.misbehave(manifests, { kind: "answer", status, headers: { "Retry-After": date } });
      await from.image(name);
      assert.deepEqual(from.clock.sleeps, [30_000]);
    });
  }

  test("a Retry-After beyond the 3 minutes fails at once, and says how long the registry wants", async (t) => {
    const { at, from, name } = await pair(t);
    at.misbehave(manifests, { kind: "answer", status: 429, headers: { "Retry-After": "3600" } });
    const error = await failureOf(from.image(name));
    assert.match(error.message, /429.*asks to wait 3600 s/);
    assert.deepEqual(from.clock.sleeps, []);
  });

  test("several Retry-Afters together stay within 3 minutes", async (t) => {
    const { at, from, name } = await pair(t);
    const headers = { "Retry-After": "50" };
    at.misbehave(manifests, { kind: "answer", status: 503, headers }, Infinity);
    const error = await failureOf(from.image(name));
    assert.match(error.message, /180 s without progress/);
    assert.deepEqual(from.clock.sleeps, [50_000, 50_000, 50_000]);
  });

  test("a Retry-After of nonsense is passed over", async (t) => {
    const { at, from, name } = await pair(t);
    at.misbehave(manifests, {
      kind: "answer",
      status: 503,
      headers: { "Retry-After": "soon, -5" },
    });
    await from.image(name);
    assert.deepEqual(from.clock.sleeps, [750]);
  });

  test("a connection dropped before the answer is tried again", async (t) => {
    const { at, from, name, image } = await pair(t);
    at.misbehave(manifests, { kind: "drop" }, 2);
    assert.equal((await from.image(name)).digest, image.digest);
  });

  test("a manifest cut in the middle is tried again from the start", async (t) => {
    const { at, from, name, image } = await pair(t);
    at.misbehave(manifests, { kind: "cut", after: 50 });
    assert.equal((await from.image(name)).digest, image.digest);
    assert.equal(from.notices.length, 1);
  });

  test("nothing listening is a network error after 6 tries, with the address and what to check", async (t) => {
    const gone = await server(t);
    const { host } = gone;
    await gone.stop();
    const from = client(t);
    const error = await failureOf(from.image(`${host}/team/app:1`));
    assert.equal(error.code, "network");
    assert.ok(error.message.includes(`nothing listens on ${host}`));
    assert.equal(from.notices.length, 5);
    assert.ok(error.cause !== undefined);
  });

  test("a registry that never answers is given up after 3 minutes", async (t) => {
    const { at, from, name } = await pair(t, sample(), { limits: { stallMs: 20 } });
    await from.image(name);
    at.misbehave(manifests, { kind: "stall" }, Infinity);
    at.seen.length = 0;
    const pulled = failureOf(from.image(name));
    const timer = setInterval(() => from.clock.leap(10_000), 5);
    t.after(() => clearInterval(timer));
    const error = await pulled;
    assert.equal(error.code, "network");
    assert.match(error.message, /no byte came/);
    assert.ok(at.seen.length <= 6);
  });

  test("an error's cause is kept, and says what the system said", async (t) => {
    const { at, from, name } = await pair(t);
    await from.image(name);
    at.misbehave(manifests, { kind: "cut", after: 10 }, Infinity);
    const error = await failureOf(from.image(name));
    assert.ok(error.cause instanceof Error);
  });
});

suite("what is not a registry", () => {
  test("an HTML page with status 200 is 'not a registry', with the URL", async (t) => {
    const { at, from, name } = await pair(t);
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    at.misbehave(manifests, { kind: "answer", status: 200, headers, body: "<html>Log in</html>" });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "registry");
    assert.match(error.message, /not a registry/);
    assert.ok(error.message.includes(`http://${at.host}/v2/team/app/manifests/1`));
  });

  test("an HTML page that calls itself JSON is 'not a registry' too", async (t) => {
    const { at, from, name } = await pair(t);
    const headers = { "Content-Type": "application/json" };
    const body = "\n <!DOCTYPE html><p>Log in";
    at.misbehave(manifests, { kind: "answer", status: 200, headers, body });
    assert.match((await failureOf(from.image(name))).message, /not a registry/);
  });

  test("an HTML page in place of a blob is 'not a registry', not a wrong size", async (t) => {
    const { at, from, name } = await pair(t);
    const image = await from.image(name);
    const headers = { "Content-Type": "text/html" };
    at.misbehave(/blobs/, { kind: "answer", status: 200, headers, body: "<html>Log in</html>" });
    const [layer] = image.layers;
    const error = await failureOf(
      (async () => {
        for await (const _ of layer?.open(new AbortController().signal) ?? []);
      })(),
    );
    assert.equal(error.code, "registry");
    assert.match(error.message, /not a registry/);
  });

  test("a server that does not speak HTTP is a network error that says so", async (t) => {
    const { createServer } = await import("node:net");
    const socketServer = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("220 mail.example.com ESMTP\r\n");
    });
    await new Promise<void>((resolve) => socketServer.listen(0, "127.0.0.1", resolve));
    t.after(() => socketServer.close());
    const address = socketServer.address();
    const port = typeof address === "object" ? address?.port : 0;
    const from = client(t, { insecure: [`127.0.0.1:${port}`] });
    const error = await failureOf(from.image(`127.0.0.1:${port}/team/app:1`));
    assert.equal(error.code, "network");
    assert.match(error.message, /does not speak HTTP/);
  });

  test("hostile words of a registry come out in one printable line", async (t) => {
    const { at, from, name } = await pair(t);
    const message = "\u001b[2J\u001b[31mroot#\r\n fake: line \u202e\u2028";
    const body = JSON.stringify({ errors: [{ code: "DENIED", message }] });
    at.misbehave(manifests, { kind: "answer", status: 403, body }, 2);
    const error = await failureOf(from.image(name));
    assert.match(error.message, /DENIED.*\\x1b\[2J.*fake: line/);
    // oxlint-disable-next-line no-control-regex -- that there are none is the point
    assert.doesNotMatch(error.message, /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
  });
});

suite("bounds on what a registry sends", () => {
  const mebibyte = 1024 * 1024;

  test("a manifest over 8 MiB is refused, and not read to its end", async (t) => {
    const { at, from, name } = await pair(t);
    const body = Buffer.alloc(9 * mebibyte, 32);
    at.misbehave(manifests, { kind: "bytes", body, chunked: true });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "image");
    assert.match(error.message, /larger than the 8388608 bytes/);
  });

  test("a manifest of just under 8 MiB is read", async (t) => {
    const { at, from, image } = await pair(t);
    const padded = Buffer.alloc(8 * mebibyte, 32);
    image.manifest.copy(padded);
    at.manifest("team/app", "large", image.mediaType, padded);
    assert.equal((await from.image(`${at.host}/team/app:large`)).layers.length, 1);
  });

  test("a config that is declared over 8 MiB is refused without being asked for", async (t) => {
    const { at, from, image } = await pair(t);
    const parsed = JSON.parse(image.manifest.toString());
    parsed.config.size = 9 * mebibyte;
    at.manifest("team/app", "large", image.mediaType, Buffer.from(JSON.stringify(parsed)));
    const error = await failureOf(from.image(`${at.host}/team/app:large`));
    assert.equal(error.code, "image");
    assert.ok(!at.seen.some(({ path }) => path.includes("/blobs/")));
  });

  test("an error body over 64 KiB is not read further, and the status is reported all the same", async (t) => {
    const { at, from, name } = await pair(t);
    await from.image(name);
    const body = Buffer.alloc(20 * mebibyte, 65);
    at.misbehave(manifests, { kind: "answer", status: 403, body, chunked: true });
    assert.match((await failureOf(from.image(name))).message, /403 Forbidden/);
  });

  test("a manifest that drips is given up after its time, and tried again", async (t) => {
    const { at, from, name, image } = await pair(t, sample(), { limits: { smallBodyMs: 60 } });
    at.misbehave(manifests, { kind: "slow", bytes: 1, everyMs: 5 });
    assert.equal((await from.image(name)).digest, image.digest);
    assert.match(
      from.notices.map((each) => (each.kind === "retry" ? each.why : "")).join(),
      /whole/,
    );
  });
});

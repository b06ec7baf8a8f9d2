/** What a process that fills for months, and one that fills once with much, may not lose or hoard. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { getEventListeners, once } from "node:events";
import { readdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { createGzip } from "node:zlib";

import { Store } from "../../src/cache/store.ts";
import { openArchive } from "../../src/image/archive.ts";
import { formatPlatform, machinePlatform } from "../../src/registry/platform.ts";
import { parseReference } from "../../src/registry/reference.ts";
import { Registry } from "../../src/registry/registry.ts";
import { buildImage, dockerArchive, tarOf } from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { bundleFile, start } from "../cli/larder-process.ts";

const platform = machinePlatform();
const image = buildImage({
  platform,
  layers: [
    { entries: [{ path: "a.tar", content: Buffer.alloc(400_000, "a") }], compression: "none" },
  ],
});

/** Descriptors, timers, sockets and children that keep or could keep a process busy. */
function held(): { descriptors: number; resources: readonly string[] } {
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    resources: process.getActiveResourcesInfo().filter((it) => it !== "Immediate"),
  };
}

test("many fills in one process, good and bad, leave no descriptor, listener or timer", async (t) => {
  const registry = await startMisbehavingRegistry();
  t.after(() => registry.stop());
  registry.hold("app", "1", image);
  const path = await tempDirectory(t);
  const archive = join(await tempDirectory(t), "app.tar");
  await writeFile(archive, dockerArchive([{ image, tags: ["app:1"] }]));
  const store = await Store.open(path);
  const { signal } = new AbortController();
  const options = { signal, owner: "image-cache-agent", force: true } as const;
  const client = new Registry({ environment: {}, insecure: [registry.host], notify: () => {} });
  t.after(() => client.close());
  const layer = new RegExp(String(image.layers[0]?.digest));

  const reference = parseReference(`${registry.host}/app:1`);
  const open = (it: AbortSignal) => client.image(reference, platform, it);
  const fromRegistry = (stop = signal) =>
    store.fill("registry", {}, open, { ...options, signal: stop });
  const fromArchive = async (): Promise<void> => {
    const opened = await openArchive(archive, platform, signal);
    try {
      await store.fill("archive", {}, async () => opened.image, options);
    } finally {
      await opened.close();
    }
  };
  const failing = async (): Promise<void> => {
    registry.misbehave(layer, { kind: "bytes", body: Buffer.alloc(image.layers[0]!.blob.length) });
    await assert.rejects(fromRegistry(), { code: "digest" });
    await assert.rejects(openArchive(path, platform, signal), { code: "image" });
    registry.misbehave(layer, { kind: "stall", after: 1000 });
    const stop = new AbortController();
    const seen = registry.seen.length;
    const fill = fromRegistry(stop.signal);
    await until("the layer is asked for", () =>
      registry.seen.slice(seen).some((it) => layer.test(it.path)),
    );
    stop.abort();
    await assert.rejects(fill, { code: "interrupted" });
    assert.equal(getEventListeners(stop.signal, "abort").length, 0);
  };
  const round = async (): Promise<void> => {
    await fromRegistry();
    await fromArchive();
    await failing();
  };

  await round();
  await until("connections of the first round are idle or closed", () => registry.connections <= 1);
  const before = held();
  for (let n = 0; n < 25; n++) await round();
  await until("nothing more is held than after the first round", () => {
    const now = held();
    const grown = now.resources.length > before.resources.length;
    return now.descriptors <= before.descriptors && !grown;
  });
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.deepEqual(readdirSync(path).sort(), ["archive", "registry"]);
});

test("the import of a 1 GiB layer that compresses a thousandfold stays under 128 MiB of memory", async (t) => {
  const layer = await gibibyte();
  const folder = await tempDirectory(t);
  const config = Buffer.from(
    JSON.stringify({
      ...platform,
      rootfs: { type: "layers", diff_ids: [layer.diffId] },
    }),
  );
  const blobs = new Map([
    [sha256(config), config],
    [sha256(layer.bytes), layer.bytes],
  ]);
  const described = [...blobs].map(([digest, bytes]) => ({ digest, size: bytes.length }));
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...described[0] },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", ...described[1] }],
  });
  const server = createServer(({ url = "" }, response) => {
    const type = "application/vnd.oci.image.manifest.v1+json";
    const isManifest = url.includes("/manifests/");
    const body = isManifest ? manifest : blobs.get(url.slice(url.lastIndexOf("/") + 1));
    response.writeHead(body === undefined ? 404 : 200, isManifest ? { "content-type": type } : {});
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;

  const report = join(folder, "status");
  const atExit = `process.on("exit",()=>fs.writeFileSync(${JSON.stringify(report)},fs.readFileSync("/proc/self/status")))`;
  const preload = `data:text/javascript,${encodeURIComponent(`import fs from "node:fs";${atExit}`)}`;
  // The flag is bin/larder's.
  const env = { NODE_OPTIONS: `--max-semi-space-size=2 --import=${preload}` };
  const words = ["import", "--quiet", "--name", "app", "--cache-path", folder];
  const access = ["--platform", formatPlatform(platform), "--insecure-registry", host];
  // As it ships: from the sources, Node's own type stripper is in memory too.
  const options = { env, main: bundleFile };
  const { exitCode, stderr } = await start([...words, ...access, `${host}/app:1`], options)
    .finished;
  assert.equal(exitCode, 0, stderr);
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(await readFile(report, "utf8"))?.[1]);
  assert.ok(peak < 128 * 1024, `it took ${Math.round(peak / 1024)} MiB`);
  await rm(join(folder, "app"), { recursive: true });
});

/** A gzip stream of a tar with one file of a gibibyte of zeros. */
async function gibibyte(): Promise<{ bytes: Buffer; diffId: string }> {
  const header = tarOf([{ path: "big.tar", size: 2 ** 30 }], { end: false });
  const zeros = Buffer.alloc(1024 * 1024);
  const hash = createHash("sha256");
  const gzip = createGzip({ level: 1 });
  const out: Buffer[] = [];
  gzip.on("data", (block: Buffer) => out.push(block));
  const ended = once(gzip, "end");
  for (const block of [header, ...Array.from({ length: 1024 }, () => zeros), Buffer.alloc(1024)]) {
    hash.update(block);
    if (!gzip.write(block)) await once(gzip, "drain");
  }
  gzip.end();
  await ended;
  return { bytes: Buffer.concat(out), diffId: `sha256:${hash.digest("hex")}` };
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

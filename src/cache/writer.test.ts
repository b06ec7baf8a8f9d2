import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { entriesOf } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { InsufficientDiskError, LarderError } from "../errors.ts";
import { Directory } from "./directory.ts";
import { Writer, type WriterOptions } from "./writer.ts";

interface Bench {
  readonly writer: Writer;
  readonly path: string;
  readonly put: (id: number, name: string, ...blocks: Buffer[]) => Promise<void>;
}

async function bench(t: TestContext, options: Partial<WriterOptions> = {}): Promise<Bench> {
  const path = await tempDirectory(t);
  const directory = Directory.open(path);
  const writer = new Writer({ directory, signal: new AbortController().signal, ...options });
  t.after(async () => {
    await writer.close();
    directory.close();
  });
  const put = async (id: number, name: string, ...blocks: Buffer[]): Promise<void> => {
    const file = writer.create(id, name, Buffer.concat(blocks).length);
    for (const block of blocks) await file.write(block);
    await file.end();
  };
  return { writer, path: join(path, "new"), put };
}

const mebibyte = Buffer.alloc(1024 * 1024, "x");

test("small and big files arrive whole, with the checksum of their content", async (t) => {
  const { writer, path, put } = await bench(t);
  await put(0, "empty");
  await put(1, "digits", Buffer.from("1234"), Buffer.from("56789"));
  await put(2, "big", mebibyte, Buffer.from("end"), mebibyte);
  const sums = await writer.finish([{ id: 0 }, { id: 1 }, { id: 2 }]);
  assert.equal(sums.get("empty"), "crc32:00000000");
  assert.equal(sums.get("digits"), "crc32:cbf43926");
  assert.equal(fs.readFileSync(join(path, "digits"), "utf8"), "123456789");
  const expected = Buffer.concat([mebibyte, Buffer.from("end"), mebibyte]);
  assert.ok(fs.readFileSync(join(path, "big")).equals(expected));
});

test("files are 0644 and directories 0755, whatever the umask", async (t) => {
  const before = process.umask(0o077);
  t.after(() => process.umask(before));
  const { path, put } = await bench(t);
  process.umask(0o000);
  await put(0, "small", Buffer.from("s"));
  process.umask(0o777);
  await put(1, "big", mebibyte);
  assert.equal(fs.statSync(path).mode & 0o7777, 0o755);
  assert.equal(fs.statSync(join(path, "small")).mode & 0o7777, 0o644);
  assert.equal(fs.statSync(join(path, "big")).mode & 0o7777, 0o644);
});

test("a file that does not survive is deleted", async (t) => {
  const { writer, path, put } = await bench(t);
  await put(0, "hidden", Buffer.from("h"));
  await put(1, "kept", Buffer.from("k"));
  await writer.finish([{ id: 1 }]);
  assert.deepEqual(await entriesOf(path), ["kept"]);
});

test("of several files of one name the survivor gets it, whichever came first", async (t) => {
  for (const survivor of [0, 1, 2]) {
    const { writer, path, put } = await bench(t);
    for (const id of [0, 1, 2]) await put(id, "x", Buffer.from(String(id)));
    await writer.finish([{ id: survivor }]);
    assert.deepEqual(await entriesOf(path), ["x"]);
    assert.equal(fs.readFileSync(join(path, "x"), "utf8"), String(survivor));
    assert.deepEqual(await entriesOf(join(path, "..")), ["new"]);
  }
});

test("files of one name that are open at once do not mix", async (t) => {
  const { writer, path } = await bench(t);
  const first = writer.create(0, "x", 2 * mebibyte.length);
  const second = writer.create(1, "x", 2 * mebibyte.length);
  const other = Buffer.alloc(mebibyte.length, "y");
  for (let block = 0; block < 2; block += 1) {
    await first.write(mebibyte);
    await second.write(other);
  }
  await first.end();
  await second.end();
  await writer.finish([{ id: 1 }]);
  assert.ok(fs.readFileSync(join(path, "x")).equals(Buffer.concat([other, other])));
});

test("a file is created exclusively, and never through a link", async (t) => {
  const { path, put } = await bench(t);
  const outside = join(await tempDirectory(t), "outside");
  fs.symlinkSync(outside, join(path, "link"));
  fs.writeFileSync(join(path, "there"), "before");
  await assert.rejects(put(0, "link", Buffer.from("l")), /EEXIST/);
  await assert.rejects(put(1, "there", mebibyte), /EEXIST/);
  assert.ok(!fs.existsSync(outside));
  assert.equal(fs.readFileSync(join(path, "there"), "utf8"), "before");
});

test("a name that leads out of the directory is never written to", async (t) => {
  const { writer } = await bench(t);
  for (const name of ["../x", "/x", "..", "", ".image-cache-agent.json"]) {
    assert.throws(() => writer.create(0, name, 1), /no file name/);
  }
});

test("writing stops within an entry when told to", async (t) => {
  const stop = new AbortController();
  const { writer } = await bench(t, { signal: stop.signal });
  const big = writer.create(0, "big", 10 * mebibyte.length);
  const small = writer.create(1, "small", 2);
  await big.write(mebibyte);
  await small.write(Buffer.from("s"));
  stop.abort();
  const isInterrupted = (error: unknown): boolean =>
    error instanceof LarderError && error.code === "interrupted";
  await assert.rejects(async () => big.write(mebibyte), isInterrupted);
  await assert.rejects(async () => small.write(Buffer.from("s")), isInterrupted);
  await assert.rejects(async () => writer.finish([]), isInterrupted);
});

test("a pull that falls below the reserve while it writes is stopped", async (t) => {
  const { put } = await bench(t, { minFree: { percent: 100 } });
  await put(0, "small", Buffer.from("s"));
  await assert.rejects(put(1, "big", mebibyte), (error) => {
    assert.ok(error instanceof InsufficientDiskError);
    assert.ok(error.missingBytes > 0);
    return true;
  });
});

test("more files than are flushed one by one arrive whole, too", async (t) => {
  const { writer, path, put } = await bench(t);
  const survivors = Array.from({ length: 100 }, (_, id) => ({ id }));
  for (const { id } of survivors) await put(id, `f${id}`, Buffer.from(String(id)));
  assert.equal((await writer.finish(survivors)).size, 100);
  assert.equal((await entriesOf(path)).length, 100);
});

test("every descriptor is closed when a fill breaks off", async (t) => {
  const before = fs.readdirSync("/proc/self/fd").length;
  const path = await tempDirectory(t);
  const directory = Directory.open(path);
  const writer = new Writer({ directory, signal: new AbortController().signal });
  for (let id = 0; id < 3; id += 1) await writer.create(id, `f${id}`, 2 ** 20).write(mebibyte);
  await writer.close();
  directory.close();
  for (let tries = 0; tries < 100 && fs.readdirSync("/proc/self/fd").length > before; tries += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  assert.equal(fs.readdirSync("/proc/self/fd").length, before);
});

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { LineWriter } from "./line-writer.ts";

const module = JSON.stringify(join(import.meta.dirname, "line-writer.ts"));

/** Both ends of a pipe that does not block. */
async function pipe(context: TestContext) {
  const path = join(await tempDirectory(context), "pipe");
  await promisify(execFile)("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  context.after(() => {
    closeSync(writer);
  });
  const read = (): string => {
    const buffer = Buffer.alloc(1024 * 1024);
    let text = "";
    try {
      for (;;) {
        const bytes = readSync(reader, buffer);
        if (bytes === 0) return text;
        text += buffer.toString("latin1", 0, bytes);
      }
    } catch {
      return text;
    }
  };
  return { reader, writer, read };
}

test("a line is in the file when the call returns", async (context) => {
  const path = join(await tempDirectory(context), "log");
  const file = openSync(path, "w");
  const writer = new LineWriter(file);
  writer.write("one\n");
  writer.write("two ünï\n");
  assert.equal(readFileSync(path, "utf8"), "one\ntwo ünï\n");
  closeSync(file);
});

test("a reader that goes away ends neither the process nor its work", async () => {
  const child = spawn(process.execPath, [
    "--input-type=module",
    "--eval",
    `import { LineWriter } from ${module};
     const writer = new LineWriter(1);
     writer.write("first\\n");
     process.stdin.once("data", () => {
       for (let i = 0; i < 1000; i++) writer.write("more\\n");
       process.stderr.write(\`went on, \${writer.dropped} dropped\`);
       process.stdin.destroy();
     });`,
  ]);
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.stdout.destroy();
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.stdin.write("go\n");
  assert.equal(await ended, 0);
  assert.equal(said, "went on, 1000 dropped");
});

test("lines that find the pipe full come later, whole and in order", async (context) => {
  const { writer, reader, read } = await pipe(context);
  const lines = new LineWriter(writer);
  const all = Array.from({ length: 300 }, (_, index) => `${index} ${"x".repeat(1000)}\n`);
  for (const line of all) lines.write(line);
  let text = "";
  await until("every line has come", () => {
    text += read();
    return text.length >= all.join("").length;
  });
  assert.equal(text, all.join(""));
  assert.equal(lines.dropped, 0);
  closeSync(reader);
});

test("a pipe that nobody empties costs bounded memory, and whole lines", async (context) => {
  const { writer, reader, read } = await pipe(context);
  const lines = new LineWriter(writer);
  const line = `${"x".repeat(10_000)}\n`;
  for (let i = 0; i < 500; i++) lines.write(line);
  // A pipe holds 64 KiB, the writer 1 MiB.
  assert.ok(lines.dropped > 380 && lines.dropped < 500, `${lines.dropped} dropped`);
  const kept = (500 - lines.dropped) * line.length;
  let text = "";
  await until("the lines that were kept have come", () => {
    text += read();
    return text.length >= kept;
  });
  assert.equal(text, line.repeat(500 - lines.dropped));
  closeSync(reader);
});

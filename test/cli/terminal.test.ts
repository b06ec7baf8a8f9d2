import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { mainFile } from "./larder-process.ts";
import { stallingRegistry } from "./stalling-registry.ts";
import { TmuxTerminal } from "./tmux-terminal.ts";

/** An import in a real terminal whose two layers stall at the half, below a shell's prompt. */
async function importing(context: TestContext, columns: number, term = "screen") {
  const cachePath = await tempDirectory(context);
  const layers = [1, 2].map((value) => ({
    entries: [{ path: `${value}.tar`, content: Buffer.alloc(2_000_000, value) }],
    compression: "none" as const,
  }));
  const image = buildImage({ platform: machinePlatform(), layers });
  const registry = await stallingRegistry(context, image);
  const words = ["import", "--name", "boot", "--cache-path", cachePath];
  const access = ["--insecure-registry", registry.host, `${registry.host}/boot:1`];
  const line = [process.execPath, mainFile, ...words, ...access].join(" ");
  const options = { columns, rows: 20, cwd: cachePath, env: { PS1: "$ " } };
  const terminal = await TmuxTerminal.start(context, ["bash", "--norc", "-i"], options);
  await terminal.shows(/\$$/);
  await terminal.type(`clear; seq 10; echo before; TERM=${term} ${line}`, "Enter");
  return { terminal, cachePath };
}

const full = /^layer 1 of 2 +\S+ KiB of 2\.0 MiB.*\nlayer 2 of 2.* (\d+s left|stalled|MiB +\d+%)$/m;
const narrow = /^layer 1 of 2 .*\nlayer 2 of 2 .*(\d+s left|stalled|\d+%)$/m;

test("in a real terminal each layer has a line, and resizing leaves no line broken or twice", async (context) => {
  const { terminal } = await importing(context, 100);
  await terminal.shows(full);
  for (const columns of [40, 25, 100, 60]) {
    await terminal.resize(columns, 20);
    const settled = columns < 50 ? narrow : full;
    // A terminal tells a program of its new size a little later; until then lines are cut off.
    await until(`lines are whole at ${columns} columns`, async () => {
      // Made narrower, tmux scrolls off the top as many rows as lines break into, and what has left
      // the screen no program can take back: that is why there is something above.
      const history = await terminal.history();
      const once = (text: string): boolean => history.split(text).length === 2;
      return settled.test(history) && once("layer 1 of 2") && once("layer 2 of 2");
    });
    assert.match(await terminal.history(), /^10\nbefore\nlayer 1/m);
  }
  await terminal.type("C-c");
  await terminal.shows(/^larder: [^]*\n\$$/m);
});

test("after Ctrl-C in a real terminal the live lines are gone, the error stands, the prompt is free", async (context) => {
  const { terminal, cachePath } = await importing(context, 100);
  await terminal.shows(full);
  await terminal.type("C-c");
  const screen = await terminal.shows(/^larder: [^]*\n\$$/m);
  assert.doesNotMatch(screen, /layer \d of 2 /);
  assert.deepEqual(await readdir(cachePath), []);
  await terminal.type("echo a$((1+1))b", "Enter");
  await terminal.shows(/^a2b$/m);
});

test("a terminal that cannot move its cursor gets plain lines", async (context) => {
  const { terminal } = await importing(context, 100, "dumb");
  await terminal.shows(/^layer 2 of 2: started, 2\.0 MiB$/m);
});

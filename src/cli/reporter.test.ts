/* oxlint-disable no-control-regex -- the terminal's own controls are what these tests read */
import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordingShell } from "../../test/cli/recording-shell.ts";
import type { Image, Layer } from "../registry/image.ts";
import { reporterFor } from "./reporter-choice.ts";
import { widthOf } from "./width.ts";

const mib = 1024 ** 2;
const digest = `sha256:${"0".repeat(64)}` as const;

function layer(size: number): Layer {
  const open = async function* (): AsyncGenerator<Buffer> {};
  return { name: "layer", mediaType: "", digest, size, diffId: digest, open };
}

const layers = [layer(100 * mib), layer(200 * mib)];
const image: Image = { name: "boot:1", digest, resolved: digest, platform: undefined, layers };

function onTerminal(columns: number, rows = 24): RecordingShell {
  const shell = new RecordingShell();
  Object.assign(shell.err, { terminal: true, columns, rows });
  return shell;
}

/** Two layers under way, a quarter of the second read. */
function begin(shell: RecordingShell, quiet = false) {
  const reporter = reporterFor(quiet, shell);
  reporter.opened(image);
  for (const [index, one] of layers.entries()) reporter.layerStarted(index, one);
  reporter.layerRead(1, 50 * mib);
  return reporter;
}

/** What a terminal of so many columns that breaks long lines shows after some writes. */
function screenOf(text: string, columns: number): readonly string[] {
  const rows: string[] = [""];
  let row = 0;
  let column = 0;
  for (const [part] of text.matchAll(/\u001b\[\??(\d*)([AKJhl])|[^]/gu)) {
    if (part.startsWith("\u001b[?7")) continue;
    const sequence = /^\u001b\[(\d*)([AKJ])$/.exec(part);
    if (sequence?.[2] === "A") row = Math.max(row - Number(sequence[1]), 0);
    else if (sequence?.[2] === "K") rows[row] = (rows[row] ?? "").slice(0, column);
    else if (sequence?.[2] === "J") {
      rows[row] = (rows[row] ?? "").slice(0, column);
      rows.length = row + 1;
    } else if (part === "\r") column = 0;
    else if (part === "\n") {
      row += 1;
      column = 0;
      rows[row] ??= "";
    } else {
      assert.ok(column + widthOf(part) <= columns, "a line has wrapped");
      rows[row] = (rows[row] ?? "").slice(0, column).padEnd(column) + part;
      column += widthOf(part);
    }
  }
  return rows;
}

test("on a terminal each layer has one line, redrawn in place", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  shell.pass(1000);
  reporter.layerRead(0, 10 * mib);
  shell.pass(1000);
  const rows = screenOf(shell.err.text, 80);
  assert.equal(rows.length, 3);
  assert.match(
    rows[0] ?? "",
    /^layer 1 of 2 +10\.0 MiB of 100\.0 MiB +10% +\S+ MiB\/s +\d+s left$/,
  );
  assert.match(rows[1] ?? "", /^layer 2 of 2 +50\.0 MiB of 200\.0 MiB +25% /);
  assert.equal(rows[2], "");
  reporter.end();
});

test("on a terminal there are at most ten redraws a second", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  for (let step = 0; step < 2000; step += 1) {
    reporter.layerRead(0, 20_000);
    shell.pass(1);
  }
  reporter.end();
  assert.ok(shell.err.writes.length <= 21, String(shell.err.writes.length));
});

test("a layer that is done stays on the screen, above those that go on", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  shell.pass(1000);
  reporter.layerRead(0, 100 * mib);
  reporter.layerDone(0);
  shell.pass(100);
  const rows = screenOf(shell.err.text, 80);
  assert.match(rows[0] ?? "", /^layer 1 of 2: done, 100\.0 MiB in 1\.0s$/);
  assert.match(rows[1] ?? "", /^layer 2 of 2 /);
  reporter.end();
});

test("a note or a warning stays on the screen, above the layers", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  shell.pass(100);
  reporter.warn("helper\u001b[2J\nmissing");
  shell.pass(100);
  const rows = screenOf(shell.err.text, 80);
  assert.equal(rows[0], "larder: warning: helper\\x1b[2J\\x0amissing");
  assert.match(rows[1] ?? "", /^layer 1 of 2/);
  reporter.end();
});

test("a terminal that is made narrower or wider gets lines that fit, and none twice", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  shell.pass(1000);
  const [wide = ""] = shell.err.writes.splice(0).slice(-1);
  assert.match(wide, /s left/);
  shell.err.columns = 40;
  shell.pass(100);
  // Both lines were 66 cells wide: at 40 columns they take four rows.
  assert.match(shell.err.text, /^\r\u001b\[4A/);
  for (const line of shell.err.text.replaceAll(/\u001b\[\??\d*[AKJhl]|\r/g, "").split("\n")) {
    assert.ok(widthOf(line) < 40, line);
  }
  shell.err.writes.length = 0;
  shell.err.columns = 80;
  shell.pass(100);
  assert.match(shell.err.text, /^\r\u001b\[2A/);
  reporter.end();
});

test("when it ends nothing of the live lines is left, and no timer", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  shell.pass(1000);
  reporter.end();
  assert.deepEqual(screenOf(shell.err.text, 80), [""]);
  assert.equal(shell.timers, 0);
});

test("every write leaves the modes of the terminal as they were, so that a crash breaks nothing", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  reporter.status("asking for boot:1");
  shell.pass(3000);
  reporter.end();
  for (const write of shell.err.writes) {
    const rest = write.replaceAll(/\u001b\[\d*[AKJ]/g, "");
    assert.match(rest, /^[^\u001b]*(\u001b\[\?7l[^\u001b]*\u001b\[\?7h)?$/);
  }
});

test("once all layers are read it says that the disk is being waited for", () => {
  const shell = onTerminal(80);
  const reporter = begin(shell);
  reporter.layerDone(0);
  reporter.layerDone(1);
  shell.pass(100);
  assert.equal(screenOf(shell.err.text, 80).at(-2), "flushing to the disk");
  reporter.end();
});

test("without a terminal a layer has a line when it starts, every ten seconds, and when it is done", () => {
  const shell = new RecordingShell();
  const reporter = begin(shell);
  assert.deepEqual(shell.err.writes.splice(0), [
    "layer 1 of 2: started, 100.0 MiB\n",
    "layer 2 of 2: started, 200.0 MiB\n",
  ]);
  shell.pass(9999);
  assert.deepEqual(shell.err.writes, []);
  reporter.layerRead(1, 50 * mib);
  shell.pass(1);
  assert.deepEqual(shell.err.writes.splice(0).length, 2);
  reporter.layerDone(0);
  assert.deepEqual(shell.err.writes.splice(0), ["layer 1 of 2: done, 0 B in 10s\n"]);
  reporter.end();
  assert.equal(shell.timers, 0);
  assert.doesNotMatch(shell.err.text, /\u001b|\r/);
});

test("--quiet says nothing but warnings, terminal or not", () => {
  for (const shell of [onTerminal(80), new RecordingShell()]) {
    const reporter = begin(shell, true);
    reporter.note("trying again");
    reporter.status("asking");
    reporter.layerDone(0);
    shell.pass(20_000);
    reporter.warn("look\nat this");
    reporter.end();
    assert.equal(shell.err.text, "larder: warning: look\\x0aat this\n");
    assert.equal(shell.timers, 0);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { LarderError } from "../errors.ts";
import { jsonLog, type JsonLogOptions } from "./log.ts";

/** A log, and the lines that it wrote. */
function kept(options: Omit<JsonLogOptions, "write"> = {}) {
  const lines: string[] = [];
  const log = jsonLog({ ...options, write: (line) => lines.push(line) });
  const objects = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, objects };
}

const refused = new LarderError("auth", {
  what: "cannot get app:1",
  why: "the registry answered 401 Unauthorized",
  todo: "log in",
});

test("a line is one JSON object with its level, time, fields and message", () => {
  const { log, lines, objects } = kept({ fields: { node: "worker-1" } });
  const before = Date.now();
  log.info("pulled", { name: "app", files: 3 });
  const [line] = objects();
  const { time, ...rest } = line ?? {};
  assert.deepEqual(rest, {
    level: "info",
    node: "worker-1",
    name: "app",
    files: 3,
    message: "pulled",
  });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Date.parse(String(time)) >= before);
  assert.match(lines[0] ?? "", /^\{[^\n]*\}\n$/);
});

test("an error that is expected is logged as its message and code, without a stack", () => {
  const { log, objects } = kept();
  log.warn("pull failed", { name: "app", error: refused });
  const { name, error, code, stack } = objects()[0] ?? {};
  assert.deepEqual(
    { name, error, code, stack },
    {
      name: "app",
      error: "cannot get app:1: the registry answered 401 Unauthorized: log in",
      code: "auth",
      stack: undefined,
    },
  );
});

test("an error that is not expected is logged with its stack and that of its cause", () => {
  const { log, objects } = kept();
  log.error("pass failed", {
    error: new TypeError("x is not a y", { cause: new Error("deeper") }),
  });
  const { error, code, stack } = objects()[0] ?? {};
  assert.equal(error, "x is not a y");
  assert.equal(code, undefined);
  assert.match(
    String(stack),
    /^TypeError: x is not a y\n {4}at [^]*log\.test\.ts[^]*caused by Error: deeper\n {4}at /,
  );
});

test("several errors in one are logged one by one", () => {
  const { log, objects } = kept();
  log.error("pass failed", { error: new AggregateError([refused, "plain words"], "two") });
  assert.deepEqual(objects()[0]?.["errors"], [
    { error: refused.message, code: "auth" },
    { error: "plain words" },
  ]);
});

test("what is below the level is left out", () => {
  for (const [level, expected] of [
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
  ] as const) {
    const { log, objects } = kept({ level });
    for (const at of ["debug", "info", "warn", "error"] as const) log[at]("something");
    assert.deepEqual(
      objects().map((line) => line["level"]),
      expected,
    );
  }
});

test("a child's lines have its fields and those of its parent", () => {
  const { log, objects } = kept({ fields: { node: "worker-1" } });
  log.child({ name: "app" }).child({ attempt: 2 }).info("pulling");
  const { node, name, attempt } = objects()[0] ?? {};
  assert.deepEqual({ node, name, attempt }, { node: "worker-1", name: "app", attempt: 2 });
});

test("no words, whoever's they are, forge a second line or move a cursor", () => {
  const { log, lines, objects } = kept();
  const words = 'a\n{"level":"info"}\u0085\u009b2J\u2028\u202e\u0000\ud800"\\';
  log.info("answered", { words });
  assert.match(lines[0] ?? "", /^[\u0020-\u007e]*\n$/u);
  assert.equal(objects()[0]?.["words"], words);
});

test("a message is written as it is, placeholders and all", () => {
  const { log, objects } = kept();
  log.info("at 100 %d of %s %o", { name: "app" });
  assert.equal(objects()[0]?.["message"], "at 100 %d of %s %o");
});

test("fields that JSON does not know are no reason to fail", () => {
  const { log, objects } = kept();
  const circle: Record<string, unknown> = {};
  circle["circle"] = circle;
  log.info("odd", { big: 10n, circle, none: undefined, url: new URL("http://127.0.0.1/x") });
  const { big, circle: written, url } = objects()[0] ?? {};
  assert.equal(big, 10);
  assert.deepEqual(written, { circle: "[Circular]" });
  assert.equal(url, "http://127.0.0.1/x");
});

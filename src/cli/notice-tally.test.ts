import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordingShell } from "../../test/cli/recording-shell.ts";
import { NoticeTally } from "./notice-tally.ts";
import { reporterFor } from "./reporter-choice.ts";

test("retries are counted and said, warnings are kept and said", () => {
  const shell = new RecordingShell();
  const tally = new NoticeTally(reporterFor(false, shell));
  tally.notify({ kind: "retry", what: "layer 2 of 3 of boot:1", why: "it broke", delayMs: 1500 });
  tally.notify({ kind: "warning", message: "no helper" });
  assert.equal(tally.retries, 1);
  assert.deepEqual(tally.warnings, ["no helper"]);
  assert.equal(
    shell.err.text,
    "layer 2 of 3 of boot:1: it broke: trying again in 1.5s\nlarder: warning: no helper\n",
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { table } from "./table.ts";

test("columns are aligned by cells, not by characters, and nothing trails", () => {
  assert.equal(
    table([
      ["NAME", "STATE"],
      ["画像", "complete"],
      ["worker", ""],
    ]),
    "NAME    STATE\n画像    complete\nworker\n",
  );
});

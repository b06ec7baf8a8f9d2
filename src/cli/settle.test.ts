import assert from "node:assert/strict";
import { test } from "node:test";

import type { OptionSpec } from "./option.ts";
import { settle, type Flags } from "./settle.ts";

const options = [
  { kind: "switch", flag: "quiet", about: "Say less" },
  {
    kind: "value",
    flag: "cache-path",
    placeholder: "dir",
    completion: "directory",
    default: "/var/lib/image-cache",
    about: "The cache path",
  },
  {
    kind: "value",
    flag: "output",
    placeholder: "form",
    completion: ["text", "json"],
    default: "text",
    about: "The form",
  },
  {
    kind: "value",
    flag: "platform",
    placeholder: "p",
    completion: ["linux/amd64"],
    open: true,
    about: "The platform",
  },
  { kind: "list", flag: "registry-rewrite", placeholder: "r", completion: "nothing", about: "R" },
] as const satisfies readonly OptionSpec[];

function settled(given: Record<string, boolean | string[]>, environment: NodeJS.ProcessEnv = {}) {
  const flags: Flags = new Map(Object.entries(given));
  return settle(options, { flags, environment, todo: "run 'larder help import'" });
}

test("an option that is not given has its default", () => {
  assert.deepEqual(settled({}), {
    quiet: false,
    "cache-path": "/var/lib/image-cache",
    output: "text",
    platform: undefined,
    "registry-rewrite": [],
  });
});

test("an option comes from LARDER_ and its flag in capitals with underscores", () => {
  const given = settled({}, { LARDER_CACHE_PATH: "/mnt/cache", LARDER_OUTPUT: "json" });
  assert.equal(given["cache-path"], "/mnt/cache");
  assert.equal(given.output, "json");
});

test("a list in a variable is separated by commas", () => {
  const given = settled({}, { LARDER_REGISTRY_REWRITE: "a.io=b.io, c.io=d.io,," });
  assert.deepEqual(given["registry-rewrite"], ["a.io=b.io", "c.io=d.io"]);
});

test("a repeated flag of a list is not split at commas", () => {
  const given = settled({ "registry-rewrite": ["a=b,c", "d=e"] });
  assert.deepEqual(given["registry-rewrite"], ["a=b,c", "d=e"]);
});

test("the flag wins over the variable, for a value, a list and a switch", () => {
  const environment = {
    LARDER_CACHE_PATH: "/env",
    LARDER_REGISTRY_REWRITE: "x=y",
    LARDER_QUIET: "true",
  };
  const flags = { "cache-path": ["/flag"], "registry-rewrite": ["a=b"], quiet: false };
  const given = settled(flags, environment);
  assert.equal(given["cache-path"], "/flag");
  assert.deepEqual(given["registry-rewrite"], ["a=b"]);
  assert.equal(given.quiet, false);
});

test("a variable that is empty is one that is not set", () => {
  const given = settled({}, { LARDER_CACHE_PATH: "", LARDER_QUIET: "" });
  assert.equal(given["cache-path"], "/var/lib/image-cache");
  assert.equal(given.quiet, false);
});

test("a switch's variable is true or false in the usual words", () => {
  for (const word of ["1", "true", "yes", "on", "TRUE"]) {
    assert.equal(settled({}, { LARDER_QUIET: word }).quiet, true, word);
  }
  for (const word of ["0", "false", "no", "off"]) {
    assert.equal(settled({}, { LARDER_QUIET: word }).quiet, false, word);
  }
});

test("a switch's variable that is neither is a usage error naming the variable", () => {
  assert.throws(() => settled({}, { LARDER_QUIET: "maybe" }), {
    code: "usage",
    message: "LARDER_QUIET is 'maybe': it must be true or false: run 'larder help import'",
  });
});

test("a value given twice is a usage error naming both", () => {
  assert.throws(() => settled({ "cache-path": ["/a", "/b"] }), {
    code: "usage",
    message:
      "--cache-path is given 2 times: '/a' and '/b' cannot both hold: run 'larder help import'",
  });
});

test("a value that is none of the choices is a usage error that lists them", () => {
  assert.throws(() => settled({ output: ["xml"] }), {
    code: "usage",
    message: "--output is 'xml': it must be one of text, json: run 'larder help import'",
  });
});

test("a wrong choice in a variable names the variable", () => {
  assert.throws(
    () => settled({}, { LARDER_OUTPUT: "xml" }),
    /^LarderError: LARDER_OUTPUT is 'xml'/,
  );
});

test("suggested words do not rule out others", () => {
  assert.equal(settled({ platform: ["plan9/386"] }).platform, "plan9/386");
});

test("an empty value on the command line is a usage error", () => {
  assert.throws(() => settled({ "cache-path": [""] }), {
    code: "usage",
    message: "--cache-path is empty: a value must follow it: run 'larder help import'",
  });
});

test("a required option that is missing is a usage error naming its flag and its variable", () => {
  const required = [
    {
      kind: "value",
      flag: "name",
      placeholder: "resource",
      completion: "nothing",
      required: true,
      about: "The name",
    },
  ] as const;
  const origin = { flags: new Map(), environment: {}, todo: "run 'larder help import'" };
  assert.throws(() => settle(required, origin), {
    code: "usage",
    message:
      "--name <resource> is missing: it is required: give it or set LARDER_NAME: run 'larder help import'",
  });
  const fromVariable = settle(required, { ...origin, environment: { LARDER_NAME: "boot" } });
  assert.equal(fromVariable.name, "boot");
});

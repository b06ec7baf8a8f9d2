import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  comparePlatforms,
  formatPlatform,
  machinePlatform,
  parsePlatform,
  platformMatches,
} from "./platform.ts";

const matches = (want: string, have: string) =>
  platformMatches(parsePlatform(want), parsePlatform(have));

describe("parsePlatform", () => {
  it("takes os/arch and os/arch/variant", () => {
    assert.deepEqual(parsePlatform("linux/amd64"), { os: "linux", architecture: "amd64" });
    assert.deepEqual(parsePlatform("linux/arm/v7"), {
      os: "linux",
      architecture: "arm",
      variant: "v7",
    });
  });

  it("knows the names that machines and people use for an architecture", () => {
    const spellings = [
      ["linux/x86_64", "linux/amd64"],
      ["linux/x86-64", "linux/amd64"],
      ["Linux/AArch64", "linux/arm64"],
      ["linux/i386", "linux/386"],
      ["linux/armhf", "linux/arm/v7"],
      ["linux/armel", "linux/arm/v6"],
      ["linux/arm/7", "linux/arm/v7"],
    ] as const;
    for (const [text, formatted] of spellings) {
      assert.equal(formatPlatform(parsePlatform(text)), formatted);
    }
  });

  for (const text of [
    "",
    "linux",
    "linux/",
    "/amd64",
    "linux/arm/v7/x",
    "linux/arm/",
    "linux amd64",
    "linux/a b",
  ]) {
    it(`refuses ${JSON.stringify(text)} as a usage error that shows the form`, () => {
      assert.throws(() => parsePlatform(text), {
        code: "usage",
        message: /is not a platform: it is not of the form os\/arch.*linux\/amd64/,
      });
    });
  }
});

describe("machinePlatform", () => {
  it("says Node's architectures in the words of the OCI image spec", () => {
    const said = ["x64", "arm64", "arm", "ia32", "s390x", "riscv64", "loong64"].map((arch) =>
      formatPlatform(machinePlatform("linux", arch)),
    );
    assert.deepEqual(said, [
      "linux/amd64",
      "linux/arm64/v8",
      "linux/arm/v7",
      "linux/386",
      "linux/s390x",
      "linux/riscv64",
      "linux/loong64",
    ]);
  });

  it("says windows for win32", () => {
    assert.equal(formatPlatform(machinePlatform("win32", "x64")), "windows/amd64");
  });

  it("is this machine's by default, and parses back", () => {
    const mine = machinePlatform();
    assert.ok(platformMatches(mine, parsePlatform(formatPlatform(mine))));
  });
});

describe("platformMatches", () => {
  it("compares the operating system", () => {
    assert.ok(matches("linux/amd64", "linux/amd64"));
    assert.ok(!matches("linux/amd64", "windows/amd64"));
  });

  it("compares the architecture", () => {
    assert.ok(!matches("linux/amd64", "linux/arm64"));
    assert.ok(!matches("linux/arm64", "linux/arm/v8"));
  });

  it("takes arm64 with and without v8 for one", () => {
    for (const want of ["linux/arm64", "linux/arm64/v8"]) {
      assert.ok(matches(want, "linux/arm64"));
      assert.ok(matches(want, "linux/arm64/v8"));
      assert.ok(!matches(want, "linux/arm64/v9"));
    }
  });

  it("wants the very variant of 32-bit arm", () => {
    assert.ok(matches("linux/arm/v7", "linux/arm/v7"));
    assert.ok(!matches("linux/arm/v7", "linux/arm/v6"));
    assert.ok(!matches("linux/arm/v6", "linux/arm/v7"));
  });

  it("accepts 32-bit arm that names no variant", () => {
    assert.ok(matches("linux/arm/v7", "linux/arm"));
    assert.ok(matches("linux/arm/v6", "linux/arm"));
  });

  it("takes 32-bit arm without a variant for v7 when it is asked for", () => {
    assert.ok(matches("linux/arm", "linux/arm/v7"));
    assert.ok(!matches("linux/arm", "linux/arm/v5"));
  });

  it("does not give amd64/v3, which not every machine runs, where amd64 is asked for", () => {
    assert.ok(!matches("linux/amd64", "linux/amd64/v3"));
    assert.ok(matches("linux/amd64", "linux/amd64/v1"));
    assert.ok(matches("linux/amd64/v3", "linux/amd64/v3"));
    assert.ok(matches("linux/amd64/v3", "linux/amd64"));
  });

  it("takes x86_64 and aarch64 in an image for amd64 and arm64", () => {
    const os = "linux";
    assert.ok(platformMatches(parsePlatform("linux/amd64"), { os, architecture: "x86_64" }));
    assert.ok(platformMatches(parsePlatform("linux/arm64"), { os, architecture: "aarch64" }));
  });

  it("takes an empty variant in an image for none", () => {
    const have = { os: "linux", architecture: "amd64", variant: "" };
    assert.ok(platformMatches(parsePlatform("linux/amd64"), have));
  });
});

describe("comparePlatforms", () => {
  const best = (want: string, ...have: string[]) =>
    have
      .map(parsePlatform)
      .toSorted((a, b) => comparePlatforms(parsePlatform(want), a, b))
      .map(formatPlatform);

  it("puts the very variant before one that does not say", () => {
    assert.deepEqual(best("linux/arm/v7", "linux/arm", "linux/arm/v7"), [
      "linux/arm/v7",
      "linux/arm",
    ]);
    assert.deepEqual(best("linux/amd64/v3", "linux/amd64", "linux/amd64/v3"), [
      "linux/amd64/v3",
      "linux/amd64",
    ]);
  });

  it("leaves the index's order where both fit as well", () => {
    assert.deepEqual(best("linux/arm64/v8", "linux/arm64", "linux/arm64/v8"), [
      "linux/arm64",
      "linux/arm64/v8",
    ]);
  });
});

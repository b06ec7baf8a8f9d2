import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LarderError } from "../errors.ts";
import { formatReference, parseReference } from "./reference.ts";
import { parseRewrite, parseRewrites, rewriteReference } from "./rewrite.ts";

function rewrite(reference: string, ...rewrites: string[]): string {
  return formatReference(rewriteReference(rewrites.map(parseRewrite), parseReference(reference)));
}

describe("--registry-rewrite", () => {
  it("fetches a reference under from from to", () => {
    assert.equal(rewrite("reg.io/a/b:1", "reg.io/a=mirror:5000/x"), "mirror:5000/x/b:1");
  });

  it("matches whole path components: reg.io/a is not a prefix of reg.io/ab", () => {
    assert.equal(rewrite("reg.io/ab:1", "reg.io/a=mirror.io/x"), "reg.io/ab:1");
    assert.equal(rewrite("reg.io/a-b/c:1", "reg.io/a=mirror.io/x"), "reg.io/a-b/c:1");
  });

  it("matches a repository that is from itself", () => {
    assert.equal(rewrite("reg.io/a:1", "reg.io/a=mirror.io/x"), "mirror.io/x:1");
  });

  it("matches whole registries: reg.io is not a prefix of reg.io.example.com nor of reg.io:5000", () => {
    assert.equal(rewrite("reg.io.example.com/a:1", "reg.io=m.io"), "reg.io.example.com/a:1");
    assert.equal(rewrite("reg.io:5000/a:1", "reg.io=m.io"), "reg.io:5000/a:1");
  });

  it("takes the longest from, wherever it stands in the list", () => {
    const rewrites = ["reg.io=m.io/all", "reg.io/a/b=m.io/ab", "reg.io/a=m.io/a"];
    assert.equal(rewrite("reg.io/a/b/c:1", ...rewrites), "m.io/ab/c:1");
    assert.equal(rewrite("reg.io/a/b/c:1", ...rewrites.toReversed()), "m.io/ab/c:1");
    assert.equal(rewrite("reg.io/a/c:1", ...rewrites), "m.io/a/c:1");
    assert.equal(rewrite("reg.io/c:1", ...rewrites), "m.io/all/c:1");
  });

  it("takes a bare registry on either side", () => {
    assert.equal(rewrite("reg.io/a/b:1", "reg.io=mirror:5000"), "mirror:5000/a/b:1");
    assert.equal(rewrite("reg.io/a/b:1", "reg.io=[::1]:5000/pre/fix"), "[::1]:5000/pre/fix/a/b:1");
    assert.equal(rewrite("reg.io/a/b:1", "reg.io/a=mirror:5000"), "mirror:5000/b:1");
  });

  it("keeps tag and digest", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    assert.equal(rewrite(`reg.io/a:1@${digest}`, "reg.io=m.io"), `m.io/a:1@${digest}`);
  });

  it("leaves a reference alone that no rewrite covers", () => {
    const reference = parseReference("other.io/a");
    assert.equal(rewriteReference([parseRewrite("reg.io=m.io")], reference), reference);
  });

  it("is applied once: what it yields is not rewritten again", () => {
    assert.equal(rewrite("a.io/x:1", "a.io=b.io", "b.io=c.io"), "b.io/x:1");
  });

  it("covers docker.io under its other name and with library/ filled in", () => {
    assert.equal(rewrite("ubuntu:1", "index.docker.io=m.io/hub"), "m.io/hub/library/ubuntu:1");
    assert.equal(rewrite("index.docker.io/ubuntu:1", "docker.io/library=m.io"), "m.io/ubuntu:1");
    assert.equal(rewrite("ubuntu/nginx:1", "docker.io/ubuntu=m.io/u"), "m.io/u/nginx:1");
  });

  it("fills in library/ where it leads to docker.io", () => {
    assert.equal(rewrite("m.io/ubuntu:1", "m.io=docker.io"), "docker.io/library/ubuntu:1");
  });

  it("is the same in any letter case of its registries, and with a slash at its ends", () => {
    assert.equal(rewrite("reg.io/a/b:1", "REG.io/a/=Mirror.IO/x/"), "mirror.io/x/b:1");
  });

  it("refuses to leave no repository", () => {
    assert.throws(() => rewrite("reg.io/a:1", "reg.io/a=m.io"), {
      code: "usage",
      message: /reg\.io\/a=m\.io does not fit reg\.io\/a:1: it leaves no repository/,
    });
  });

  it("refuses to make a repository of over 255 characters", () => {
    const rewriting = () => rewrite(`reg.io/${"r".repeat(250)}`, "reg.io=m.io/prefix");
    assert.throws(rewriting, { code: "usage", message: /257 characters/ });
  });
});

describe("parsing --registry-rewrite", () => {
  const refused: readonly (readonly [rule: string, text: string, says: RegExp])[] = [
    ["nothing", "", /not of the form from=to/],
    ["a prefix without =", "reg.io", /not of the form from=to/],
    ["two =", "a.io=b.io=c.io", /not of the form from=to/],
    ["an empty from", "=reg.io", /"" does not start with a registry/],
    ["an empty to", "reg.io=", /"" does not start with a registry/],
    [
      "a from without a registry",
      "library/ubuntu=m.io",
      /"library\/ubuntu" does not start with a registry/,
    ],
    ["a to without a registry", "reg.io=mirror/x", /"mirror\/x" does not start with a registry/],
    ["a malformed registry", "reg_x.io=m.io", /its registry "reg_x.io" is not a host name/],
    ["a URL", "https://reg.io=m.io", /its registry "https:" has no valid port/],
    ["a malformed path", "reg.io/A=m.io", /component "A" has upper-case/],
    ["a tag", "reg.io/a:1=m.io/a", /component "a:1" is malformed/],
    ["a double slash", "reg.io//a=m.io", /empty component/],
  ];
  for (const [what, text, says] of refused) {
    it(`refuses ${what}, as a usage error that shows what was written`, () => {
      assert.throws(
        () => parseRewrite(text),
        (error: unknown) => {
          assert.ok(error instanceof LarderError);
          assert.equal(error.code, "usage");
          assert.match(error.message, says);
          assert.ok(error.message.startsWith(`--registry-rewrite ${JSON.stringify(text)}`));
          return true;
        },
      );
    });
  }

  it("refuses two rewrites that send one prefix to two places", () => {
    assert.throws(() => parseRewrites(["a.io=b.io", "A.io/=c.io"]), {
      code: "usage",
      message: /another one sends a\.io to b\.io/,
    });
  });

  it("takes the same rewrite twice as one", () => {
    assert.equal(parseRewrites(["a.io=b.io", "a.io=B.io", "a.io/x=c.io"]).length, 2);
  });
});

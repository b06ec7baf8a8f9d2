import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { refusal } from "../../testbed/refusal.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { LarderError } from "../errors.ts";
import { prepare } from "./prepare.ts";

const agent = { uid: 65532, gid: 65533 };
const image = filesImage({ "a.tar": "alpha" });

function ownerOf(path: string): string {
  const { uid, gid } = fs.lstatSync(path);
  return `${uid}:${gid}`;
}

function mustBeRoot(): void {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: only root can give files away");
}

test("prepare gives the path, directories with a sentinel and leftovers to a user", async (t) => {
  mustBeRoot();
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.mkdirSync(join(path, ".app.tmp-1", "new"), { recursive: true });
  fs.writeFileSync(join(path, ".app.tmp-1", "new", "half"), "");
  await prepare([path], agent);
  const given = ["", "app", "app/a.tar", "app/.image-cache-agent.json", ".app.tmp-1/new/half"];
  for (const entry of given) assert.equal(ownerOf(join(path, entry)), "65532:65533", entry);
});

test("prepare leaves flat files and foreign directories alone, and creates nothing", async (t) => {
  mustBeRoot();
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "foreign"));
  fs.writeFileSync(join(path, "foreign", "x"), "");
  fs.writeFileSync(join(path, "flat.tar"), "");
  fs.writeFileSync(join(path, ".app.tmp-1"), "a file");
  const before = await entriesOf(path);
  await prepare([path], agent);
  for (const entry of ["foreign", "foreign/x", "flat.tar", ".app.tmp-1"]) {
    assert.equal(ownerOf(join(path, entry)), "0:0", entry);
  }
  assert.deepEqual(await entriesOf(path), before);
});

test("prepare follows no link, and gives away no file that has another name elsewhere", async (t) => {
  mustBeRoot();
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.writeFileSync(join(path, "precious"), "");
  fs.mkdirSync(join(path, "elsewhere"));
  fs.symlinkSync(join(path, "precious"), join(path, "app", "link"));
  fs.linkSync(join(path, "precious"), join(path, "app", "hard"));
  fs.symlinkSync("elsewhere", join(path, ".app.tmp-1"));
  await prepare([path], agent);
  assert.equal(ownerOf(join(path, "precious")), "0:0");
  assert.equal(ownerOf(join(path, "elsewhere")), "0:0");
  assert.equal(ownerOf(join(path, ".app.tmp-1")), "0:0");
});

test("a cache path that is missing fails before anything is given away", async (t) => {
  mustBeRoot();
  const path = await tempDirectory(t);
  const missing = join(path, "missing");
  await assert.rejects(
    prepare([path, missing], agent),
    (error) => error instanceof LarderError && error.code === "cache-path",
  );
  assert.equal(ownerOf(path), "0:0");
  assert.ok(!fs.existsSync(missing));
});

test("prepare without root's rights says to run it as root, and not to run prepare", async (t) => {
  mustBeRoot();
  const path = await tempDirectory(t);
  fs.chmodSync(path, 0o755);
  process.seteuid?.(agent.uid);
  try {
    await assert.rejects(
      prepare([path], agent),
      refusal("disk", /not permitted .*: run this as root/),
    );
  } finally {
    process.seteuid?.(0);
  }
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { LarderError } from "../errors.ts";
import { credentialOf, parseDockerConfig, type Credential } from "./docker-config.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The credential of the one entry of a configuration. */
function credential(fields: object): Credential | undefined {
  const config = parseDockerConfig(JSON.stringify({ auths: { "reg.io": fields } }), "/c.json");
  const entry = config.entries.get("reg.io");
  return entry && credentialOf(entry, config.file);
}

function refusal(run: () => unknown): LarderError {
  let refused: unknown;
  try {
    run();
  } catch (error) {
    refused = error;
  }
  assert.ok(refused instanceof LarderError, "it was accepted");
  assert.equal(refused.code, "auth");
  return refused;
}

describe("an entry of auths", () => {
  const basic = (username: string, password: string) => ({ kind: "basic", username, password });

  it("holds user name and password in auth", () => {
    assert.deepEqual(credential({ auth: base64("me:secret") }), basic("me", "secret"));
  });

  it("may have colons in its password", () => {
    assert.deepEqual(credential({ auth: base64("me:a:b:") }), basic("me", "a:b:"));
  });

  it("may have letters outside ASCII in its password", () => {
    assert.deepEqual(credential({ auth: base64("me:p\u00e4ss") }), basic("me", "p\u00e4ss"));
  });

  it("may lack the padding of base64", () => {
    assert.deepEqual(
      credential({ auth: base64("me:secret").replaceAll("=", "") }),
      basic("me", "secret"),
    );
  });

  it("loses the NULs that old versions of docker padded with", () => {
    assert.deepEqual(credential({ auth: base64("me:secret\0\0") }), basic("me", "secret"));
  });

  it("holds user name and password in fields of their own", () => {
    assert.deepEqual(credential({ username: "me", password: "a:b" }), basic("me", "a:b"));
  });

  it("counts by its auth where it has both", () => {
    const fields = { auth: base64("me:secret"), username: "you", password: "other" };
    assert.deepEqual(credential(fields), basic("me", "secret"));
  });

  it("holds an identity token, with the user name of auth beside it", () => {
    assert.deepEqual(credential({ identitytoken: "t", auth: base64("me:") }), {
      kind: "identity-token",
      token: "t",
      username: "me",
    });
    assert.deepEqual(credential({ identitytoken: "t" }), { kind: "identity-token", token: "t" });
  });

  it("holds a registry token, which comes before all else", () => {
    const fields = { registrytoken: "r", identitytoken: "t", auth: base64("me:secret") };
    assert.deepEqual(credential(fields), { kind: "registry-token", token: "r" });
  });

  it("holds nothing when it is empty or has empty fields", () => {
    assert.equal(credential({}), undefined);
    assert.equal(credential({ auth: "", username: "", password: null }), undefined);
    assert.equal(credential({ email: "me@example.com" }), undefined);
  });

  for (const [what, auth] of [
    ["no base64", "not base64: hunter2"],
    ["base64 of something without a colon", base64("hunter2")],
    ["base64 of something without a user name", base64(":hunter2")],
  ] as const) {
    it(`is refused when its auth is ${what}, naming file and entry and not the secret`, () => {
      const { message } = refusal(() => credential({ auth }));
      assert.match(
        message,
        /\/c\.json: auth of its auths entry reg\.io is not base64 of user:password/,
      );
      assert.ok(!message.includes("hunter2") && !message.includes(auth));
    });
  }

  it("is refused when a field is not a string", () => {
    const { message } = refusal(() => credential({ auth: { hunter2: 1 } }));
    assert.match(message, /auth of its auths entry reg\.io is not a string/);
  });

  it("that is empty does not hide a full one for the same registry", () => {
    const auths = { "https://reg.io/v1/": {}, "reg.io": { auth: base64("me:secret") } };
    const config = parseDockerConfig(JSON.stringify({ auths }), "/c.json");
    assert.equal(config.entries.get("reg.io")?.key, "reg.io");
  });

  it("that is bad is judged only when it is asked for", () => {
    const auths = { "bad.io": { auth: "!" }, "reg.io": { auth: base64("me:secret") } };
    const config = parseDockerConfig(JSON.stringify({ auths }), "/c.json");
    const good = config.entries.get("reg.io");
    assert.ok(good && credentialOf(good, config.file));
  });
});

describe("a docker configuration", () => {
  it("names helpers for registries and one for all others", () => {
    const text = JSON.stringify({
      credHelpers: { "https://reg.io": "ecr-login", "plain.io": "" },
      credsStore: "pass",
    });
    const config = parseDockerConfig(text, "/c.json");
    assert.deepEqual(
      [...config.helpers],
      [
        ["reg.io", "ecr-login"],
        ["plain.io", ""],
      ],
    );
    assert.equal(config.store, "pass");
  });

  it("may have none of it, and anything else besides", () => {
    const config = parseDockerConfig(
      '{"HttpHeaders":{"a":"b"},"auths":null,"credsStore":""}',
      "/c.json",
    );
    assert.equal(config.entries.size + config.helpers.size, 0);
    assert.equal(config.store, undefined);
  });

  it("takes keys named like members of every object for what they are", () => {
    const text = '{"auths":{"__proto__":{"auth":"eDp5"},"constructor":{"auth":"eDp5"}}}';
    assert.deepEqual([...parseDockerConfig(text, "/c.json").entries.keys()].sort(), [
      "__proto__",
      "constructor",
    ]);
  });

  const malformed: readonly (readonly [what: string, text: string, says: RegExp])[] = [
    ["is no JSON", '{"auths":{"a":"hunter2"', /it is not JSON \(line 1 column \d+\)/],
    ["is no JSON and the parser quotes it", '{"auths": hunter2}', /it is not JSON/],
    ["is empty", "", /it is not JSON/],
    ["is an array", '["hunter2"]', /it is not a JSON object/],
    ["has auths that are no object", '{"auths":["hunter2"]}', /its auths is not an object/],
    [
      "has an entry that is no object",
      '{"auths":{"reg.io":"hunter2"}}',
      /auths entry reg\.io is not an object/,
    ],
    [
      "has credHelpers that are no object",
      '{"credHelpers":"hunter2"}',
      /its credHelpers is not an object/,
    ],
    [
      "has a credsStore that is no string",
      '{"credsStore":{"hunter2":1}}',
      /its credsStore is not the name/,
    ],
  ];
  for (const [what, text, says] of malformed) {
    it(`that ${what} is an error with the file's name and without its content`, () => {
      const error = refusal(() => parseDockerConfig(text, "/etc/c.json"));
      assert.match(error.message, says);
      assert.match(error.message, /\/etc\/c\.json/);
      assert.ok(!inspect(error).includes("hunter2"));
    });
  }

  for (const name of ["../evil", "a/b", "/bin/sh", "a b", "-x", ".", "a\u0000b"]) {
    it(`does not lead to another program by the helper name ${JSON.stringify(name)}`, () => {
      const text = JSON.stringify({ credHelpers: { "reg.io": name } });
      const { message } = refusal(() => parseDockerConfig(text, "/c.json"));
      assert.match(message, /credHelpers entry reg\.io is not the name of a credential helper/);
    });
  }
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { LarderError } from "../errors.ts";
import { formatReference, normalise, parseReference, referenceName } from "./reference.ts";

const sha256 = `sha256:${"0123456789abcdef".repeat(4)}`;
const sha512 = `sha512:${"0123456789abcdef".repeat(8)}`;

/** Rule, what is written, and the complete spelling that it stands for. */
const acceptedTexts: readonly (readonly [rule: string, text: string, complete: string])[] = [
  [
    "no registry is docker.io, one component gets library/, no tag is latest",
    "ubuntu",
    "docker.io/library/ubuntu:latest",
  ],
  ["a tag is kept", "ubuntu:24.04", "docker.io/library/ubuntu:24.04"],
  [
    "two components without a dot are a docker.io repository",
    "grafana/loki",
    "docker.io/grafana/loki:latest",
  ],
  ["library/ is not doubled", "library/ubuntu", "docker.io/library/ubuntu:latest"],
  ["three components without a dot are a docker.io repository", "a/b/c:1", "docker.io/a/b/c:1"],
  [
    "docker.io written out gets library/ too",
    "docker.io/ubuntu",
    "docker.io/library/ubuntu:latest",
  ],
  ["index.docker.io is docker.io", "index.docker.io/ubuntu", "docker.io/library/ubuntu:latest"],
  [
    "index.docker.io in capitals is docker.io",
    "Index.Docker.IO/library/ubuntu",
    "docker.io/library/ubuntu:latest",
  ],
  ["library/ is for docker.io only", "registry.example.com/app", "registry.example.com/app:latest"],
  ["a first component with a dot is a registry", "reg.io/team/app:1", "reg.io/team/app:1"],
  ["a first component with a colon is a registry", "registry:5000/app:1", "registry:5000/app:1"],
  ["localhost is a registry", "localhost/app", "localhost/app:latest"],
  ["localhost with a port is a registry", "localhost:5000/app", "localhost:5000/app:latest"],
  ["localhost alone is a repository", "localhost", "docker.io/library/localhost:latest"],
  [
    "a colon without a slash starts a tag, not a port",
    "localhost:5000",
    "docker.io/library/localhost:5000",
  ],
  ["a dot without a slash makes no registry", "reg.io", "docker.io/library/reg.io:latest"],
  ["an IPv4 address is a registry", "127.0.0.1:5000/app:1", "127.0.0.1:5000/app:1"],
  ["an IPv6 address stands in brackets", "[::1]/app", "[::1]/app:latest"],
  [
    "an IPv6 address may have a port",
    "[2001:db8::1]:5000/team/app:1",
    "[2001:db8::1]:5000/team/app:1",
  ],
  [
    "an IPv6 address is written the short way",
    "[2001:DB8:0:0:0:0:0:1]/app",
    "[2001:db8::1]/app:latest",
  ],
  ["a registry is in lower case", "Registry.Example.COM/app", "registry.example.com/app:latest"],
  ["leading zeros of a port mean nothing", "reg.io:05000/app", "reg.io:5000/app:latest"],
  ["the highest port is 65535", "reg.io:65535/app", "reg.io:65535/app:latest"],
  ["a punycode host is a registry", "xn--n3h.com/app", "xn--n3h.com/app:latest"],
  [
    "a host has inner hyphens, and several of them",
    "my--registry.io/app",
    "my--registry.io/app:latest",
  ],
  ["a digest makes no tag", `app@${sha256}`, `docker.io/library/app@${sha256}`],
  ["sha512 is a digest", `reg.io/app@${sha512}`, `reg.io/app@${sha512}`],
  [
    "a tag beside a digest is kept for printing",
    `reg.io/app:1@${sha256}`,
    `reg.io/app:1@${sha256}`,
  ],
  [
    "a port, a tag and a digest stand together",
    `reg.io:5000/a/b:1@${sha256}`,
    `reg.io:5000/a/b:1@${sha256}`,
  ],
  ["a component has single dots inside", "reg.io/a.b", "reg.io/a.b:latest"],
  ["a component has one underscore inside", "reg.io/a_b", "reg.io/a_b:latest"],
  ["a component has two underscores inside", "reg.io/a__b", "reg.io/a__b:latest"],
  ["a component has any number of hyphens inside", "reg.io/a----b", "reg.io/a----b:latest"],
  ["a component has digits only", "reg.io/1/2", "reg.io/1/2:latest"],
  [
    "a tag has capitals, underscores, dots and hyphens",
    "app:V1.2-rc_3",
    "docker.io/library/app:V1.2-rc_3",
  ],
  ["a tag starts with an underscore", "app:_1", "docker.io/library/app:_1"],
  [
    "a tag has 128 characters",
    `app:${"t".repeat(128)}`,
    `docker.io/library/app:${"t".repeat(128)}`,
  ],
  [
    "a repository has 255 characters",
    `reg.io/${"r".repeat(255)}`,
    `reg.io/${"r".repeat(255)}:latest`,
  ],
  [
    "64 hex digits below a registry are a repository",
    `reg.io/${"a".repeat(64)}`,
    `reg.io/${"a".repeat(64)}:latest`,
  ],
  ["63 hex digits are a repository", "a".repeat(63), `docker.io/library/${"a".repeat(63)}:latest`],
];

/** Rule, what is written, and what the error says. */
const refusedTexts: readonly (readonly [rule: string, text: string, says: RegExp])[] = [
  ["nothing is no reference", "", /it is empty/],
  ["a colon alone has an empty component", ":1", /empty component/],
  [
    "a repository is in lower case",
    "Ubuntu",
    /repository component "Ubuntu" has upper-case letters: write "ubuntu"/,
  ],
  [
    "each component is in lower case",
    "reg.io/team/App",
    /repository component "App" has upper-case/,
  ],
  ["capitals do not make a registry", "Team/app", /repository component "Team" has upper-case/],
  ["the repository must not be empty", "reg.io/", /empty component/],
  ["a leading slash is refused", "/app", /empty component/],
  ["a double slash is refused", "reg.io/a//b", /empty component/],
  ["a trailing slash is refused", "reg.io/a/", /empty component/],
  [
    "a component does not start with a separator",
    "reg.io/-a",
    /repository component "-a" is malformed/,
  ],
  [
    "a component does not end with a separator",
    "reg.io/a-",
    /repository component "a-" is malformed/,
  ],
  ["two dots side by side are refused", "reg.io/a..b", /repository component "a..b" is malformed/],
  ["three underscores side by side are refused", "reg.io/a___b", /repository component "a___b"/],
  ["unlike separators side by side are refused", "reg.io/a._b", /repository component "a._b"/],
  ["dots alone are refused", "reg.io/../b", /repository component ".." is malformed/],
  [
    "letters outside ASCII are refused",
    "reg.io/b\u00fccher",
    /repository component "b\u00fccher" is malformed/,
  ],
  [
    "a repository over 255 characters is refused",
    `reg.io/${"r".repeat(256)}`,
    /repository has 256 characters and the limit is 255/,
  ],
  ["library/ counts to the 255 characters", "r".repeat(250), /repository has 258 characters/],
  [
    "a reference over 512 characters is refused",
    `reg.io/app:${"t".repeat(600)}`,
    /it has 611 characters and the limit is 512/,
  ],
  ["an empty tag is refused", "reg.io/app:", /its tag is empty/],
  [
    "a tag over 128 characters is refused",
    `app:${"t".repeat(129)}`,
    /tag has 129 characters and the limit is 128/,
  ],
  ["a tag does not start with a dot", "app:.1", /its tag ".1" is malformed/],
  ["a tag does not start with a hyphen", "app:-1", /its tag "-1" is malformed/],
  ["a tag has no plus sign", "app:1+2", /its tag "1\+2" is malformed/],
  ["two tags are refused", "app:1:2", /its tag "1:2" is malformed/],
  ["an empty digest is refused", "app@", /its digest "" has no algorithm/],
  [
    "a digest without an algorithm is refused",
    "app@latest",
    /its digest "latest" has no algorithm/,
  ],
  [
    "a digest of another algorithm is refused",
    `app@sha384:${"a".repeat(96)}`,
    /no algorithm that can be checked: write sha256/,
  ],
  [
    "a digest that is too short is refused",
    "app@sha256:abc",
    /digest "sha256:abc" has 3 characters: write sha256: and 64/,
  ],
  ["a digest that is too long is refused", `app@${sha256}0`, /has 65 characters/],
  ["a digest in capitals is refused", `app@sha256:${"A".repeat(64)}`, /is not lower-case hex/],
  ["two digests are refused", `app@${sha256}@${sha256}`, /its digest/],
  [
    "a registry does not start with a hyphen",
    "-reg.io/app",
    /its registry "-reg.io" is not a host name/,
  ],
  [
    "a registry does not end with a hyphen",
    "reg-.io/app",
    /its registry "reg-.io" is not a host name/,
  ],
  ["a registry has no underscore", "my_reg.io/app", /its registry "my_reg.io" is not a host name/],
  [
    "a registry does not end with a dot",
    "reg.io./app",
    /its registry "reg.io." is not a host name/,
  ],
  ["a registry is no dot alone", "./app", /its registry "." is not a host name/],
  ["an empty port is refused", "reg.io:/app", /its registry "reg.io:" has no valid port/],
  ["a port is a number", "reg.io:http/app", /its registry "reg.io:http" has no valid port/],
  ["a port above 65535 is refused", "reg.io:65536/app", /no valid port.*1 to 65535/],
  ["port 0 is refused", "reg.io:0/app", /no valid port/],
  [
    "an IPv6 address without brackets is refused",
    "::1/app",
    /its registry "::1" has more than one colon: write an IPv6 address as \[::1\]/,
  ],
  [
    "brackets hold an IPv6 address",
    "[reg.io]/app",
    /its registry "\[reg.io\]" has no IPv6 address in its brackets/,
  ],
  ["an IPv6 zone is refused", "[fe80::1%eth0]/app", /no IPv6 address in its brackets/],
  ["an IPv6 registry alone has no repository", "[::1]:5000", /a registry and no repository/],
  [
    "an IPv4 address with a number over 255 is refused",
    "1.2.3.256/app",
    /its registry "1.2.3.256" is neither a host name nor a whole IPv4 address/,
  ],
  [
    "a shortened IPv4 address is refused",
    "127.1/app",
    /its registry "127.1" is neither a host name nor a whole IPv4 address/,
  ],
  ["an octal IPv4 address is refused", "0177.0.0.1/app", /its registry "0177.0.0.1" is neither/],
  [
    "a URL is refused with the word to remove",
    "https://reg.io/app",
    /it starts with https:\/\/: write it without/,
  ],
  [
    "a docker:// prefix is refused with the word to remove",
    "docker://reg.io/app",
    /write it without docker:\/\//,
  ],
  ["white space is refused", "reg.io/app :1", /white space/],
  ["a line break at the end is refused", "reg.io/app:1\n", /white space/],
  ["the ID of an image is refused as one", "a".repeat(64), /ID of an image/],
];

function refusal(text: string): LarderError {
  let refused: unknown;
  try {
    parseReference(text);
  } catch (error) {
    refused = error;
  }
  assert.ok(refused instanceof LarderError, `${text} was accepted`);
  return refused;
}

describe("a reference that is accepted", () => {
  for (const [rule, text, complete] of acceptedTexts) {
    it(`${rule}: ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`, () => {
      assert.equal(formatReference(parseReference(text)), complete);
    });
  }

  it("is taken apart into registry, repository, tag and digest", () => {
    assert.deepEqual(parseReference(`reg.io:5000/team/app:1@${sha256}`), {
      registry: "reg.io:5000",
      repository: "team/app",
      tag: "1",
      digest: sha256,
    });
  });

  it("has no tag where it has only a digest", () => {
    assert.deepEqual(parseReference(`reg.io/app@${sha256}`), {
      registry: "reg.io",
      repository: "app",
      digest: sha256,
    });
  });

  it("has a name without tag and digest", () => {
    assert.equal(referenceName(parseReference(`ubuntu:1@${sha256}`)), "docker.io/library/ubuntu");
  });
});

describe("a reference that is refused", () => {
  for (const [rule, text, says] of refusedTexts) {
    it(`${rule}: ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`, () => {
      const error = refusal(text);
      assert.equal(error.code, "reference");
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /\n/);
    });
  }

  it("does not repeat a password that somebody wrote into it", () => {
    for (const text of [
      "https://me:hunter2@reg.io/app:1",
      "me:hunter2@reg.io/app:1",
      "me:hun/ter2@reg.io/app",
    ]) {
      const { message } = refusal(text);
      assert.match(message, /--registry-config/);
      assert.doesNotMatch(message, /ter2/);
    }
  });

  it("is shortened in the message when it is over 512 characters", () => {
    assert.ok(refusal("x".repeat(100_000)).message.length < 400);
  });
});

describe("normalise", () => {
  it("gives one string for two spellings of one source", () => {
    const spellings = [
      "ubuntu",
      "ubuntu:latest",
      "library/ubuntu",
      "docker.io/ubuntu",
      "index.docker.io/library/ubuntu:latest",
      "Docker.io/library/ubuntu",
    ];
    assert.deepEqual(
      new Set(spellings.map(normalise)),
      new Set(["docker.io/library/ubuntu:latest"]),
    );
  });

  it("lets the digest decide: a tag beside it makes no other source", () => {
    const spellings = [`reg.io/app@${sha256}`, `reg.io/app:1@${sha256}`, `REG.io/app:2@${sha256}`];
    assert.deepEqual(new Set(spellings.map(normalise)), new Set([`reg.io/app@${sha256}`]));
  });

  it("keeps different sources apart", () => {
    const sources = ["app", "app:1", "team/app", "reg.io/app", "reg.io:5000/app", `app@${sha256}`];
    assert.equal(new Set(sources.map(normalise)).size, sources.length);
  });

  it("refuses what is no reference", () => {
    assert.throws(() => normalise("UPPER"), { code: "reference" });
  });
});

describe("any reference", () => {
  const repository = fc.stringMatching(
    /^[a-z][a-z0-9]{0,4}([_-][a-z0-9]{1,4}){0,2}(\/[a-z0-9]{1,5}(\.[a-z0-9]{1,3})?){0,3}$/,
  );
  const registry = fc.constantFrom(
    "",
    "reg.io/",
    "REG.io:5000/",
    "localhost/",
    "[::1]:80/",
    "docker.io/",
  );
  const version = fc.constantFrom("", ":1", ":A_b.c-d", `@${sha256}`, `:1@${sha512}`);

  it("is the same after formatting and parsing again", () => {
    fc.assert(
      fc.property(registry, repository, version, (...parts) => {
        const once = parseReference(parts.join(""));
        assert.deepEqual(parseReference(formatReference(once)), once);
        assert.equal(normalise(normalise(parts.join(""))), normalise(parts.join("")));
      }),
    );
  });

  it("is parsed or refused with a LarderError, whatever the text", () => {
    const nasty = fc.string({
      unit: fc.constantFrom(...Array.from("aZ0./:@[]-_%=\u0000 \u00e9")),
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.oneof(fc.string(), nasty), (text) => {
        try {
          const { registry: host } = parseReference(text);
          assert.equal(new URL(`http://${host}/`).host, host.replace(/:80$/, ""));
        } catch (error) {
          assert.ok(error instanceof LarderError, String(error));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

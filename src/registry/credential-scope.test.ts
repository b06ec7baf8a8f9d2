import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { scopeOf, scopesFor, serversOf } from "./credential-scope.ts";

describe("the scope of a key in a docker configuration", () => {
  const keys: readonly (readonly [rule: string, key: string, scope: string])[] = [
    ["a host is a scope", "reg.io", "reg.io"],
    ["a host with a port is a scope", "reg.io:5000", "reg.io:5000"],
    ["an IPv6 host is a scope", "[::1]:5000", "[::1]:5000"],
    ["a host with a path is a scope", "reg.io/team/app", "reg.io/team/app"],
    ["a URL is its host", "https://reg.io", "reg.io"],
    ["a URL with the API's version is its host", "https://reg.io/v1/", "reg.io"],
    ["a URL with version 2 is its host", "http://reg.io/v2/", "reg.io"],
    ["a URL's path is kept", "https://reg.io/team", "reg.io/team"],
    ["a URL's path behind the version is kept", "https://reg.io/v2/team", "reg.io/team"],
    ["without a scheme v1 is a path", "reg.io/v1", "reg.io/v1"],
    ["letter case of a host means nothing", "REG.io/team", "reg.io/team"],
    ["a slash at the end means nothing", "reg.io/team/", "reg.io/team"],
    ["Docker Hub by its URL is docker.io", "https://index.docker.io/v1/", "docker.io"],
    ["Docker Hub by its URL without scheme is docker.io", "index.docker.io/v1/", "docker.io"],
    ["index.docker.io is docker.io", "index.docker.io", "docker.io"],
    ["registry-1.docker.io is docker.io", "https://registry-1.docker.io/v2/", "docker.io"],
    ["a path on Docker Hub is kept", "docker.io/team", "docker.io/team"],
  ];
  for (const [rule, key, scope] of keys) {
    it(rule, () => assert.equal(scopeOf(key), scope));
  }
});

describe("the scopes of a repository", () => {
  it("go from the whole repository to the registry, by whole components", () => {
    assert.deepEqual(scopesFor("reg.io:5000", "a/b/c"), [
      "reg.io:5000/a/b/c",
      "reg.io:5000/a/b",
      "reg.io:5000/a",
      "reg.io:5000",
    ]);
  });

  it("are those of docker.io for each name of Docker Hub", () => {
    for (const name of ["docker.io", "index.docker.io", "registry-1.docker.io"]) {
      assert.deepEqual(scopesFor(name, "team/app"), [
        "docker.io/team/app",
        "docker.io/team",
        "docker.io",
      ]);
    }
  });

  it("are the registry alone without a repository", () => {
    assert.deepEqual(scopesFor("reg.io", ""), ["reg.io"]);
  });
});

it("a helper is asked for Docker Hub by the URL that docker files it under, then by its name", () => {
  assert.deepEqual(serversOf("docker.io"), ["https://index.docker.io/v1/", "docker.io"]);
  assert.deepEqual(serversOf("reg.io"), ["reg.io"]);
});

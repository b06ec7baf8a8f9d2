import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";

import { buildImage, buildIndex } from "../../testbed/built-image.ts";
import { runCommand } from "../../testbed/command.ts";
import { makeCertificates } from "../../testbed/certificates.ts";
import type { Certificates } from "../../testbed/certificates.ts";
import { startDockerRegistry } from "../../testbed/docker-registry.ts";
import type { DockerRegistry } from "../../testbed/docker-registry.ts";
import { writeOciLayout } from "../../testbed/oci-layout-writer.ts";
import { pushImage } from "../../testbed/push-image.ts";
import { until } from "../../testbed/until.ts";
import { bytesOf, client, dockerConfig, failureOf, fileWith, sample } from "./client.ts";

suite("against Debian's docker-registry", () => {
  let registry: DockerRegistry;
  before(async () => {
    registry = await startDockerRegistry();
  });
  after(() => registry.stop());

  for (const docker of [false, true]) {
    test(`an image for several platforms is pulled, ${docker ? "docker" : "OCI"} types`, async (t) => {
      const layers = [{ entries: [{ path: "a.tar", content: "a" }], compression: "zstd" as const }];
      const wanted = buildImage({ layers, docker });
      const arm = buildImage({
        layers,
        docker,
        platform: { os: "linux", architecture: "arm64", variant: "v8" },
      });
      const index = buildIndex([{ image: arm }, { image: wanted }], docker);
      const name = `${registry.host}/team/${docker ? "docker" : "oci"}`;
      await pushImage(registry.url, `team/${docker ? "docker" : "oci"}`, "1", index);
      const image = await client(t, { insecure: [registry.host] }).image(`${name}:1`);
      assert.equal(image.digest, wanted.digest);
      assert.equal(image.resolved, index.digest);
      assert.deepEqual(await bytesOf(image.layers[0]), wanted.layers[0]?.blob);
    });
  }

  test("an image is pulled by digest", async (t) => {
    const built = sample();
    await pushImage(registry.url, "team/app", "1", built);
    const from = client(t, { insecure: [registry.host] });
    const image = await from.image(`${registry.host}/team/app@${built.digest}`);
    assert.equal(image.digest, built.digest);
  });

  test("what is not there is not-found, in the registry's words", async (t) => {
    const from = client(t, { insecure: [registry.host] });
    const error = await failureOf(from.image(`${registry.host}/team/none:1`));
    assert.equal(error.code, "not-found");
    assert.match(error.message, /MANIFEST_UNKNOWN/);
  });
});

suite("against Debian's docker-registry with TLS and a password", () => {
  const user = { username: "robot", password: "s3cret password" };
  const built = sample();
  let registry: DockerRegistry;
  let tls: Certificates;
  before(async () => {
    tls = await makeCertificates();
    registry = await startDockerRegistry({ tls, user });
  });
  after(() => registry.stop());

  test("an image that skopeo pushed is pulled with the CA and the password of a config.json", async (t) => {
    const caPath = await fileWith(t, tls.ca, "ca.crt");
    const layout = join(dirname(caPath), "layout");
    await writeOciLayout(layout, [{ image: built, tag: "1" }]);
    const credentials = `${user.username}:${user.password}`;
    const trusting = ["--preserve-digests", "--dest-cert-dir", dirname(caPath)];
    const places = [`oci:${layout}:1`, `docker://${registry.host}/team/app:1`];
    await runCommand("skopeo", ["copy", ...trusting, "--dest-creds", credentials, ...places]);
    const configPath = await dockerConfig(t, { [registry.host]: user });
    const image = await client(t, { caPath, configPath }).image(`${registry.host}/team/app:1`);
    assert.equal(image.digest, built.digest);
    assert.deepEqual(await bytesOf(image.layers[0]), built.layers[0]?.blob);
  });

  test("without the password it is an auth error", async (t) => {
    const caPath = await fileWith(t, tls.ca, "ca.pem");
    const error = await failureOf(client(t, { caPath }).image(`${registry.host}/team/app:1`));
    assert.equal(error.code, "auth");
  });

  test("without the CA it is a network error that names --registry-ca", async (t) => {
    const error = await failureOf(client(t).image(`${registry.host}/team/app:1`));
    assert.equal(error.code, "network");
    assert.match(error.message, /--registry-ca/);
  });
});

suite("the testbed's docker-registry", () => {
  test("is gone when the process that started it is killed", async () => {
    const script = `
      import { startDockerRegistry } from ${JSON.stringify(import.meta.resolve("../../testbed/docker-registry.ts"))};
      const registry = await startDockerRegistry();
      console.log(registry.url);
      setInterval(() => {}, 1000);
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [url] = await once(createInterface(child.stdout), "line");
    assert.equal((await fetch(`${url}/v2/`)).status, 200);
    child.kill("SIGKILL");
    const answers = () =>
      fetch(`${url}/v2/`).then(
        () => true,
        () => false,
      );
    await until("the registry is gone", async () => !(await answers()));
  });
});

/** deploy/ on a real API server, and in step with the code that it starts. */
import assert from "node:assert/strict";
import { mkdir, readFile, stat, chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import { sentinelName } from "../../src/cache/sentinel.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { credentialOf, parseDockerConfig } from "../../src/registry/docker-config.ts";
import { parseCertificates } from "../../src/registry/trust.ts";
import { runCommand } from "../../testbed/command.ts";
import type { ControlPlane } from "../../testbed/control-plane.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { startWithImageCaches } from "../api/image-cache-cases.ts";
import { mainFile } from "../cli/larder-process.ts";
import { root } from "../source-files.ts";
import { base, daemonSetOf, examples, manifestsOf, type Container } from "./manifests.ts";

suite("deploy/agent and its examples", () => {
  let plane: ControlPlane;
  before(async () => {
    plane = await startWithImageCaches();
    await plane.apply(base);
  });
  after(() => plane.stop());

  const all = [base, ...examples];

  test("are accepted by the API server with no unknown field, applied from either side", async () => {
    for (const folder of all) {
      for (const side of [["--server-side", "--force-conflicts"], []]) {
        const words = ["apply", ...side, "--validate=strict", "-k", folder];
        await plane.kubectl(...words, "--dry-run=server");
        await plane.kubectl(...words);
      }
    }
  });

  test("are left as they are when they are applied again", async () => {
    await plane.kubectl("apply", "-k", base);
    const said = (await plane.kubectl("apply", "-k", base)).trim().split("\n");
    assert.deepEqual(
      said.filter((line) => !line.endsWith(" unchanged")),
      [],
    );
  });

  test("an example of an ImageCache is one", async () => {
    const file = join(root, "deploy/examples/agent-more-paths/image-cache.yaml");
    await plane.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", file);
  });

  test("start the image of this version, and say so in their labels", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      version: string;
    };
    for (const folder of all) {
      const { spec } = await daemonSetOf(plane, folder);
      const { initContainers, containers } = spec.template.spec;
      const images = [...initContainers, ...containers].map(({ image }) => image);
      assert.deepEqual(images, [`larder:${version}`, `larder:${version}`]);
      for (const { kind, metadata } of await manifestsOf(plane, folder)) {
        // What an example generates is not Larder's own.
        if (["Secret", "ConfigMap"].includes(kind)) continue;
        assert.equal(metadata.labels?.["app.kubernetes.io/version"], version, metadata.name);
      }
    }
  });

  test("give the containers words that the command line knows", async () => {
    for (const folder of all) {
      const { spec } = await daemonSetOf(plane, folder);
      const { initContainers, containers } = spec.template.spec;
      for (const { args } of [...initContainers, ...containers]) {
        const verb = verbs.find(({ name }) => name === args[0]);
        assert.ok(verb, args.join(" "));
        const flags = args.filter((word) => word.startsWith("--"));
        const known: readonly string[] = verb.options.map(({ flag }) => flag);
        for (const word of flags) assert.ok(known.includes(flagOf(word)), word);
      }
    }
  });

  test("mount each cache path at the path that it has on the node, and hand it to the agent's user", async () => {
    for (const folder of all) {
      const { spec } = await daemonSetOf(plane, folder);
      const { volumes, initContainers, containers } = spec.template.spec;
      const paths = volumes.flatMap(({ name, hostPath }) =>
        hostPath === undefined ? [] : [{ name, mountPath: hostPath.path }],
      );
      assert.ok(paths.length > 0);
      for (const container of [...initContainers, ...containers]) {
        assert.deepEqual(
          mountsOf(
            container,
            paths.map(({ name }) => name),
          ),
          paths,
        );
      }
      assert.deepEqual(
        initContainers[0].args.filter((word) => word.startsWith("/")),
        paths.map(({ mountPath }) => mountPath),
      );
    }
  });

  test("the example of registry access has files that Larder reads", async () => {
    const folder = join(root, "deploy/examples/agent-registry-access");
    const file = join(folder, "config.json");
    const { entries } = parseDockerConfig(await readFile(file, "utf8"), file, true);
    assert.deepEqual(
      [...entries.values()].map((entry) => credentialOf(entry, file)?.kind),
      ["basic"],
    );
    const pem = await readFile(join(folder, "ca.pem"));
    assert.equal(parseCertificates(pem, "ca.pem").length, 1);
  });

  test("the init container's capabilities are enough for prepare, and none of them is idle", async (t) => {
    const { spec } = await daemonSetOf(plane, base);
    const [{ securityContext, args }] = spec.template.spec.initContainers;
    const { add = [], drop } = securityContext.capabilities;
    assert.deepEqual(drop, ["ALL"]);
    const path = join(await tempDirectory(t), "cache");
    await mkdir(join(path, "boot"), { recursive: true });
    await writeFile(join(path, "boot", sentinelName), "{}");
    const words = args.map((word) => (word.startsWith("/") ? path : word));
    // The second time the path is the agent's, and closed to others.
    await prepareWith(add, words);
    await chmod(path, 0o700);
    await prepareWith(add, words);
    assert.equal((await stat(join(path, "boot"))).uid, 65532);
    for (const one of add) {
      await runCommand("chown", ["-R", one === "CHOWN" ? "0:0" : "65532:65532", path]);
      const others = add.filter((each) => each !== one);
      await assert.rejects(prepareWith(others, words), /larder: cannot /, `without ${one}`);
    }
  });
});

/** `--registry-ca=/etc/larder` as `registry-ca`. */
function flagOf(word: string): string {
  return word.slice(2).split("=", 1).join("");
}

function mountsOf({ volumeMounts }: Container, names: readonly string[]) {
  return volumeMounts
    .filter(({ name }) => names.includes(name))
    .map(({ name, mountPath }) => ({ name, mountPath }));
}

/** `larder` as root with some capabilities only, as a container runtime starts it. */
async function prepareWith(capabilities: readonly string[], words: readonly string[]) {
  const bounding = ["-all", ...capabilities.map((each) => `+${each.toLowerCase()}`)].join(",");
  const limits = [`--bounding-set=${bounding}`, "--inh-caps=-all", "--no-new-privs"];
  return runCommand("setpriv", [...limits, process.execPath, mainFile, ...words]);
}

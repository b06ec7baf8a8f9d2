/** The agent with what a pod has: its service account, the shipped roles, and files that rotate. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test, type TestContext } from "node:test";

import type { AgentProcess } from "../../testbed/agent-process.ts";
import { startTcpLink, type TcpLink } from "../../testbed/tcp-link.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { account } from "../deploy/cluster-with-agent.ts";
import { base } from "../deploy/manifests.ts";
import { Suite, type World } from "./world.ts";

const suite = await Suite.start();

before(async () => {
  await suite.plane.apply(base);
});

/** Where the kubelet puts the token and the CA of a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

interface Stage {
  readonly world: World;
  readonly agent: AgentProcess;
  readonly link: TcpLink;
  /** Its service account's folder. */
  readonly folder: string;
}

/**
 * In a mount namespace of its own, with the service account where a pod has it, and the cache path a
 * mount as of a hostPath volume.
 */
const inPod = [
  "unshare",
  "--mount",
  "sh",
  "-ec",
  `mount -t tmpfs none /run
mkdir -p ${serviceAccountFolder}
mount --bind "$1" ${serviceAccountFolder}
mount --bind "$2" "$2"
shift 2
exec "$@"`,
  "sh",
];

async function stage(t: TestContext, args: readonly string[] = []): Promise<Stage> {
  const world = await suite.world(t);
  const folder = await tempDirectory(t);
  await world.plane.writeServiceAccountFolder(folder, { ...account, podNode: world.nodeName });
  const link = await startTcpLink(world.plane.port);
  t.after(async () => link.close());
  const agent = world.start(args, {
    inPod: true,
    by: [...inPod, folder, world.cachePath],
    env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(link.port) },
  });
  await agent.says("listening");
  return { world, agent, link, folder };
}

async function gets({ world }: Stage, name: string): Promise<void> {
  const source = await suite.push(`${name}-${world.nodeName}`, "1", { "x.tar": name });
  await world.apply(name, { source });
}

test("a whole life goes without one request that the shipped roles and policy do not allow", async (t) => {
  const mark = await suite.plane.audit.mark();
  const scene = await stage(t, ["--gc-delay=0"]);
  const { world } = scene;
  await gets(scene, "boot");
  await world.says("boot", "synced");
  await world.event("boot", "Synced");
  await world.delete("boot", "x.tar");
  await world.holds("boot", "x.tar", "boot");
  await world.says("boot", "synced");
  await world.apply("bad", { source: `${suite.registry.host}/nothing:1` });
  await world.event("bad", "SyncFailed");
  await world.says("bad", "pending");
  await world.remove("bad");
  await world.remove("boot");
  await world.says("bad", undefined);
  await world.says("boot", undefined);
  await until("it is collected", async () => (await world.entries()).length === 0);
  const asked = await suite.plane.audit.since(mark, { user: /:image-cache-agent$/ });
  const refused = asked.filter(({ status }) => status === 401 || status === 403);
  assert.deepEqual(refused, []);
  const kinds = new Set(asked.map(({ verb, resource }) => `${verb} ${resource ?? ""}`));
  assert.deepEqual(
    ["create events", "patch nodes", "watch imagecaches", "watch nodes"].filter(
      (kind) => !kinds.has(kind),
    ),
    [],
  );
});

test("a token that is refused and replaced stops no repair, and its successor is taken up", async (t) => {
  const scene = await stage(t);
  const { world, agent, link, folder } = scene;
  await gets(scene, "before");
  await world.says("before", "synced");
  await writeFile(join(folder, "token"), "no-token-of-this-cluster");
  await gets(scene, "under");
  await world.holds("under", "x.tar", "under");
  await agent.says("cannot write the node's labels");
  await link.cut();
  await link.restore();
  await until("it is refused", async () => {
    return agent.said("lost the watch").some(({ error }) => String(error).includes("401"));
  });
  await world.delete("before", "x.tar");
  await world.holds("before", "x.tar", "before");
  await world.plane.writeServiceAccountFolder(folder, { ...account, podNode: world.nodeName });
  await gets(scene, "after");
  for (const name of ["before", "under", "after"]) await world.says(name, "synced");
  assert.equal(agent.said("the agent runs").length, 1);
});

test("an API server with another certificate and authority is trusted once the new CA is there", async (t) => {
  const scene = await stage(t);
  const { world, agent, link, folder } = scene;
  await gets(scene, "before");
  await world.says("before", "synced");
  await world.plane.rotateServingCertificate("new");
  await link.cut();
  await link.restore();
  await until("it is not trusted", async () => {
    const reasons = agent.said("lost the watch").map(({ error }) => String(error));
    return reasons.some((reason) => reason.includes("certificate"));
  });
  await world.delete("before", "x.tar");
  await world.holds("before", "x.tar", "before");
  await writeFile(join(folder, "ca.crt"), world.plane.ca);
  await gets(scene, "after");
  await world.says("before", "synced");
  await world.says("after", "synced");
  assert.equal(agent.said("the agent runs").length, 1);
});

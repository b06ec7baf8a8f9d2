import { test } from "node:test";
import { startApiGate } from "../../testbed/api-gate.ts";
import { Suite } from "./world.ts";
const suite = await Suite.start();
for (let i = 0; i < 40; i++) {
  test(`run ${i}`, async (t) => {
    const world = await suite.world(t);
    const gate = await startApiGate(world.plane);
    t.after(async () => gate.stop());
    const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, gate.url);
    const agent = world.start([], { kubeconfig });
    const kept = await suite.push(`kept-${world.nodeName}`, "1", { "k.tar": "kept" });
    await world.apply("kept", { source: kept });
    try { await world.says("kept", "synced"); } catch (e) { console.log(JSON.stringify(agent.lines,null,1), gate.seen, await world.labels(), await world.entries()); throw e; }
  });
}

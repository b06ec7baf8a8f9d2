/** Starts a control plane, says what there is now, and ends as it is told: by `exit`, or by a signal. */
import { once } from "node:events";

import { startControlPlane } from "../../testbed/control-plane.ts";

const { pids, dir } = await startControlPlane();
process.stdout.write(`${JSON.stringify({ pids: Object.values(pids), dir })}\n`);
await once(process.stdin, "data");
process.exit();

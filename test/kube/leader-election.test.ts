/** Leader election on a real API server, by an account that may use leases and nothing else. */
import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";

import { Client } from "../../src/kube/client.ts";
import { LeaderElection } from "../../src/kube/leader-election.ts";
import type { LeaseLimits } from "../../src/kube/lease-limits.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { untilStopped } from "./electorate.ts";

const namespace = "default";
const account = { namespace, name: "larder-operator" };

/** As the defaults are to each other, a third of them. */
const quick: Partial<LeaseLimits> = {
  leaseMs: 5_000,
  renewDeadlineMs: 3_000,
  renewMs: 600,
  pollMs: 300,
  requestMs: 600,
};

interface Leader {
  readonly election: LeaderElection;
  /** How often it has looked at the lease. */
  looks(): number;
  readonly errors: readonly unknown[];
  /** Milliseconds since 1970. */
  readonly terms: readonly { readonly from: number; to: number }[];
  end(): Promise<void>;
}

describe("leader election on an API server of Kubernetes", () => {
  let plane: ControlPlane;
  let token: string;

  before(async () => {
    plane = await startControlPlane();
    const { name } = account;
    await plane.kubectl("create", "serviceaccount", name, "-n", namespace);
    const verbs = ["--verb=get,create,update", "--resource=leases.coordination.k8s.io"];
    await plane.kubectl("create", "role", name, "-n", namespace, ...verbs);
    const subject = `--serviceaccount=${namespace}:${name}`;
    await plane.kubectl("create", "rolebinding", name, "-n", namespace, `--role=${name}`, subject);
    token = await plane.serviceAccountToken(account);
  });
  after(async () => {
    await plane.stop();
  });

  /** A candidate with a client of its own, until the test ends. */
  function stand(t: TestContext, name: string, limits: Partial<LeaseLimits>, url?: string): Leader {
    const client = new Client({ access: plane.access(token, url), userAgent: "larder-test/0" });
    const errors: unknown[] = [];
    let looks = 0;
    const terms: { from: number; to: number }[] = [];
    const election = new LeaderElection({
      client: {
        get: async (...call) => {
          const object = await client.get(...call);
          looks += 1;
          return object;
        },
        create: async (...call) => client.create(...call),
        update: async (...call) => client.update(...call),
      },
      namespace,
      name,
      instance: "larder-operator",
      limits,
      onError: (error) => errors.push(error),
      onStart: async (signal) => {
        const term = { from: Date.now(), to: Infinity };
        terms.push(term);
        await untilStopped(signal);
        term.to = Date.now();
      },
    });
    const stop = new AbortController();
    const run = election.run(stop.signal);
    const end = async (): Promise<void> => {
      stop.abort();
      await run;
    };
    t.after(async () => {
      await end();
      client.close();
    });
    return { election, looks: () => looks, errors, terms, end };
  }

  async function lease(name: string) {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
    return (await plane.ask(path)) as {
      readonly metadata: { readonly labels?: object };
      readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions: number };
    };
  }

  test("the lease is handed over within two seconds, by the account's few rights", async (t) => {
    const one = stand(t, "hand-over", {});
    await until("one leads", () => one.election.leading);
    const other = stand(t, "hand-over", {});
    await until("the other has seen it", () => other.looks() > 1);
    assert.equal((await lease("hand-over")).spec.holderIdentity, one.election.identity);
    assert.equal(other.terms.length, 0);
    await one.end();
    await until("the other leads", () => other.election.leading);
    const handOverMs = other.terms[0]!.from - one.terms[0]!.to;
    assert.ok(handOverMs >= 0 && handOverMs < 2_000, `${handOverMs} ms`);
    assert.equal((await lease("hand-over")).spec.leaseTransitions, 1);
    await other.end();
    assert.equal((await lease("hand-over")).spec.holderIdentity ?? "", "");
    assert.deepEqual([...one.errors, ...other.errors], []);
  });

  test("a label that somebody adds stays, and the leader leads on", async (t) => {
    const one = stand(t, "labelled", quick);
    await until("it leads", () => one.election.leading);
    await plane.kubectl("label", "lease", "labelled", "-n", namespace, "team=x");
    const { resourceVersion } = (await lease("labelled")).metadata as { resourceVersion?: string };
    await until("it is renewed", async () => {
      const now = (await lease("labelled")).metadata as { resourceVersion?: string };
      return now.resourceVersion !== resourceVersion;
    });
    assert.deepEqual((await lease("labelled")).metadata.labels, { team: "x" });
    assert.equal(one.terms.length, 1);
    assert.ok(one.election.leading);
  });

  test("a deleted lease ends the term, and comes again after its time", async (t) => {
    const one = stand(t, "deleted", quick);
    await until("it leads", () => one.election.leading);
    await plane.kubectl("delete", "lease", "deleted", "-n", namespace);
    await until("it leads again", () => one.terms.length === 2);
    const [first, second] = one.terms;
    assert.ok(second!.from - first!.to > 3_000);
  });

  test("a leader that is cut off has stopped before another one leads", async (t) => {
    const link = await startTcpLink(plane.port);
    t.after(async () => link.close());
    const one = stand(t, "cut-off", quick, link.url);
    await until("it leads", () => one.election.leading);
    const other = stand(t, "cut-off", quick);
    await until("the other has seen it", () => other.looks() > 0);
    await link.hang();
    await until("the other leads", () => other.election.leading);
    assert.ok(one.terms[0]!.to < other.terms[0]!.from);
    assert.equal(one.election.leading, false);
    await link.restore();
    assert.equal((await lease("cut-off")).spec.holderIdentity, other.election.identity);
  });

  test("three that begin at one moment agree on one", async (t) => {
    const all = [1, 2, 3].map(() => stand(t, "three", quick));
    await until("one leads", () => all.some(({ election }) => election.leading));
    const { holderIdentity } = (await lease("three")).spec;
    const leaders = all.filter(({ election }) => election.leading);
    assert.deepEqual(
      leaders.map(({ election }) => election.identity),
      [holderIdentity],
    );
    assert.equal(all.flatMap(({ terms }) => terms).length, 1);
  });
});

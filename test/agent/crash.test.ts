/** The agent is killed, at every kind of moment, and the next one finds its way. */
import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import type { AgentProcess } from "../../testbed/agent-process.ts";
import { spread } from "../../testbed/stopping-larder.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { Suite, type World } from "./world.ts";

const suite = await Suite.start();

const preload = new URL("../../testbed/stop-at.ts", import.meta.url).href;
const points = 16;
const files = ["1.tar", "2.tar", "3.tar"];

/** What a version of an image holds. */
function contents(version: string): Record<string, string> {
  return Object.fromEntries(files.map((file) => [file, `${file} of ${version}`]));
}

/** What stands under a name, all of its files. */
async function standing(world: World, name: string): Promise<Record<string, string | undefined>> {
  const read = files.map(async (file) => [file, await world.read(name, file)] as const);
  return Object.fromEntries(await Promise.all(read));
}

class Crashes {
  readonly #world: World;
  readonly #sources: ReadonlyMap<string, string>;
  readonly #steps: string;
  #version = "a";

  constructor(world: World, sources: ReadonlyMap<string, string>, steps: string) {
    this.#world = world;
    this.#sources = sources;
    this.#steps = steps;
  }

  static async start(t: TestContext): Promise<Crashes> {
    const world = await suite.world(t);
    const sources = new Map<string, string>();
    for (const version of ["a", "b"]) {
      sources.set(version, await suite.push(`app-${world.nodeName}`, version, contents(version)));
    }
    const crashes = new Crashes(world, sources, join(await tempDirectory(t), "steps"));
    await world.apply("more", { source: sources.get("a") ?? "" });
    await crashes.#declare();
    await crashes.#converges();
    return crashes;
  }

  /** How many changes of the disk an agent makes that has all the work and is not killed. */
  async count(): Promise<number> {
    await this.#makeWork();
    const agent = this.#agent({ LARDER_TEST_STEPS: this.#steps });
    await this.#settled();
    assert.equal(await agent.stop(), 0);
    return Number(await readFile(this.#steps, "utf8"));
  }

  /** Kills an agent right before its n-th change of the disk, and lets the next one do the rest. */
  async killedAt(step: number): Promise<void> {
    const before = this.#version;
    await this.#makeWork();
    const agent = this.#agent({ LARDER_TEST_STOP_AT: String(step) });
    await until(`it is killed at ${step}`, () => agent.child.signalCode !== null);
    assert.equal(await agent.end(), "SIGKILL");
    await this.#nothingHalf(before);
    await this.#converges();
  }

  /** An image to be replaced, one to be brought, and a directory to be collected. */
  async #makeWork(): Promise<void> {
    const world = this.#world;
    this.#version = this.#version === "a" ? "b" : "a";
    await cp(world.path("more"), world.path("old"), { recursive: true });
    await world.delete("more");
    await this.#declare();
  }

  async #declare(): Promise<void> {
    await this.#world.apply("app", { source: this.#sources.get(this.#version) ?? "" });
  }

  #agent(env: NodeJS.ProcessEnv): AgentProcess {
    const nodeFlags = ["--import", preload];
    return this.#world.start(["--gc-delay=0", "--gc-delay-missing=0"], { nodeFlags, env });
  }

  /** What has a sentinel is whole: all old, or all new. */
  async #nothingHalf(before: string): Promise<void> {
    const whole = [contents(before), contents(this.#version)].map((each) => JSON.stringify(each));
    for (const name of ["app", "more"]) {
      if ((await this.#world.read(name, ".image-cache-agent.json")) === undefined) continue;
      const found = JSON.stringify(await standing(this.#world, name));
      const allowed = name === "app" ? whole : [JSON.stringify(contents("a"))];
      assert.ok(allowed.includes(found), `${name}: ${found}`);
    }
  }

  /** An agent that is left alone makes all as declared, and leaves nothing else. */
  async #converges(): Promise<void> {
    const agent = this.#agent({});
    await this.#settled();
    await agent.stop("SIGKILL");
  }

  async #settled(): Promise<void> {
    const world = this.#world;
    await world.holds("app", "1.tar", contents(this.#version)["1.tar"] ?? "");
    await world.says("app", "synced");
    await world.says("more", "synced");
    await until("nothing is left over", async () => {
      return (await world.entries()).join() === "app,more";
    });
    assert.deepEqual(await standing(world, "app"), contents(this.#version));
    assert.deepEqual(await standing(world, "more"), contents("a"));
  }
}

test("an agent that is killed at any moment leaves nothing half, and the next one ends the work", async (t) => {
  const crashes = await Crashes.start(t);
  const steps = await crashes.count();
  t.diagnostic(`${steps} changes of the disk`);
  assert.ok(steps > points);
  // The last ones are words about its end, which not every run has.
  for (const step of spread(Math.floor(steps * 0.9), points)) await crashes.killedAt(step);
});

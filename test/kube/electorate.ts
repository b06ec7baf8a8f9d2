import assert from "node:assert/strict";

import { LeaderElection } from "../../src/kube/leader-election.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { bentClock, SimulatedLeases, straight } from "./simulated-leases.ts";
import type { Bend, Fate, Link } from "./simulated-leases.ts";

export interface CandidateOptions {
  readonly bend?: Bend;
  readonly fate?: () => Fate;
  readonly random?: () => number;
  /** Milliseconds of true time for which it goes on working after it was told to stop. Default 0. */
  readonly windDownMs?: number;
  /** Its work; default: until it is told to stop. */
  readonly work?: (signal: AbortSignal) => Promise<void>;
}

/** One process that stands for election. */
export interface Candidate {
  readonly election: LeaderElection;
  readonly link: Link;
  readonly errors: readonly unknown[];
  /** In milliseconds of true time. */
  readonly terms: readonly { readonly from: number; readonly signal: AbortSignal }[];
  /** Whether its work has begun, and was not told to stop. */
  leads(): boolean;
  /** Tells it to stop. */
  end(): void;
  /** Settles when it has stopped by itself. */
  readonly run: Promise<void>;
}

const prompt: Fate = { there: 1, back: 1, outcome: "answered" };

/** Candidates over one lease, in a time that goes on by hand. Two at work at once fail the test. */
export class Electorate {
  readonly time = new HandClock();
  readonly leases = new SimulatedLeases(this.time);
  readonly candidates: Candidate[] = [];
  /** How many are at work, told to stop or not. */
  #working = 0;
  readonly #faults: unknown[] = [];

  add(options: CandidateOptions = {}): Candidate {
    const { bend = straight, fate = () => prompt, random = () => 1, windDownMs = 0 } = options;
    const link: Link = { cut: false, fate };
    const errors: unknown[] = [];
    const terms: { from: number; signal: AbortSignal }[] = [];
    const work = options.work ?? untilStopped;
    const election = new LeaderElection({
      client: this.leases.client(link),
      namespace: "kube-system",
      name: "larder",
      instance: `candidate-${this.candidates.length}`,
      clock: bentClock(this.time, bend),
      random,
      onError: (error) => errors.push(error),
      onStart: async (signal) => {
        assert.equal(this.#working, 0, "two lead at once");
        this.#working += 1;
        terms.push({ from: this.time.monotonic(), signal });
        try {
          await work(signal);
          if (windDownMs > 0) await this.time.sleep(windDownMs, new AbortController().signal);
        } finally {
          this.#working -= 1;
        }
      },
    });
    const end = new AbortController();
    const run = election.run(end.signal);
    run.catch((error: unknown) => this.#faults.push(error));
    const candidate = {
      election,
      link,
      errors,
      terms,
      run,
      leads: () => terms.at(-1)?.signal.aborted === false,
      end: () => {
        end.abort();
      },
    };
    this.candidates.push(candidate);
    return candidate;
  }

  get leaders(): readonly Candidate[] {
    return this.candidates.filter((candidate) => candidate.leads());
  }

  /** Lets time go by, in milliseconds. */
  async pass(milliseconds: number): Promise<void> {
    await this.time.pass(milliseconds);
    assert.deepEqual(this.#faults, []);
  }

  /** Stops all; every timer has to be gone then. */
  async stop(): Promise<void> {
    for (const candidate of this.candidates) candidate.end();
    await this.pass(20_000);
    await Promise.all(this.candidates.map(async ({ run }) => run));
    assert.equal(this.time.sleepers, 0, "a timer was left behind");
  }
}

export async function untilStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener(
      "abort",
      () => {
        resolve();
      },
      { once: true },
    );
  });
}

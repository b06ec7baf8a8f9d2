import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { until } from "./until.ts";

const mainFile = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

/** A line of the agent's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly message: string };

export interface AgentStart {
  readonly nodeName: string;
  readonly kubeconfig?: string;
  /** Besides `agent`, the kubeconfig and the address of the health server. */
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** The entry point, where it is not the sources'. */
  readonly main?: string;
  /** Flags of Node's. */
  readonly nodeFlags?: readonly string[];
  /** A program and its arguments to run it by: `["unshare", "-m"]`. */
  readonly by?: readonly string[];
}

/** `larder agent` as a process of its own. */
export class AgentProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  readonly child: ChildProcess;
  /** What it wrote on standard error. */
  stderr = "";
  readonly #ended: Promise<number | string | null>;

  private constructor(child: ChildProcess) {
    this.child = child;
    this.#ended = once(child, "close").then(() => child.exitCode ?? child.signalCode);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => {
        this.lines.push(parseLine(line));
      });
    }
  }

  /** Starts it, and returns at once. */
  static start({ nodeName, kubeconfig, args, env, main, nodeFlags, by }: AgentStart): AgentProcess {
    const command = [
      ...(by ?? []),
      process.execPath,
      ...(nodeFlags ?? []),
      main ?? mainFile,
      "agent",
      ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
      "--health-addr=127.0.0.1:0",
      ...args,
    ];
    const [program = "", ...rest] = command;
    const { PATH, HOME } = process.env;
    return new AgentProcess(
      spawn(program, rest, {
        env: { PATH, HOME, NODE_NAME: nodeName, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Lines with this message. */
  said(message: string): readonly LogLine[] {
    return this.lines.filter((line) => line.message === message);
  }

  /** Waits until it logs a message (so many times). */
  async says(message: string, times = 1): Promise<void> {
    try {
      await until(`the agent says '${message}'`, () => this.said(message).length >= times);
    } catch (error) {
      throw new Error(`the agent never said '${message}': ${this.story()}`, { cause: error });
    }
  }

  /** What it said last, for a test that failed. */
  story(): string {
    const lines = this.lines.slice(-15).map((line) => JSON.stringify(line));
    return [...lines, this.stderr.slice(-2000)].join("\n");
  }

  /** `http://127.0.0.1:34567`. */
  async url(): Promise<string> {
    await this.says("listening");
    return String(this.said("listening")[0]?.["url"]);
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`${await this.url()}${path}`);
    return { status: response.status, text: await response.text() };
  }

  /** The value of a series in its metrics, as `larder_orphans{cause="deleted"}`; NaN where none is. */
  async metric(series: string): Promise<number> {
    const { text } = await this.get("/metrics");
    const line = text.split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? Number.NaN : Number(line.slice(series.length + 1));
  }

  /** Its exit code, or the signal that ended it. */
  async end(): Promise<number | string | null> {
    return this.#ended;
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | string | null> {
    this.child.kill(signal);
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.stop("SIGKILL");
  }
}

function parseLine(line: string): LogLine {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && "message" in value) {
      return { ...value, message: String(value.message) };
    }
  } catch {
    // What is no JSON is shown as it is.
  }
  return { message: line, malformed: true };
}

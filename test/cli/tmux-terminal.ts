import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";

import { until } from "../../testbed/until.ts";

const run = promisify(execFile);

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A real terminal, as far as any program can tell: tmux with nobody attached. */
export class TmuxTerminal {
  readonly #socket: string;

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** Starts a command in a terminal of its own, which is gone when the test is. */
  static async start(
    context: TestContext,
    command: readonly string[],
    options: TerminalOptions,
  ): Promise<TmuxTerminal> {
    const directory = await mkdtemp(join(tmpdir(), "larder-tmux-"));
    const terminal = new TmuxTerminal(join(directory, "socket"));
    context.after(async () => {
      await terminal.#tmux("kill-server").catch(() => {});
      await rm(directory, { recursive: true, force: true });
    });
    const size = ["-x", String(options.columns), "-y", String(options.rows)];
    const env = Object.entries(options.env ?? {}).flatMap(([name, value]) => [
      "-e",
      `${name}=${value}`,
    ]);
    await terminal
      .#tmux("-f", "/dev/null", "new-session", "-d", ...size, ...env, "-c", options.cwd, ...command)
      .catch((error: unknown) => {
        throw new Error("tmux does not start: install it with 'apt-get install tmux'", {
          cause: error,
        });
      });
    return terminal;
  }

  /** Types text; `Tab`, `Enter` and `C-c` are keys. */
  async type(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const literal = /^(Tab|Enter|C-.)$/.test(key) ? [] : ["-l"];
      await this.#tmux("send-keys", ...literal, "--", key);
    }
  }

  /** What is on the screen, without empty lines at its end. */
  async screen(): Promise<string> {
    return (await this.#tmux("capture-pane", "-p")).trimEnd();
  }

  /** What is on the screen or was scrolled off it. */
  async history(): Promise<string> {
    return (await this.#tmux("capture-pane", "-p", "-S", "-")).trimEnd();
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** Waits until the screen shows something; its text. */
  async shows(pattern: RegExp): Promise<string> {
    let screen = "";
    await until(`the terminal shows ${pattern}`, async () => {
      screen = await this.screen();
      return pattern.test(screen);
    }).catch((error: unknown) => {
      throw new Error(`the terminal shows only:\n${screen}`, { cause: error });
    });
    return screen;
  }

  async #tmux(...words: readonly string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-S", this.#socket, ...words]);
    return stdout;
  }
}

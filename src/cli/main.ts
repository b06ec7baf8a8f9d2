import { failureOf, linesOf } from "./failure.ts";
import { Interruption } from "./interruption.ts";
import { run } from "./run.ts";
import { StandardStream } from "./standard-stream.ts";
import { verbs } from "./verbs.ts";

const { env: environment } = process;
const out = new StandardStream(process.stdout, environment["TERM"]);
const err = new StandardStream(process.stderr, environment["TERM"]);

const interruption = new Interruption(process, (exitCode) => {
  err.write(
    "larder: stopped at once: it was told twice, or took too long: the next run clears up\n",
  );
  process.exit(exitCode);
});

const exitCode = await run(process.argv.slice(2), verbs, {
  environment,
  signal: interruption.signal,
  out,
  err,
  now: () => performance.now(),
  every: (milliseconds, callback) => {
    const timer = setInterval(callback, milliseconds);
    return () => {
      clearInterval(timer);
    };
  },
});

process.exit(await finish(exitCode));

/** An exit code of success survives a signal: all that was asked for was done before it came. */
async function finish(exitCode: number): Promise<number> {
  interruption.dispose();
  try {
    await out.flush();
  } catch (error) {
    err.write(linesOf(failureOf(error, new AbortController().signal), environment));
    return 1;
  } finally {
    await err.flush().catch(() => {});
  }
  return exitCode === 0 ? 0 : (interruption.exitCode ?? exitCode);
}

import { failureOf, linesOf } from "./failure.ts";
import { Interruption } from "./interruption.ts";
import { run } from "./run.ts";
import { StandardStream } from "./standard-stream.ts";
import { verbs } from "./verbs.ts";

/** How long what is still open may hold up the end. */
const endsByItselfMs = 500;

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
  hurry: interruption.hurry,
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

end(await finish(exitCode));

/**
 * Lets the process end by itself. `process.exit` waits for V8's compiler threads without ending what
 * they may wait for, a garbage collection of the main thread's: seen once, that process never ended.
 */
function end(code: number): void {
  process.exitCode = code;
  setTimeout(() => process.exit(code), endsByItselfMs).unref();
}

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

/**
 * Preloaded into a process (`node --import`), stops it at its n-th change of the disk: right before
 * a file is made, written, flushed, renamed or removed. So every state that a crash can leave is
 * reached by counting, not by luck.
 *
 * LARDER_TEST_STOP_AT=<n>        which change; 0: none
 * LARDER_TEST_STOP_BY=<signal>   default SIGKILL
 * LARDER_TEST_STEPS=<file>       where the number of changes goes when the process ends by itself
 */
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const stopAt = Number(process.env["LARDER_TEST_STOP_AT"] ?? "0");
const signal = process.env["LARDER_TEST_STOP_BY"] ?? "SIGKILL";
const report = process.env["LARDER_TEST_STEPS"];
const writeReport = fs.writeFileSync;

let steps = 0;

function step(): void {
  steps++;
  if (steps === stopAt) process.kill(process.pid, signal);
}

function counted(target: object, names: readonly string[]): void {
  for (const name of names) {
    const original: unknown = Reflect.get(target, name);
    if (typeof original !== "function") throw new Error(`there is no ${name} to count`);
    const wrapper = function (this: unknown, ...args: unknown[]): unknown {
      step();
      return Reflect.apply(original, this, args);
    };
    // promisify and others look for properties of the original.
    Reflect.set(target, name, Object.assign(wrapper, original));
  }
}

counted(fs, ["writeSync", "writeFileSync", "write", "writev", "ftruncateSync", "truncateSync"]);
counted(fs, ["fsync", "fsyncSync", "fdatasync", "fdatasyncSync"]);
counted(fs, ["renameSync", "unlinkSync", "rmdirSync", "rmSync", "mkdirSync", "linkSync"]);
counted(fs, ["symlinkSync", "chownSync", "lchownSync", "fchownSync", "chmodSync", "fchmodSync"]);
counted(fs.promises, ["rename", "unlink", "rmdir", "rm", "mkdir", "writeFile", "chown", "chmod"]);
counted(childProcess, ["spawn"]);

const handle = await fs.promises.open("/dev/null");
counted(Object.getPrototypeOf(handle), ["write", "writeFile", "sync", "datasync", "truncate"]);
await handle.close();

const openSync = fs.openSync;
fs.openSync = (path, flags, mode) => {
  if (typeof flags === "number" ? (flags & fs.constants.O_CREAT) !== 0 : flags !== "r") step();
  return openSync(path, flags, mode);
};

syncBuiltinESMExports();

if (report !== undefined) process.on("exit", () => writeReport(report, String(steps)));

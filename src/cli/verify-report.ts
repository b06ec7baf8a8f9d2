import type { Verdict } from "../cache/verdict.ts";
import { printable } from "../errors.ts";
import { formatBytes } from "../cache/amount.ts";
import { table } from "./table.ts";
import type { VerifyResult } from "./verify-result.ts";

const heading = ["NAME", "STATE", "FILES", "BYTES", "DIGEST", "SOURCE"] as const;

/** The result for people: a table, and below it a line for each thing that is to be said of one. */
export function verifyReport(result: VerifyResult): string {
  const { resources, cachePath } = result;
  if (resources.length === 0) return printable(`nothing to check in ${cachePath}`) + "\n";
  const rows = [heading, ...resources.map(rowOf)];
  const notes = resources.flatMap((verdict) => notesOf(verdict, result));
  return table(rows) + (notes.length === 0 ? "" : `\n${notes.join("\n")}\n`);
}

function rowOf(verdict: Verdict): readonly string[] {
  const { name, state, files, bytes, digest, source } = verdict;
  return [
    printable(name),
    state,
    files === undefined ? "-" : String(files),
    bytes === undefined ? "-" : formatBytes(bytes),
    // The algorithm and twelve digits tell images apart; JSON has the whole.
    digest?.replace(/^(\w+:\w{12}).*$/, "$1") ?? "-",
    source === undefined ? "-" : printable(source),
  ];
}

function notesOf(verdict: Verdict, { deep, cachePath }: VerifyResult): readonly string[] {
  const notes: string[] = [];
  const note = (text: string): number => notes.push(printable(`${verdict.name}: ${text}`));
  for (const { name, expected, actual } of verdict.damaged ?? []) {
    note(`${name} is damaged: it should be ${expected} and is ${actual}`);
  }
  for (const { why } of verdict.unreadable ?? []) note(why);
  if (verdict.why !== undefined && notes.length === 0) note(verdict.why);
  if (deep && (verdict.unsummed ?? 0) > 0) {
    note(`files without a checksum on record: ${verdict.unsummed}; only their size was checked`);
  }
  const remedy = remedyOf(verdict, cachePath ?? "");
  if (remedy !== undefined) note(remedy);
  return notes;
}

function remedyOf(verdict: Verdict, cachePath: string): string | undefined {
  const { name, state, archive, source = "<source>" } = verdict;
  const from = archive === undefined ? source : `<path of ${archive}>`;
  const line = `larder import --cache-path ${cachePath} --name ${name} ${from}`;
  const forced = (verdict.damaged ?? []).length > 0 ? " --force" : "";
  if (state === "foreign") return "move it away by hand if this name is wanted";
  if (state === "absent") return `to fill it, run: ${line}`;
  return state === "incomplete" ? `to repair it, run: ${line}${forced}` : undefined;
}

import pino from "pino";

import { LarderError } from "../errors.ts";
import type { LogLevel } from "./log-level.ts";

/**
 * What varies from line to line. `error` becomes its message and code, and its stack where it is not
 * one that Larder expects. The names that each line has of its own cannot be given.
 */
export interface LogFields {
  readonly error?: unknown;
  readonly level?: never;
  readonly time?: never;
  readonly message?: never;
  readonly [name: string]: unknown;
}

/** The log: one event a line. A message is constant, so that it can be searched for and counted. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line has these fields, too. */
  child(fields: LogFields): Log;
}

export interface JsonLogOptions {
  /** Gets whole lines, each with its line feed. */
  readonly write: (line: string) => void;
  /** What is less than this is left out. Default `info`. */
  readonly level?: LogLevel;
  /** Fields of every line: the node's name. */
  readonly fields?: LogFields;
}

/** A log of JSON objects: `level`, `time` (RFC 3339, UTC), the fields, `message`. */
export function jsonLog({ write, level = "info", fields = {} }: JsonLogOptions): Log {
  const logger = pino(
    {
      level,
      base: { ...fieldsOf(fields) },
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      write: (line) => {
        write(line.replace(unprintable, escaped));
      },
    },
  );
  return logOf(logger);
}

function logOf(logger: pino.Logger): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    // Before the fields are made: a stack takes time to be put into words.
    if (logger.isLevelEnabled(level)) logger[level](fieldsOf(fields ?? {}), message);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => logOf(logger.child({ ...fieldsOf(fields) })),
  };
}

function fieldsOf({ error, ...fields }: LogFields): Readonly<Record<string, unknown>> {
  return error === undefined ? fields : { ...fields, ...errorFields(error) };
}

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof LarderError) return { error: error.message, code: error.code };
  if (error instanceof AggregateError) return { errors: error.errors.map(errorFields) };
  if (error instanceof Error) return { error: error.message, stack: stackOf(error) };
  return { error: String(error) };
}

/** Where an error came from, and what made it. */
function stackOf(error: Error): string {
  const { stack = `${error.name}: ${error.message}`, cause } = error;
  return cause instanceof Error && cause !== error
    ? `${stack}\ncaused by ${causeOf(cause)}`
    : stack;
}

function causeOf(cause: Error): string {
  return cause.stack ?? `${cause.name}: ${cause.message}`;
}

// JSON escapes the C0 controls. DEL, the C1 controls, separators of lines and marks that reorder text
// stand only inside of its strings, where they can be escaped just so.
const unprintable =
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

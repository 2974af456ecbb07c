import { type Logger, pino } from 'pino';
import type { Env } from '../settings/env.ts';
import { errorText, loggedError } from './logged-error.ts';

/** The part of a logger that Laurel uses; pino has this shape. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * The log of one process: JSON lines on standard output, each with the process's name; on a terminal, lines for a person. Errors
 * belong in the field `err`, from which `loggedError` removes values that a client sent.
 */
export function createLog({ level, name }: { level: Env['logLevel']; name: string }): Logger {
  const { stdout } = process;
  // A closed terminal or pipe: the process works on without its log. Pino's own writer would retry for ever.
  if (!stdout.listeners('error').includes(ignore)) stdout.on('error', ignore);
  return pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: loggedError, error: loggedError },
      // Keys and URLs with passwords must never reach a log.
      redact: ['apiKey', 'password', 'redisUrl', 'databaseUrl', 'headers["x-api-key"]'],
    },
    stdout.isTTY ? { write: (line) => stdout.write(readableLine(line)) } : stdout,
  );
}

const ignore = (): void => undefined;

/** A line of the log for a terminal, such as "12:30:05 info worker: worker started". */
export function readableLine(json: string): string {
  const { level, time, process: name, pid: _, msg, ...fields } = JSON.parse(json) as Record<string, string>;
  const rest = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`;
  return `${time?.slice(11, 19)} ${level} ${name}: ${msg}${rest}\n`;
}

/** Names of errors whose message is written for a person and is complete. */
const FOR_A_PERSON: ReadonlySet<string> = new Set([
  'StartError',
  'MigrationError',
  'CommandError',
  'ForeignRedis',
  'PostgresIsOlder',
  'WrongLayout',
  'OtherVersionRuns',
  'MoveRefused',
]);

/** The message of an error that is written for a person; null for other errors. */
const sentenceOf = (error: unknown): string | null =>
  error instanceof Error && FOR_A_PERSON.has(error.name) ? error.message : null;

/** The text that a command prints for the error that ends it: the message for a person, or else `errorText`. */
export const lastWords = (error: unknown): string => sentenceOf(error) ?? errorText(error);

/** Ends a logging process because of this error: prints the message for a person, or else logs at `fatal`. */
export function endWith(error: unknown, name: string): void {
  const sentence = sentenceOf(error);
  if (sentence !== null) return void process.stderr.write(`${sentence}\n`, () => process.exit(1));
  createLog({ level: 'fatal', name }).fatal({ err: error }, 'an error ends the process');
  process.exit(1);
}

/** Prints uncaught errors before they end the process; Node would print a failed command's arguments. */
export function reportUncaught(): void {
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${lastWords(error)}\n`, () => process.exit(1));
  });
}

/** Logs uncaught errors and rejections at `fatal`, and Node's warnings at `warn`. `name`: the process's. */
export function logProcessErrors(name: string): void {
  // Created before the environment is read, because that may fail.
  const log = createLog({ level: 'warn', name });
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'an uncaught error ends the process');
    process.exit(1);
  });
  // Node's own listener would print it.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'warning from Node'));
}

export const OUTAGE_MS = 30_000;

/** Logs a line of each kind once per `everyMs`, with the number suppressed since. */
export class LogThrottle {
  private readonly everyMs: number;
  private readonly logged = new Map<string | number, { atMs: number; suppressed: number }>();

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Calls `write` unless it is too soon. `kind`: identifies equal lines; `suppressed`: lines since the last one. */
  log(kind: string | number, write: (suppressed: number) => void): void {
    const nowMs = performance.now();
    const last = this.logged.get(kind);
    if (last !== undefined && nowMs - last.atMs < this.everyMs) {
      last.suppressed += 1;
      return;
    }
    this.logged.set(kind, { atMs: nowMs, suppressed: 0 });
    write(last?.suppressed ?? 0);
  }
}

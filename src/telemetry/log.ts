/** The log, and limits on how often a message is repeated. */
import { type Logger, pino } from 'pino';
import type { Env } from '../env.ts';
import { errorText, loggedError } from './logged-error.ts';

/** What Laurel needs of a logger; pino's has this shape. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * The log of one process: JSON lines on standard output, each with the process's name. An error belongs in the field `err`,
 * where `loggedError` takes out what a client sent.
 */
export function createLog({ level, name }: { level: Env['logLevel']; name: string }): Logger {
  return pino({
    level,
    base: { process: name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: loggedError, error: loggedError },
    // A key or a URL with a password must not reach a log, from anywhere.
    redact: ['apiKey', 'password', 'redisUrl', 'databaseUrl', 'headers["x-api-key"]'],
  });
}

/** Errors whose message is for a person, and all there is to say. */
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

/** The sentence of an error that is for a person; null: it is none. */
const sentenceOf = (error: unknown): string | null =>
  error instanceof Error && FOR_A_PERSON.has(error.name) ? error.message : null;

/** What a command says of the error that ends it: a sentence where there is one, else `errorText`. */
export const lastWords = (error: unknown): string => sentenceOf(error) ?? errorText(error);

/** Ends a process that keeps a log, for this error: with a sentence where there is one, else with a line of the log at `fatal`. */
export function endWith(error: unknown, name: string): void {
  const sentence = sentenceOf(error);
  if (sentence !== null) return void process.stderr.write(`${sentence}\n`, () => process.exit(1));
  createLog({ level: 'fatal', name }).fatal({ err: error }, 'an error ends the process');
  process.exit(1);
}

/**
 * An error that nothing catches ends the process, as it does by default; but it is written as every other is. Node itself
 * would print all that the error carries, the arguments of a failed command included. To be called once, at the start of a
 * command.
 */
export function reportUncaught(): void {
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${lastWords(error)}\n`, () => process.exit(1));
  });
}

/**
 * The same for a process that keeps a log, with a line of it: an error that nothing catches at `fatal`, a promise that was
 * rejected included (`origin` says which), and what Node warns of at `warn`. `name`: the process's.
 */
export function logProcessErrors(name: string): void {
  // Before the environment is read, which may be what fails.
  const log = createLog({ level: 'warn', name });
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'an error that nothing caught ends the process');
    process.exit(1);
  });
  // Node's own listener prints it.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning of the process'));
}

/** How often a fault of Redis or Postgres that lasts is logged by each of those who meet it. */
export const OUTAGE_MS = 30_000;

/**
 * Keeps a log readable while a fault lasts and every request meets it. A line of one kind is logged once in `everyMs`; the
 * next one reports how many were left out since.
 */
export class LogThrottle {
  private readonly everyMs: number;
  private readonly logged = new Map<string | number, { atMs: number; suppressed: number }>();

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Calls `write`, unless it is too soon. `kind`: what the line is about; `suppressed`: lines left out since the last one. */
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

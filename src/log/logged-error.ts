import { isOfPostgres, postgresMessage, redisMessage, safeMessage } from './safe-message.ts';

/** An error as it is written to a log. */
export interface LoggedError {
  /** Its class, e.g. `ReplyError`. */
  type: string;
  message: string;
  code?: string | number;
  /** Where it was thrown, without the message. */
  stack?: string;
  cause?: LoggedError;
  /** Those of an `AggregateError`. */
  errors?: LoggedError[];
  /** Of `SAFE_FIELDS`. */
  [field: string]: unknown;
}

/**
 * Fields that say what went wrong and hold no value that a client sent: codes of every kind, names of the schema, places in
 * the server's source, the address that did not answer. Everything else, such as the arguments of a Redis command
 * (`command`, `parameters`) and the row that Postgres refused (`detail`, `where`), stays out.
 */
const SAFE_FIELDS = [
  'code',
  'status',
  'errno',
  'syscall',
  'address',
  'port',
  'severity',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
  'streamId',
  'shard',
] as const;

/** Chains of causes are short; one that is not is a circle. */
const MAX_DEPTH = 5;
const MAX_ERRORS = 5;
const MAX_FRAMES = 30;
const FIELD = /^[\w.:@/\- ]{1,100}$/;
const FRAME = /^\s+at .*(?::\d+:\d+\)?|\(<anonymous>\)|\(native\))$/;

/**
 * An error as a log may hold it: class, codes, a message without values, stack, causes. It holds no argument of a command
 * or statement, no body, no key and no password, whatever the error carries. Never throws.
 */
export function loggedError(error: unknown): LoggedError {
  return describe(error, MAX_DEPTH);
}

/** The same as text, for a process that ends: `ReplyError: WRONGPASS …` with the stack, and the causes below. */
export function errorText(error: unknown): string {
  const lines: string[] = [];
  const add = (logged: LoggedError, before: string): void => {
    const { type, message, code } = logged;
    lines.push(`${before}${type}${code === undefined ? '' : ` (${code})`}: ${message}`);
    if (logged.stack !== undefined) lines.push(logged.stack);
    if (logged.cause) add(logged.cause, 'caused by ');
    for (const one of logged.errors ?? []) add(one, 'one of several: ');
  };
  add(loggedError(error), '');
  return lines.join('\n');
}

function describe(error: unknown, depth: number): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'thrown, but no error' };
  try {
    return describeError(error, depth);
  } catch {
    return { type: 'Error', message: 'cannot be described' };
  }
}

function describeError(error: Error, depth: number): LoggedError {
  const fields = error as unknown as Record<string, unknown>;
  const cause = error.cause instanceof Error && depth > 1 ? describe(error.cause, depth - 1) : undefined;
  const logged: LoggedError = { type: typeOf(error), message: messageOf(error, cause) };
  for (const name of SAFE_FIELDS) {
    const value = fields[name];
    if (typeof value === 'number' || (typeof value === 'string' && FIELD.test(value))) logged[name] = value;
  }
  const stack = framesOf(error);
  if (stack !== '') logged.stack = stack;
  if (cause) logged.cause = cause;
  if (error instanceof AggregateError && depth > 1)
    logged.errors = error.errors.slice(0, MAX_ERRORS).map((one) => describe(one, depth - 1));
  return logged;
}

function typeOf(error: Error): string {
  const name = error.name === 'error' || error.name === 'Error' ? error.constructor.name : error.name;
  return /^\w{1,80}$/.test(name) ? name : 'Error';
}

function messageOf(error: Error, cause: LoggedError | undefined): string {
  const { message, name } = error;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (isOfPostgres(error)) return postgresMessage(error.code, message);
  if (name === 'ReplyError') return redisMessage(message);
  // Of the system: what was called and what came of it; of Node itself: the code says it, the text quotes what it was given.
  if (typeof syscall === 'string' && typeof code === 'string') return `${syscall} ${code}`;
  if (typeof code === 'string' && code.startsWith('ERR_')) return code;
  // A message that repeats its cause's may say no more than the cause.
  const own = cause && (error.cause as Error).message;
  return safeMessage(name, own ? message.replaceAll(own, () => cause.message) : message);
}

/** The frames alone. A message of several lines precedes them, also one that looks like them. */
function framesOf({ stack, message }: Error): string {
  if (typeof stack !== 'string') return '';
  const at = message === '' ? -1 : stack.indexOf(message);
  const frames = (at < 0 ? stack : stack.slice(at + message.length)).split('\n').filter((line) => FRAME.test(line));
  return frames.slice(0, MAX_FRAMES).join('\n');
}

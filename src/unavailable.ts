/**
 * Which errors mean that Redis or Postgres is away or cannot serve now: answered 503 with Retry-After, so that
 * a client tries again. Everything else that is not an `AppError` is a fault.
 */

/** `code` of system errors and of pg's (SQLSTATE; classes 08 and 57P see below). */
const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  '25006', // read-only transaction: a standby after a failover
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
]);

/** SQLSTATE classes: connection exceptions; the server shuts down, crashed or starts up. */
const SQLSTATE = /^(08...|57P0[1-5])$/;

/** First word of Redis error replies. */
const REPLY = /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED)\b/;

const NAMES = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError', 'AbortError', 'RedisNotReady']);

/** Client-side errors that carry neither a code nor a name of their own. */
const MESSAGES =
  /^(Connection is closed\.|Stream isn't writeable|Command timed out|Socket timeout|Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|Connection ended|Client was closed|Failed to refresh slots cache|None of startup nodes is available)/;

/** True for an error, or one with such a cause, that says that Redis or Postgres cannot serve now. */
export function isUnavailable(error: unknown): boolean {
  for (let depth = 0; error instanceof Error && depth < 5; depth += 1) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && (CODES.has(code) || SQLSTATE.test(code))) return true;
    if (NAMES.has(error.name) || MESSAGES.test(error.message)) return true;
    if (error.name === 'ReplyError' && REPLY.test(error.message)) return true;
    error = error.cause;
  }
  return false;
}

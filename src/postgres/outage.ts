import { codeOf, isNetworkError } from '../network-errors.ts';

/**
 * SQLSTATE: connection exceptions (class 08); the server shuts down, crashed or starts up (57P); a read-only transaction,
 * as on a standby after a failover; disk full; out of memory; too many connections; a statement that took longer than it may.
 */
const SQLSTATE = /^(08...|57P0[1-5]|25006|53100|53200|53300|57014)$/;

/** What the client says when a statement got no answer in the time that it has. */
const UNANSWERED = 'Query read timeout';

/** What it says of connections. These errors have no code. */
const CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Connection ended|Client was closed)/;

/** True for an error that says that Postgres is away or cannot serve now. Its causes are not looked at. */
export const isPostgresOutage = (error: Error): boolean =>
  isNetworkError(error) || SQLSTATE.test(codeOf(error) ?? '') || CONNECTION.test(error.message) || isUnanswered(error);

/** True for a statement that got no answer in time: it may still run, and what follows on its connection waits for it. */
export const isUnanswered = (error: unknown): error is Error => error instanceof Error && error.message === UNANSWERED;

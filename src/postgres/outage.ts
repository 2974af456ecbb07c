import { codeOf, isNetworkError } from '../network-errors.ts';

/**
 * SQLSTATEs: connection exceptions (class 08); shutdown, crash or startup of the server (57P); read-only transaction, as on a standby after a
 * failover; disk full; out of memory; too many connections; statement timeout.
 */
const SQLSTATE = /^(08...|57P0[1-5]|25006|53100|53200|53300|57014)$/;

/** The client's message if a statement timed out. */
const UNANSWERED = 'Query read timeout';

/** The client's messages about connections. These errors have no code. */
const CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Connection ended|Client was closed)/;

/** Whether an error means that Postgres is unreachable or cannot serve now. Does not check the error's causes. */
export const isPostgresOutage = (error: Error): boolean =>
  isNetworkError(error) || SQLSTATE.test(codeOf(error) ?? '') || CONNECTION.test(error.message) || isUnanswered(error);

/** Whether a statement timed out. It may still be running, and later statements on its connection wait for it. */
export const isUnanswered = (error: unknown): error is Error => error instanceof Error && error.message === UNANSWERED;

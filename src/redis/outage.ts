import { codeOf, isNetworkError } from '../network-errors.ts';

/** First word of the error replies of a Redis that cannot serve now. */
const REPLY = /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED)\b/;

/** Those of a Redis that is not the master, or not any more, or that holds nothing yet. */
const ELSEWHERE = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED)\b/;

const NAMES = new Set([
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
  'AbortError',
  'RedisNotReady',
  'NotReplicated',
]);

/** What the client says of a connection that broke under a command. These errors have neither a code nor a name of their own. */
const LOST = /^(Connection is closed|Stream isn't writeable|Command timed out)/;

/** What it says besides of a Redis that it cannot reach. */
const UNREACHABLE = /^(Socket timeout|Failed to refresh slots cache|None of startup nodes is available)/;

/** True for an error that says that Redis is away or cannot serve now. Its causes are not looked at. */
export const isRedisOutage = (error: Error): boolean =>
  isNetworkError(error) ||
  NAMES.has(error.name) ||
  LOST.test(error.message) ||
  UNREACHABLE.test(error.message) ||
  (error.name === 'ReplyError' && REPLY.test(error.message));

/** True for an answer that says that what Laurel needs is not at this server, or not yet: connect again, and look again. */
export const isElsewhere = (error: Error): boolean => ELSEWHERE.test(error.message);

const LOST_CODES = new Set(['ECONNRESET', 'EPIPE']);

/**
 * True where a command may or may not have reached Redis, because its connection broke under it: whether it was, or will
 * be, executed is to be found out before it is sent again (`ConnectionKiller`).
 */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'MaxRetriesPerRequestError' || LOST.test(error.message) || LOST_CODES.has(codeOf(error) ?? ''));

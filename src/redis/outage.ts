import { codeOf, isNetworkError } from '../network-errors.ts';

/** First word of error replies from a Redis that cannot serve now. */
const REPLY = /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED)\b/;

/** Error replies from a Redis that is not, or no longer, the master, or that has not loaded its data. */
const ELSEWHERE = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/;

/** Those of a cluster node that serves other slots. */
const OTHER_SLOT = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/;

/** Those of a cluster node that moves the slot to another node, one key after another. */
const KEY_BY_KEY = /^(ASK|TRYAGAIN)\b/;

const NAMES = new Set([
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
  'AbortError',
  'RedisNotReady',
  'NotReplicated',
]);

/** The client's messages when a connection breaks during a command. These errors have neither a code nor a name of their own. */
const LOST = /^(Connection is closed|Stream isn't writeable|Command timed out)/;

/** The client's other messages about an unreachable Redis. */
const UNREACHABLE = /^(Socket timeout|Failed to refresh slots cache|None of startup nodes is available)/;

/** Whether an error means that Redis is unreachable or cannot serve now. Does not check the error's causes. */
export const isRedisOutage = (error: Error): boolean =>
  isNetworkError(error) ||
  NAMES.has(error.name) ||
  LOST.test(error.message) ||
  UNREACHABLE.test(error.message) ||
  (error.name === 'ReplyError' && REPLY.test(error.message));

/**
 * Whether a reply means that this server does not, or not yet, hold the data. Nothing was done. The caller should reconnect, or
 * find the node that does, and check again.
 */
export const isElsewhere = (error: Error): boolean => ELSEWHERE.test(error.message);

/** Whether the reply concerns the slot of the command alone. */
export const isOtherSlot = (error: Error): boolean => OTHER_SLOT.test(error.message);

export const isKeyByKey = (error: Error): boolean => KEY_BY_KEY.test(error.message);

const LOST_CODES = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Whether a command may or may not have reached Redis because its connection broke. Before sending it again, the caller must find out
 * whether it was or will be executed (`ConnectionKiller`).
 */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'MaxRetriesPerRequestError' || LOST.test(error.message) || LOST_CODES.has(codeOf(error) ?? ''));

import { DatabaseError } from 'pg';
import { UnstorableValue } from '../../postgres/row-text.ts';
import { MalformedEntry } from '../../redis/outbox.ts';

export class UnreadableEntry extends Error {}

/**
 * Classes of SQLSTATE that say nothing about the rows: connection, transaction state, privileges, missing database,
 * schema or table, deadlocks, resources (a full disk), objects in use, operator intervention, system, configuration,
 * and damaged files.
 */
const NOT_ABOUT_DATA = /^(08|25|26|28|3D|3F|40|42|53|55|57|58|F0|XX00[12])/;

/**
 * Whether an entry itself causes an error, so that a retry cannot help. Errors of a server or a connection are never a
 * reason to set an entry aside. Laurel's own conversion of a value of unknown form throws a JavaScript error. It runs
 * within the transaction, so a broken connection shows in the next statement.
 */
export const isAboutData = (error: unknown): boolean =>
  error instanceof UnreadableEntry ||
  error instanceof UnstorableValue ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof SyntaxError ||
  (error instanceof DatabaseError && error.code !== undefined && !NOT_ABOUT_DATA.test(error.code));

/** Why an entry cannot be stored, for logs: without any user data. */
export function reasonFor(error: unknown): string {
  if (error instanceof UnreadableEntry || error instanceof UnstorableValue || error instanceof MalformedEntry)
    return error.message;
  if (error instanceof DatabaseError) {
    // Postgres puts values, but also names, between double quotes. Violated constraints are reported with names only.
    const words = error.code?.startsWith('23') === true ? error.message : error.message.replaceAll(/"[^]*"/g, '"…"');
    return `Postgres refuses it: ${words} (${error.code})`;
  }
  // The messages of these errors quote values.
  if (error instanceof SyntaxError) return 'a text is not JSON';
  if (error instanceof TypeError || error instanceof RangeError) return 'a value is of another type than its field';
  return 'it is not MessagePack';
}

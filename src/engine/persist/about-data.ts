import { DatabaseError } from 'pg';
import { UnstorableValue } from '../../postgres/persist/binary-rows.ts';
import { MalformedEntry } from '../../redis/outbox.ts';

/** Marks an entry that could not be decoded. */
export class UnreadableEntry extends Error {}

/**
 * Classes of SQLSTATE that say nothing about the rows: connection, transaction state, privileges, a missing database or
 * schema, deadlocks, a table that is not there, resources (a full disk), an object that is in use, an operator's
 * intervention, the system, its configuration, and damaged files.
 */
const NOT_ABOUT_DATA = /^(08|25|26|28|3D|3F|40|42|53|55|57|58|F0|XX00[12])/;

/**
 * Whether an error is an entry's fault, so that trying again will not help. Errors of a server or a connection are not:
 * they are never a reason to set an entry aside. Our own conversion of a value that is of no known form fails with one
 * of JavaScript's errors; it runs in the transaction, so that a connection which broke shows in the next statement.
 */
export const isAboutData = (error: unknown): boolean =>
  error instanceof UnreadableEntry ||
  error instanceof UnstorableValue ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof SyntaxError ||
  (error instanceof DatabaseError && error.code !== undefined && !NOT_ABOUT_DATA.test(error.code));

/** Why an entry cannot be stored, in words that hold nothing of what a user sent: for logs. */
export function reasonFor(error: unknown): string {
  if (error instanceof UnreadableEntry || error instanceof UnstorableValue || error instanceof MalformedEntry)
    return error.message;
  if (error instanceof DatabaseError) {
    // Postgres puts values between double quotes, and names too; what violates a constraint is reported by names alone.
    const words = error.code?.startsWith('23') === true ? error.message : error.message.replaceAll(/"[^]*"/g, '"…"');
    return `Postgres refuses it: ${words} (${error.code})`;
  }
  // Their messages quote values.
  if (error instanceof SyntaxError) return 'a text is no JSON';
  if (error instanceof TypeError || error instanceof RangeError) return 'a value is of another type than its field';
  return 'it is no msgpack';
}

import { DatabaseError } from 'pg';
import { UnstorableValue } from '../../postgres/persist/unstorable-value.ts';

/** A shard stands still at one entry of its outbox until a person has looked at it. */
export class StuckShard extends Error {
  readonly shard: number;
  readonly streamId: string;

  constructor(shard: number, streamId: string, cause: unknown) {
    super(
      `Shard ${shard} stands still at outbox entry ${streamId}: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'StuckShard';
    this.shard = shard;
    this.streamId = streamId;
  }
}

/** Classes of SQLSTATE that are about the rows: data exceptions, one row twice, violated constraints, a limit of the server. */
const ABOUT_DATA = /^(21|22|23|54)/;

/** Marks an entry that could not be decoded. */
export class UnreadableEntry extends Error {}

/** Whether an error is the entry's fault: trying again will not help. Everything else is a server that is away. */
export const isAboutData = (error: unknown): boolean =>
  error instanceof UnreadableEntry ||
  error instanceof UnstorableValue ||
  (error instanceof DatabaseError && error.code !== undefined && ABOUT_DATA.test(error.code));
